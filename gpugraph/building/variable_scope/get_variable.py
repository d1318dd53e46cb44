"""`get_variable`: returns or creates the variable of a name, in the current variable scope."""

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
    """Return the variable `name` in the current variable scope, or create it if `reuse` allows.

    If an argument is None, the scope's setting is used. Name scopes do not affect the variable's
    name.

    Raises ValueError if the variable exists although `reuse` is False, or does not exist although
    `reuse` is True. Also raises ValueError if the variable exists with another shape, dtype or
    partitioning, or if the arguments exclude each other.

    Args:
      shape: must be fully defined for a new variable, unless `initializer` determines it.
      dtype: by default float32, or the dtype of an initial value.
      initializer: `f(shape, dtype=..., partition_info=...)`, a class of such functions, a callable
        without arguments, or the initial value itself. `shape` must not be passed if `initializer`
        is an initial value or a callable without arguments. The default is Glorot's uniform
        initializer for floating types, and zeros for integers, bool and string.
      regularizer: a function that receives a new variable and returns a loss, which is added to the
        collection REGULARIZATION_LOSSES.
      trainable: whether the variable is added to the collection TRAINABLE_VARIABLES. True by
        default.
      collections: the collections to which the variable is added, [GLOBAL_VARIABLES] by default.
      caching_device: the device on which reads cache the value, or a function that returns it for
        an op.
      partitioner: `f(shape=..., dtype=...)` returns the number of parts in each dimension. The
        variable is then created in parts `name/part_0` and so on, and a PartitionedVariable is
        returned.
      custom_getter: `f(getter=..., name=..., ...)`, which is called with all arguments instead of
        this function.
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
    """Call `get_variable` with LOCAL_VARIABLES added to `collections`, and with `trainable`
    False.
    """
    collections = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(**{**arguments, "collections": collections, "trainable": False})
