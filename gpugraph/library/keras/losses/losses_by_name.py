"""Lookup of losses by name. A name is the name of a function, a short name of a function, or the
name of a class.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.keras.keras_objects import (
    deserialize_keras_object,
    object_of,
    serialize_keras_object,
)
from gpugraph.library.keras.losses import loss_classes, loss_functions
from gpugraph.library.keras.losses.loss_class import Loss

_NAMES = """
mean_squared_error mean_absolute_error mean_absolute_percentage_error
mean_squared_logarithmic_error logcosh huber_loss hinge squared_hinge categorical_hinge
categorical_crossentropy sparse_categorical_crossentropy binary_crossentropy
kullback_leibler_divergence poisson cosine_similarity
"""
FUNCTIONS = {name: getattr(loss_functions, name) for name in _NAMES.split()}
"""The functions of `loss_functions` by name."""

SHORT_NAMES = {
    "mse": "mean_squared_error",
    "MSE": "mean_squared_error",
    "mae": "mean_absolute_error",
    "MAE": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "MAPE": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "MSLE": "mean_squared_logarithmic_error",
    "kld": "kullback_leibler_divergence",
    "KLD": "kullback_leibler_divergence",
    "bce": "binary_crossentropy",
    "BCE": "binary_crossentropy",
    "cosine": "cosine_similarity",
    "cosine_proximity": "cosine_similarity",
}
"""The short name of a loss function, with its full name."""

BY_NAME: dict[str, Any] = {
    **FUNCTIONS,
    **{short: FUNCTIONS[name] for short, name in SHORT_NAMES.items()},
    **{
        name: value
        for name, value in vars(loss_classes).items()
        if isinstance(value, type) and issubclass(value, Loss)
    },
}
"""Functions by their names and short names, and classes by name."""


def serialize(loss: Any) -> Any:
    """Return the name of a function, or the class name and configuration of a loss."""
    return serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """Return the loss that a name or a configuration describes. Raises ValueError for an unknown
    name.
    """
    return deserialize_keras_object(name, BY_NAME, custom_objects, "loss function")


def get(identifier: Any) -> Any:
    """Return the loss that a name or a configuration describes. None and callables are returned
    unchanged.

    Raises ValueError for anything else.
    """
    return None if identifier is None else object_of(identifier, deserialize, "loss function")
