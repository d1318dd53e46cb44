"""Lookup of metrics by name. Functions, their short names, and classes are found."""

from __future__ import annotations

from typing import Any

from gpugraph.library.keras.keras_objects import (
    METRIC_CLASSES,
    deserialize_keras_object,
    object_of,
    serialize_keras_object,
)
from gpugraph.library.keras.losses.losses_by_name import FUNCTIONS, SHORT_NAMES
from gpugraph.library.keras.metrics import (
    confusion_metrics,
    curve_metrics,
    function_metrics,
    metric_functions,
    metric_means,
)
from gpugraph.library.keras.metrics.metric_class import Metric

_NAMES = """
accuracy binary_accuracy categorical_accuracy sparse_categorical_accuracy
top_k_categorical_accuracy sparse_top_k_categorical_accuracy cosine_similarity
"""
_OWN_FUNCTIONS = {name: getattr(metric_functions, name) for name in _NAMES.split()}
_FUNCTIONS = {**FUNCTIONS, **_OWN_FUNCTIONS}
_SHORT_NAMES = {**SHORT_NAMES, "acc": "accuracy", "ACC": "accuracy"}
_MODULES = (metric_means, function_metrics, confusion_metrics, curve_metrics)

METRIC_CLASSES.update(
    {
        name: value
        for module in _MODULES
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Metric)
    }
)
BY_NAME: dict[str, Any] = {
    **_FUNCTIONS,
    **{short: _FUNCTIONS[name] for short, name in _SHORT_NAMES.items()},
    **METRIC_CLASSES,
}
"""Functions by their names and short names, and classes by name."""


def serialize(metric: Any) -> Any:
    """Return the name of a function, or the class name and configuration of a metric."""
    return serialize_keras_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the metric that a name or a configuration describes. Raises ValueError for an unknown
    name.
    """
    return deserialize_keras_object(config, BY_NAME, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """Return the metric that a name or a configuration describes. A callable is returned unchanged.

    Raises ValueError for anything else.
    """
    return object_of(identifier, deserialize, "metric function")
