"""Lookup of optimizers by name and by configuration."""

from __future__ import annotations

from typing import Any

from gpugraph.library.keras.keras_objects import (
    config_entry,
    deserialize_keras_object,
    serialize_keras_object,
)
from gpugraph.library.keras.optimizers import moment_optimizers, rate_optimizers
from gpugraph.library.keras.optimizers.optimizer_v2 import OptimizerV2
from gpugraph.library.keras.optimizers.tf_optimizer import TFOptimizer
from gpugraph.library.train.optimizers.optimizer import Optimizer

_CLASSES = [
    *(getattr(rate_optimizers, name) for name in ["SGD", "RMSprop", "Adagrad", "Adadelta", "Ftrl"]),
    *(getattr(moment_optimizers, name) for name in ["Adam", "Adamax", "Nadam"]),
]
_BY_NAME = {kind.__name__.lower(): kind for kind in _CLASSES}


def serialize(optimizer: Any) -> Any:
    """Return the class name and configuration of an optimizer."""
    return serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the optimizer that a configuration describes. The case of the names of Keras's classes
    is ignored.

    As in TensorFlow, the class name is changed to lower case in `config` itself. Raises ValueError
    for an unknown class.
    """
    name = config_entry(config, "class_name", "an optimizer")
    if isinstance(name, str) and name.lower() in _BY_NAME:
        config["class_name"] = name.lower()
    return deserialize_keras_object(config, _BY_NAME, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """Return the optimizer that a name or a configuration describes. An optimizer is returned
    unchanged.

    An optimizer of `tf.train` is wrapped in a TFOptimizer. Raises ValueError for anything else.
    """
    if isinstance(identifier, (OptimizerV2, TFOptimizer)):
        return identifier
    if isinstance(identifier, Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if hasattr(identifier, "get_updates"):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")
