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
    """The variable `name` under the current variable scope: found, or made, as its `reuse` says.

    What is None is as the scope says. Name scopes don't matter.

    shape: must be fully defined for a new variable, unless `initializer` says it.
    dtype: float32 by default, or that of an initial value.
    initializer: `f(shape, dtype=..., partition_info=...)`, a class of these, a callable without
      arguments (then no shape is given), or the initial value itself (likewise). By default
      Glorot's uniform for floating types, zeros for integers, bool and string.
    regularizer: makes a loss of a new variable, for the collection REGULARIZATION_LOSSES.
    trainable: whether it joins TRAINABLE_VARIABLES, which it does by default.
    collections: what it joins, [GLOBAL_VARIABLES] by default.
    caching_device: a device, or function of an op, where reading puts the value.
    partitioner: `f(shape=..., dtype=...)` gives the number of parts of each dimension; the
      variable is made in parts `name/part_0` and so on, and a PartitionedVariable returned.
    custom_getter: called instead, as `f(getter=..., name=..., ...)` with all arguments by name.
    constraint: see `tf.Variable`.

    ValueError when the variable exists and must not, or the reverse; when it exists with another
    shape or dtype, or in other parts; and for arguments that do not go together.
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
    """As `get_variable`, but of collection LOCAL_VARIABLES and never trainable."""
    collections = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(**{**arguments, "collections": collections, "trainable": False})
