"""`get_variable`: the variable of a name under the current variable scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.named_function import with_parameters_of
from gpugraph.building.variable_scope.scope_settings import get_variable_scope
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.graph_collections import GraphKeys


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Return the variable `name` under the current variable scope, or create it if `reuse` allows.

    An argument that is None has the value of the scope's setting. Name scopes do not affect the
    name.

    Raises ValueError if the variable exists although `reuse` is False, or is missing although
    `reuse` is True; if it exists with another shape or dtype, or in other parts; and for arguments
    that exclude each other.

    Args:
      shape: must be fully defined for a new variable, unless `initializer` determines it.
      dtype: by default float32, or the dtype of an initial value.
      initializer: `f(shape, dtype=..., partition_info=...)`, a class of such functions, a callable
        without arguments, or the initial value itself; with an initial value or such a callable,
        `shape` must not be passed. By default Glorot's uniform for floating types, zeros for
        integers, bool and string.
      regularizer: a function from a new variable to a loss, which joins REGULARIZATION_LOSSES.
      trainable: whether it joins TRAINABLE_VARIABLES; True by default.
      collections: the collections it joins, [GLOBAL_VARIABLES] by default.
      caching_device: a device, or a function of an op, on which reads cache the value.
      partitioner: `f(shape=..., dtype=...)` returns the number of parts in each dimension. The
        variable is created in parts `name/part_0` and so on, and a PartitionedVariable is returned.
      custom_getter: replaces this function: `f(getter=..., name=..., ...)` with all arguments.
      constraint: see `tf.Variable`.

    >>> w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer())
    >>> session.run(w.initializer)
    >>> session.run(w)
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return get_variable_scope().get_variable(
        variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@with_parameters_of(get_variable, trainable=False)
def get_local_variable(collections: Sequence[str] | None, **arguments: Any) -> Any:
    """Call `get_variable` with LOCAL_VARIABLES added to `collections`, and `trainable` False."""
    collections = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(**{**arguments, "collections": collections, "trainable": False})
