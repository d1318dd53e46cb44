"""Private functions of `tensorflow.python.ops.metrics_impl` and `losses_impl`."""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.library.metrics.class_metrics import confusions_of
from gpugraph.tensorflow_import.internals.metric_internals import metric_variable


def streaming_confusion_matrix(
    labels: Any, predictions: Any, num_classes: int, weights: Any = None
) -> tuple[Any, Any]:
    """Return (the confusion matrix of all batches so far, the op that adds a batch).

    Args:
      labels, predictions: classes, int tensors of the same shape.
      weights: a factor for each element.
    """
    total = metric_variable(
        [num_classes, num_classes], dtypes.float64, name="total_confusion_matrix"
    )
    batch = confusions_of(labels, predictions, weights, num_classes)
    return total, tf.assign_add(total, batch)


def safe_mean(losses: Any, num_present: Any) -> Any:
    """Return the sum of losses divided by the number of elements. If the number is 0, return 0."""
    return tf.div_no_nan(tf.reduce_sum(losses), tf.cast(num_present, losses.dtype), name="value")


def safe_div(numerator: Any, denominator: Any, name: str = "value") -> Any:
    """Return the quotient. Where the denominator is 0, return 0."""
    return tf.div_no_nan(numerator, denominator, name=name)


def num_present(losses: Any, weights: Any, per_batch: bool = False) -> Any:
    """Return the number of losses with a weight other than 0, as a float32 tensor.

    Args:
      per_batch: whether to count the losses of each example separately, [batch, 1, ...].
    """
    weights = tf.cast(weights, dtypes.float32)
    present = tf.cast(tf.not_equal(weights, 0.0), dtypes.float32) * tf.ones_like(
        losses, dtypes.float32
    )
    if not per_batch:
        return tf.reduce_sum(present, name="num_present")
    axes = tf.range(1, tf.rank(present))
    return tf.reduce_sum(present, axes, keepdims=True, name="num_present")
