"""Steps of Keras's optimizers in the scope of a strategy.

The gradients of all replicas are summed, and each copy of a variable is changed once, by the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.replication import ReduceOp, get_replica_context
from gpugraph.graph.client.default_graph_functions import get_default_graph


def merged_step(optimizer: Any, pairs: Sequence[tuple[Any, Any]], name: str | None) -> Any:
    """Return the op that takes one step with the gradients of all replicas.

    Raises RuntimeError outside of replicas.

    Args:
      pairs: the (gradient, variable) pairs of this replica.
    """
    context = get_replica_context()
    if context is None:
        raise RuntimeError(
            "`apply_gradients() cannot be called in cross-replica context. Use "
            "`tf.distribute.Strategy.experimental_run_v2` to enter replica context."
        )
    return context.merge_call(optimizer._distributed_apply, args=(list(pairs), name))


def distributed_step(
    optimizer: Any, distribution: Any, grads_and_vars: Sequence[tuple[Any, Any]], name: Any
) -> Any:
    """Return the op that changes all copies of variables, and then adds 1 to `iterations`.

    Args:
      grads_and_vars: pairs of a per-replica gradient and a variable.
    """
    extended, graph = distribution.extended, get_default_graph()
    variables = [variable for _, variable in grads_and_vars]
    grads = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
    with graph.device(None):
        optimizer.create_weights(variables)

    def update(variable: Any, grad: Any) -> Any:
        return optimizer._update(grad, variable)

    with graph.name_scope(name or optimizer._name):
        optimizer._numbers = {}
        optimizer._prepare(variables)
        updates = [
            operation
            for variable, grad in zip(variables, grads)
            for operation in extended.update(variable, update, args=(grad,), group=False)
        ]
        with graph.control_dependencies(updates):
            return extended.update(optimizer.iterations, _count)


def _count(step: Any) -> Any:
    return step.assign_add(1, read_value=False)
