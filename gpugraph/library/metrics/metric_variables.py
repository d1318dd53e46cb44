"""The local variables of metrics, and the pairs of a metric's value and its update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.named_function import add_parameters, named
from gpugraph.building.replication import current_replica
from gpugraph.building.variables import Variable
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import (
    broadcast_weights,
    remove_squeezable_dimensions,
    squeezed_weights,
)

Pair = tuple[Tensor, Tensor]
"""(value, update): a metric's value over the batches so far,

and a tensor whose run adds a batch and returns the new value.
"""


def keep(name: str, shape: Any = (), dtype: Any = dtypes.float32) -> Variable:
    """Create a local variable of zeros for a metric, in the collection METRIC_VARIABLES."""
    return Variable(
        lambda: zeros(list(shape), dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def collect(value: Any, update: Any, values_to: Any, updates_to: Any) -> Pair:
    """Add a metric's value and its update to collections. Return both.

    Args:
      values_to, updates_to: the collections for the value and for the update: a name, a list of
        names, or None.
    """
    graph = get_default_graph()
    for tensor, names in ((value, values_to), (update, updates_to)):
        if names:
            graph.add_to_collections(names, tensor)
    return value, update


def metric(function: Callable[..., Pair]) -> Callable[..., Pair]:
    """Return the metric `function` with two additional parameters: the collections to which its
    value and its update are added.

    `metrics_collections` and `updates_collections` are names of collections or lists of names.
    """

    def call(arguments: Any, metrics_collections: Any, updates_collections: Any) -> Pair:
        return collect(*function(**arguments), metrics_collections, updates_collections)

    return add_parameters(function, call, metrics_collections=None, updates_collections=None)


def binary_metric(
    type_name: str, doc: str, measure: Callable[[Any, Any, Any, str | None], Pair]
) -> Callable[..., Pair]:
    """Return the metric `measure(labels, predictions, weights, name)`, with the docstring `doc`."""

    @metric
    @named(type_name, doc)
    def compute(
        labels: Any, predictions: Any, weights: Any = None, name: str | None = None
    ) -> Pair:
        return measure(labels, predictions, weights, name)

    return compute


def measure_both(measure: Callable[..., Any], values: Any, updates: Any) -> Pair:
    """Apply `measure` to the variables and to their updates. Return both results.

    In a replica of a strategy, the first result is computed from the variables of all replicas.

    Args:
      values, updates: the arguments of `measure` before and after the batch is added.
    """
    return over_replicas(measure, *values), measure(*updates, name="update_op")


def over_replicas(measure: Callable[..., Any], *values: Any) -> Any:
    """Return `measure(*values, name="value")`. In a replica of a strategy, first sum the values
    over all replicas.
    """
    context = current_replica()
    if context is None:
        return measure(*values, name="value")
    return context.merge_call(lambda _, *merged: measure(*merged, name="value"), args=values)


def total_of(variable: Any) -> Any:
    """Return the value of a metric's variable. In a replica of a strategy, return the sum over all
    replicas.
    """
    return over_replicas(lambda merged, name: identity(merged), variable)


def alike(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    """Return (labels, predictions, weights) with equal ranks. Additional last axes of size 1 are
    removed.

    Raises ValueError if the shapes of labels and predictions still differ.
    """
    labels, predictions = remove_squeezable_dimensions(
        convert_to_tensor(labels), convert_to_tensor(predictions)
    )
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions, None if weights is None else squeezed_weights(weights, predictions)


def apply_weights(values: Tensor, weights: Any) -> Tensor:
    """Return `values` as float32, multiplied by the weights if there are any."""
    values = cast(values, dtypes.float32)
    if weights is None:
        return values
    return multiply(values, broadcast_weights(cast(weights, dtypes.float32), values))
