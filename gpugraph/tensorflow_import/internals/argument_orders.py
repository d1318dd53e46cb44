"""`tf.contrib.losses`, `tf.contrib.metrics` and `slim.summaries`, whose arguments are in a
different order than in `tf.losses` and `tf.metrics`.

They call the functions of `tf.losses` and `tf.metrics`. The names of the arguments also differ. A
row of a table is `name=name_in_tf_losses` (or in `tf.metrics`), followed by the parameters in
order. The parameter `a=b` means that the argument `a` is passed on as `b`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.compatibility.deprecation_decorators import deprecated_argument_lookup
from gpugraph.library import losses, metrics
from gpugraph.tensorflow_import.version_2_parameters import (
    Parameters,
    parameters_of,
    with_parameters,
)

_LOSSES = """
absolute_difference=absolute_difference predictions labels weights scope
add_loss=add_loss loss loss_collection
compute_weighted_loss=compute_weighted_loss losses weights scope
get_losses=get_losses scope loss_collection
get_regularization_losses=get_regularization_losses scope
get_total_loss=get_total_loss add_regularization_losses name
hinge_loss=hinge_loss logits labels scope
log_loss=log_loss predictions labels weights epsilon scope
mean_pairwise_squared_error=mean_pairwise_squared_error predictions labels weights scope
mean_squared_error=mean_squared_error predictions labels weights scope
sigmoid_cross_entropy=sigmoid_cross_entropy logits multi_class_labels weights label_smoothing scope
softmax_cross_entropy=softmax_cross_entropy logits onehot_labels weights label_smoothing scope
sparse_softmax_cross_entropy=sparse_softmax_cross_entropy logits labels weights scope
"""

_OPTIONAL = {
    *("weights", "scope", "name", "epsilon", "label_smoothing", "loss_collection"),
    *("add_regularization_losses", "num_thresholds", "curve", "axis", "dim=axis"),
    *("metrics_collections", "updates_collections"),
}
"""Parameters that may be omitted; their defaults are those of the called function."""

_COLLECTIONS = "metrics_collections updates_collections name"

_METRICS = """
accuracy auc false_negatives false_positives mean_absolute_error mean_iou mean_relative_error
mean_squared_error precision recall root_mean_squared_error true_negatives true_positives
precision_at_thresholds recall_at_thresholds false_negatives_at_thresholds
false_positives_at_thresholds true_negatives_at_thresholds true_positives_at_thresholds
sensitivity_at_specificity specificity_at_sensitivity mean_cosine_distance
"""

_FURTHER = {
    "mean_relative_error": "normalizer weights",
    "mean_iou": "num_classes weights",
    "auc": "weights num_thresholds",
    "mean_cosine_distance": "dim weights",
    "sensitivity_at_specificity": "specificity weights num_thresholds",
    "specificity_at_sensitivity": "sensitivity weights num_thresholds",
}
_AUC_LAST = {"auc": "metrics_collections updates_collections curve name"}


def _metric_parameters(name: str) -> str:
    further = _FURTHER.get(name, "thresholds weights" if "_at_" in name else "weights")
    return f"predictions labels {further} {_AUC_LAST.get(name, _COLLECTIONS)}"


def _parameters(text: str) -> Parameters:
    """Return the parameters of a row.

    All parameters after the first optional parameter are optional too.
    """
    words = text.split()
    first = next((i for i, word in enumerate(words) if word in _OPTIONAL), len(words))
    return parameters_of(" ".join([*words[:first], *(f"{word}:" for word in words[first:])]))


class _Functions:
    """An object whose attributes are the functions of a table."""

    def __init__(self, module: Any, rows: dict[str, tuple[str, str]]) -> None:
        self._module, self._rows = module, rows

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name not in self._rows:
            raise AttributeError(name)
        target, parameters = self._rows[name]
        return with_parameters(getattr(self._module, target), name, _parameters(parameters))

    def __dir__(self) -> list[str]:
        return sorted(self._rows)


def _loss_rows() -> dict[str, tuple[str, str]]:
    rows = {}
    for line in _LOSSES.strip().splitlines():
        first, _, parameters = line.partition(" ")
        name, _, target = first.partition("=")
        rows[name] = (target, parameters)
    return rows


LOSSES = _Functions(losses, _loss_rows())
"""The functions of `tf.contrib.losses`, except for `cosine_distance`."""


def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Any:
    """Call `tf.losses.cosine_distance`. The argument `dim` is the older name of `axis`."""
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    return losses.cosine_distance(labels, predictions, axis, weights, scope)


METRICS = _Functions(
    metrics,
    {f"streaming_{name}": (name, _metric_parameters(name)) for name in _METRICS.split()}
    | {
        "streaming_mean": ("mean", f"values weights {_COLLECTIONS}"),
        "streaming_mean_tensor": ("mean_tensor", f"values weights {_COLLECTIONS}"),
        "streaming_percentage_less": (
            "percentage_below",
            f"values threshold weights {_COLLECTIONS}",
        ),
    },
)
"""The functions of `tf.contrib.metrics` that `tf.metrics` has too."""


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Return a list of the values of metrics and a list of their updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a dict from names to the values of metrics, and a dict from names to their updates."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
