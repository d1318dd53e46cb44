"""`tf.contrib.learn.MetricSpec`, which describes a metric of certain predictions and labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_NAMES = {
    "predictions": ("predictions", "prediction", "logits", "probabilities", "predicted"),
    "labels": ("labels", "label", "targets", "target"),
    "weights": ("weights", "weight"),
}
"""The names that parameters of metric functions have."""


class PredictionKey:
    """The keys of the predictions of canned estimators."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


class MetricSpec:
    """A metric function, with the keys of its predictions, labels and weights.

    Args:
      metric_fn: a function such as `tf.contrib.metrics.streaming_accuracy`.
      prediction_key: the key of the predictions, if a model has several.
      label_key: the key of the labels, if there are several.
      weight_key: the key of a feature that contains weights.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    def __repr__(self) -> str:
        keys = (self.prediction_key, self.label_key, self.weight_key)
        return f"MetricSpec({self.metric_fn}, {', '.join(map(str, keys))})"

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Return the pair (value, update operation) of the metric for these tensors."""
        values = {
            "predictions": _chosen(predictions, self.prediction_key, "prediction", self),
            "labels": _chosen(labels, self.label_key, "label", self),
        }
        if self.weight_key is not None:
            values["weights"] = inputs[self.weight_key]
        return _call(self.metric_fn, values)


def _chosen(values: Any, key: str | None, kind: str, spec: MetricSpec) -> Any:
    """Return the value with this key, or the only value if the key is None.

    If `values` is not a dict, return it. Raises ValueError if the key is missing, or if it is None
    and there are several values.
    """
    if not isinstance(values, dict):
        return values
    if key is None:
        if len(values) > 1:
            raise ValueError(
                f"MetricSpec without specified {kind}_key requires {kind}s tensor or single "
                f"element dict, got {sorted(values)} for {spec}"
            )
        return next(iter(values.values()))
    if key not in values:
        raise ValueError(f"{kind}_key '{key}' not in dict, got keys {sorted(values)} for {spec}")
    return values[key]


def _call(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Call a metric function. The names of its parameters determine the value that each parameter
    receives.
    """
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    named = {}
    for kind, value in values.items():
        name = next((entry for entry in _NAMES[kind] if entry in parameters), None)
        if name is not None:
            named[name] = value
    if len(named) == len(values):
        return function(**named)
    return function(*values.values())
