"""The arguments of a layer's constructor: objects by name, and as plain values again.

Activations, initializers, regularizers and constraints are told by the end of an argument's name:
`kernel_initializer`. A configuration has them as Keras's modules serialize them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gpugraph.library.keras import (
    activations,
    keras_constraints,
    keras_initializers,
    keras_regularizers,
)

_KINDS: dict[str, ModuleType] = {
    "activation": activations,
    "initializer": keras_initializers,
    "regularizer": keras_regularizers,
    "constraint": keras_constraints,
}

_OF_ALL_LAYERS = ("self", "name", "trainable", "dtype", "kwargs")


def object_of_argument(name: str, value: Any) -> Any:
    """The object that an argument names, or its value as it is; errors as of Keras's modules."""
    kind = _KINDS.get(name.rpartition("_")[2])
    return value if kind is None else kind.get(value)


def plain_argument(name: str, value: Any) -> Any:
    """An argument as a configuration has it."""
    kind = _KINDS.get(name.rpartition("_")[2])
    if kind is None:
        return value
    return kind.serialize(
        activations.get(None) if value is None and name == "activation" else value
    )


def arguments_config(layer: Any) -> dict[str, Any]:
    """The arguments of a layer's constructor, from attributes `name` or `_name`.

    NotImplementedError for a layer that does not keep one of them.
    """
    config = {}
    for name in inspect.signature(type(layer).__init__).parameters:
        if name not in _OF_ALL_LAYERS:
            kept = next((key for key in (name, f"_{name}") if hasattr(layer, key)), None)
            if kept is None:
                raise NotImplementedError(
                    "Layers with arguments in `__init__` must override `get_config`: "
                    f"{type(layer).__name__} does not keep its {name}"
                )
            config[name] = plain_argument(name, getattr(layer, kept))
    return config


def from_plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a configuration, with objects for their plain values."""
    return {
        name: object_of_argument(name, value) if isinstance(value, (str, Mapping)) else value
        for name, value in config.items()
    }
