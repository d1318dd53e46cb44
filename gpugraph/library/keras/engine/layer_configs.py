"""The arguments of a layer's constructor: conversion from names to objects and to plain values.

Activations, initializers, regularizers and constraints are recognized by the suffix of an
argument's name: `kernel_initializer`. In a configuration they are serialized as Keras's modules
serialize them.
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
    """Return the object that an argument names, or its value unchanged.

    Errors are those of the modules.
    """
    kind = _KINDS.get(name.rpartition("_")[2])
    return value if kind is None else kind.get(value)


def plain_argument(name: str, value: Any) -> Any:
    """Return an argument in the form that a configuration holds."""
    kind = _KINDS.get(name.rpartition("_")[2])
    if kind is None:
        return value
    return kind.serialize(
        activations.get(None) if value is None and name == "activation" else value
    )


def arguments_config(layer: Any) -> dict[str, Any]:
    """Collect the arguments of a layer's constructor from attributes `name` or `_name`.

    NotImplementedError for a layer without an attribute for one of them.
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
    """Return the arguments of a configuration, with objects in place of plain values."""
    return {
        name: object_of_argument(name, value) if isinstance(value, (str, Mapping)) else value
        for name, value in config.items()
    }
