"""Updates of a strategy's variables. The gradients are summed over the replicas, and each copy of a
variable is updated with the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import nest
from gpugraph.building.replication import (
    ReduceOp,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
    in_cross_replica_context,
)
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group


def require_replicas(variables: Sequence[Any]) -> None:
    """In a cross-replica context, raise ValueError if one of the variables has a copy for each
    replica.
    """
    if in_cross_replica_context() and any(hasattr(v, "_is_distributed") for v in variables):
        raise ValueError(
            "`handle` is not available outside the replica context or a "
            "`tf.distribute.Strategy.update()` call: compute gradients in a function that "
            "`experimental_run_v2` calls for each replica."
        )


def merged_apply(
    optimizer: Any, pairs: Sequence[tuple[Any, Any]], global_step: Any, name: Any
) -> Any:
    """Apply the gradients, summed over all replicas. `apply_gradients` calls this within a
    strategy.

    Raises RuntimeError outside of a replica context.
    """
    context = get_replica_context()
    if context is None:
        raise RuntimeError("Use `_distributed_apply()` instead of `apply_gradients()` in a "
                           "cross-replica context.")  # fmt: skip
    return context.merge_call(optimizer._distributed_apply, args=(list(pairs), global_step, name))


def distributed_apply(
    optimizer: Any, distribution: Any, grads_and_vars: Any, global_step: Any, name: Any
) -> Any:
    """Return the operation that changes all copies of the variables by the summed gradients.

    Args:
      grads_and_vars: pairs of a variable's gradients, one per replica, and the variable.
    """
    extended, graph = distribution.extended, get_default_graph()
    variables = [variable for _, variable in grads_and_vars]
    grads = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
    with graph.control_dependencies(None), graph.device(None):
        optimizer._create_slots(variables)

    def update(variable: Any, grad: Any) -> Any:
        return optimizer._update(graph, grad, variable)

    def finish(updates: Any) -> Any:
        return optimizer._finish(updates, "update")

    with graph.name_scope(name or optimizer._name) as scope:
        optimizer._prepare()
        updates = [
            operation
            for variable, grad in zip(variables, grads)
            for operation in extended.update(variable, update, args=(grad,), group=False)
        ]
        where = extended.non_slot_devices(variables)
        finished = extended.update_non_slot(where, finish, args=(updates,), group=False)
        if global_step is not None:
            with graph.control_dependencies(nest.flatten(finished)):
                finished = extended.update(global_step, _count, args=(), group=False)
        done = group(*nest.flatten(finished), name=scope)
    return listed_train_op(graph, done)


def _count(step: Any) -> Any:
    return step.assign_add(1, read_value=False)


def listed_train_op(graph: Graph, operation: Any) -> Any:
    """Add an operation to the collection TRAIN_OP, and return it."""
    train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
    if operation not in train_ops:
        train_ops.append(operation)
    return operation


def scaled_loss(loss: Tensor) -> Tensor:
    """Return the loss. If an estimator trains the model, divide the loss by the number of replicas.

    The sum of all replicas' gradients is then the gradient of the mean over the whole batch. A loss
    that `tf.losses` has summed is not divided.
    """
    count = get_strategy().num_replicas_in_sync
    is_mean = count > 1 and get_loss_reduction() is ReduceOp.MEAN
    return loss * (1.0 / count) if is_mean else loss
