"""Conversion of layers' constructor arguments between names, objects and plain values.

The suffix of an argument's name determines the module that converts it: `keras_initializers`
converts `kernel_initializer`, `activations` converts `activation`, and so on. The function
`serialize` of that module returns the plain value for a configuration.
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
    """Return the object that the value of an argument names, for example the function `relu` for
    `activation="relu"`.

    The suffix of the argument's name determines the kind of object. With any other suffix, the
    value is returned unchanged.
    """
    kind = _KINDS.get(name.rpartition("_")[2])
    return value if kind is None else kind.get(value)


def plain_argument(name: str, value: Any) -> Any:
    """Convert the value of an argument to a plain value for a configuration."""
    kind = _KINDS.get(name.rpartition("_")[2])
    if kind is None:
        return value
    return kind.serialize(
        activations.get(None) if value is None and name == "activation" else value
    )


def arguments_config(layer: Any) -> dict[str, Any]:
    """Return the arguments of a layer's constructor. The layer's attributes contain the arguments.

    An argument `x` is read from the attribute `x` or `_x`. Raises NotImplementedError for an
    argument without such an attribute.
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
    """Return the constructor arguments for a configuration. Names and dicts are replaced by the
    objects that they describe.
    """
    return {
        name: object_of_argument(name, value) if isinstance(value, (str, Mapping)) else value
        for name, value in config.items()
    }
