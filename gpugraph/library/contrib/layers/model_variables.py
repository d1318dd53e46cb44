"""Functions that create and find the variables of a model, in the collections that all layers
use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.building.variable_scope import VariableScope, get_variable, get_variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Create a variable as `tf.get_variable` does, or return the existing variable of this name.

    `arg_scope` may set defaults of all arguments except `name`.

    Args:
      device: the device of the variable, a name or a device function.
      custom_getter: a function that is called in place of `tf.get_variable`, with the same
        arguments and `reuse`.
    """
    graph = get_default_graph()
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else dict.fromkeys(collections)
    getter = get_variable
    if custom_getter is not None:
        getter = partial(custom_getter, reuse=get_variable_scope().reuse)
    with graph.device(device or ""):
        return getter(
            name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
            trainable=trainable, collections=list(keys), caching_device=caching_device,
            partitioner=partitioner, use_resource=use_resource,
            synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Call `variable`, with GLOBAL_VARIABLES and MODEL_VARIABLES added to the collections."""
    keys = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=keys, caching_device=caching_device, device=device,
        partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


def add_model_variable(var: Any) -> None:
    """Add a variable to the collection MODEL_VARIABLES, unless the collection already contains the
    variable.
    """
    graph = get_default_graph()
    if all(variable is not var for variable in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
        graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# -- lookup


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a collection, selected by name.

    Args:
      scope: a VariableScope, or a regular expression that matches at the start of the name.
      suffix: the suffix that the names must have. If the suffix is None, all names are accepted.
    """
    prefix = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        suffix = text_of("suffix", suffix)
        suffix_pattern = suffix if ":" in suffix else f"{suffix}:"
        prefix = f"{prefix or ''}.*{suffix_pattern}"
    graph = get_default_graph()
    return graph.get_collection(collection, prefix)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return variables of the collection MODEL_VARIABLES. For the arguments, see
    `get_variables`.
    """
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return variables of the collection LOCAL_VARIABLES. For the arguments, see
    `get_variables`.
    """
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return variables of the collection TRAINABLE_VARIABLES. For the arguments, see
    `get_variables`.
    """
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the global variables whose names end with `suffix`."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the global variables under `scope` whose names end with "/" and `given_name`."""
    variables = get_variables(scope)
    return [variable for variable in variables if f"/{variable.op.name}".endswith(f"/{given_name}")]


def get_unique_variable(var_op_name: str) -> Any:
    """Return the global variable with this full name. Raises ValueError if the variable does not
    exist.
    """
    candidates = get_variables(var_op_name)
    for variable in candidates:
        if variable.op.name == var_op_name:
            return variable
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    near = ", ".join(variable.op.name for variable in candidates)
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable: {near}")
