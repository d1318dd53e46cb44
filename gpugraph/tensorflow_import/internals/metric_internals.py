"""Internal functions of `tensorflow.python.ops.metrics_impl`."""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.metrics.metric_variables import alike
from gpugraph.library.metrics.threshold_metrics import NAMES, counts_at


def metric_variable(
    shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None
) -> Variable:
    """Create a local variable of zeros in the collection METRIC_VARIABLES."""
    return Variable(
        lambda: tf.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def remove_squeezable_dimensions(predictions: Any, labels: Any, weights: Any) -> tuple[Any, ...]:
    """Return predictions, labels and weights with equal ranks. An additional last dimension of size
    1 is removed.
    """
    if labels is None:
        values = tf.convert_to_tensor(predictions)
        _, predictions, weights = alike(values, values, weights)
        return predictions, None, weights
    labels, predictions, weights = alike(
        tf.convert_to_tensor(labels), tf.convert_to_tensor(predictions), weights
    )
    return predictions, labels, weights


def confusion_matrix_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, includes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a dict of counts over all batches, and a dict of the ops that update the counts. The
    keys are the requested kinds, such as "tp", "fn", "tn" and "fp".
    """
    for kind in includes or ():
        if kind not in NAMES:
            raise ValueError(f"Invalid key: {kind}.")
    return counts_at(labels, predictions, thresholds, weights, includes or tuple(NAMES))


def safe_scalar_div(numerator: Any, denominator: Any, name: str | None) -> Any:
    """Return the quotient. It is 0 if the denominator is 0."""
    return tf.div_no_nan(numerator, denominator, name=name)


def safe_div(numerator: Any, denominator: Any, name: str | None = None) -> Any:
    """Return the elementwise quotient. It is 0 where the denominator is not positive."""
    quotient = tf.truediv(numerator, denominator)
    zero = tf.zeros_like(quotient, dtype=denominator.dtype.base_dtype)
    return tf.where(tf.greater(denominator, zero), quotient, tf.zeros_like(quotient), name=name)


def aggregate_across_replicas(metrics_collections: Any, metric_value_fn: Any, *args: Any) -> Any:
    """Return `metric_value_fn(None, *args)`. The result is also added to the collections."""
    value = metric_value_fn(None, *args)
    if metrics_collections:
        get_default_graph().add_to_collections(metrics_collections, value)
    return value


def aggregate_variable(v: Any, collections: Any) -> Any:
    """Return the variable's value. The value is also added to the collections."""
    return aggregate_across_replicas(collections, lambda _, value: tf.identity(value), v)


def num_relevant(labels: Any, k: int) -> Any:
    """Return an int32 tensor with the number of labels in each row, but at most `k`."""
    count = tf.reduce_sum(tf.cast(tf.greater_equal(labels, 0), dtypes.int32), -1)
    return tf.minimum(count, k)
