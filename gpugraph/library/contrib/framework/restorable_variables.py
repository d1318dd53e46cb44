"""Functions that create non-trainable variables, select variables to restore, and assign values to
variables by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.value_text import shown
from gpugraph.building.checks import assert_equal
from gpugraph.building.variables import Variable, is_variable_initialized
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers import get_variables
from gpugraph.ops.arrays.constants_and_placeholders import placeholder, zeros
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.state.reference_variable_ops import assign


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None,
    use_resource: bool | None = None,
) -> Any:  # fmt: skip
    """Create a non-trainable variable in the collection LOCAL_VARIABLES."""
    return _variable(initial_value, validate_shape, name, use_resource, GraphKeys.LOCAL_VARIABLES)


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None,
    use_resource: bool | None = None,
) -> Any:  # fmt: skip
    """Create a non-trainable variable in the collection GLOBAL_VARIABLES."""
    return _variable(initial_value, validate_shape, name, use_resource, GraphKeys.GLOBAL_VARIABLES)


def _variable(
    initial_value: Any, validate_shape: bool, name: str | None, use_resource: bool | None,
    collection: str,
) -> Any:  # fmt: skip
    return Variable(
        initial_value,
        trainable=False,
        collections=[collection],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def get_variable_full_name(var: Any) -> str:
    """Return the name of a variable. For a partition of a partitioned variable, return the name of
    the whole variable.

    Raises TypeError for a value that is neither a variable nor a tensor.
    """
    if not hasattr(var, "op"):
        raise TypeError(f"var must be a variable, but is {shown(var)}")
    info = getattr(var, "_save_slice_info", None)
    name: str = var.op.name if info is None else info.full_name
    return name


def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names match an include pattern and no exclude pattern.

    Raises TypeError for values that are neither variables nor tensors.

    Args:
      include_patterns: regular expressions. If `include_patterns` is None, all names are included.
      exclude_patterns: regular expressions, or None.
      reg_search: whether a match may begin anywhere in the name, instead of only at its start.
    """
    match = re.search if reg_search else re.match
    for other in (variable for variable in var_list if not hasattr(variable, "name")):
        raise TypeError(f"var_list must be variables, but has {shown(other)}")

    def matches(variable: Any, patterns: Sequence[str]) -> bool:
        return any(match(pattern, variable.name) for pattern in patterns)

    return [
        variable
        for variable in var_list
        if (include_patterns is None or matches(variable, include_patterns))
        and not matches(variable, exclude_patterns or ())
    ]


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Any]:
    """Return the global variables that are in a scope of `include` and not in a scope of `exclude`.

    Raises TypeError if `include` or `exclude` is neither a list nor a tuple.

    Args:
      include, exclude: lists of scope names. If `include` is None, all variables are included.
    """
    for kind, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, (list, tuple)):
            raise TypeError(f"{kind} must be a list or tuple, but it is {scopes!r}.")
    scopes_to_include: Sequence[str | None] = [None] if include is None else include
    left_out = {id(variable) for scope in exclude or () for variable in get_variables(scope)}
    return [
        variable
        for scope in scopes_to_include
        for variable in get_variables(scope)
        if id(variable) not in left_out
    ]


def assign_from_values(
    var_names_to_values: Mapping[str, Any],
) -> tuple[Operation, dict[Tensor, Any]]:
    """Return an operation that sets the global variables with these names, and the feeds for its
    run.

    Raises ValueError if a name belongs to no variable or to several variables.
    """
    if not isinstance(var_names_to_values, Mapping):
        raise TypeError(f"Expected a dict of values by name, not {shown(var_names_to_values)}")
    assignments, feeds = [], {}
    for name, value in var_names_to_values.items():
        variable = _of_name(name)
        held = placeholder(
            variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}"
        )
        assignments.append(assign(variable, held))
        feeds[held] = np.asarray(value).reshape(variable.shape.as_list())
    return group(*assignments), feeds


def _of_name(name: str) -> Any:
    graph = get_default_graph()
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not variables:
        raise ValueError(f"Variable {name} wasn't found")
    exact = [variable for variable in variables if variable.op.name == name]
    if len(variables) > 1 and not exact:
        near = ", ".join(variable.op.name for variable in variables)
        raise ValueError(f"Variable {name} doesn't uniquely identify a variable: {near}")
    return (exact or variables)[0]


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function that sets the variables with these names. The argument of the returned
    function is the session.
    """
    operation, feeds = assign_from_values(var_names_to_values)

    def assign_in(session: Any) -> Any:
        return session.run(operation, feeds)

    return assign_in


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Return an op that initializes a variable to zeros.

    The op raises InvalidArgumentError if the variable is already initialized.
    """
    graph = get_default_graph()
    with name_scope(name, "zero_initializer", [ref]):
        check = assert_equal(
            is_variable_initialized(ref), False, message=f"{ref.op.name} is already initialized"
        )
        with graph.control_dependencies([check]):
            return assign(ref, zeros(ref.shape, ref.dtype.base_dtype), use_locking=use_locking)
