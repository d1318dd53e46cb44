"""The variables of a graph: lists of them by collection, and ops that initialize them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import resource
from gpugraph.base.value_text import shown
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import boolean_mask
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection GLOBAL_VARIABLES. With `scope`, return only those
    whose names match it.

    >>> v = tf.Variable(1.0, name="v")
    >>> [variable.name for variable in tf.global_variables()]
    ['v:0']
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Return the variables in the collection GLOBAL_VARIABLES. This is an older name of
    `global_variables`.
    """
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection LOCAL_VARIABLES."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection TRAINABLE_VARIABLES.

    >>> v = tf.Variable(1.0, name="v")
    >>> step = tf.Variable(0, trainable=False)
    >>> [variable.name for variable in tf.trainable_variables()]
    ['v:0']
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection MODEL_VARIABLES, which are the variables of a model's
    layers.
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection MOVING_AVERAGE_VARIABLES. Moving averages of these
    variables are kept.
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def _variables(var_list: Any) -> list[Any]:
    """Return the variables in a sequence. Raises TypeError if an item is not a variable."""
    try:
        variables = list(var_list)
    except TypeError:
        raise TypeError(f"var_list must be a list of variables, not {shown(var_list)}") from None
    for variable in variables:
        if not hasattr(variable, "initializer"):
            raise TypeError(f"Expected a tf.Variable, not {shown(variable)}")
    return variables


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that initializes the variables in `var_list`."""
    return group(*[variable.initializer for variable in _variables(var_list)], name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initializes all global variables that exist at the time of this
    call.

    >>> v = tf.Variable([1, 2])
    >>> session.run(tf.global_variables_initializer())
    >>> session.run(v)
    array([1, 2], dtype=int32)
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that initializes all local variables that exist at the time of this
    call.

    >>> session.run(tf.local_variables_initializer())
    """
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that runs the operations in the collection TABLE_INITIALIZERS. If the
    collection is empty, the returned operation is a NoOp.

    >>> session.run(tf.tables_initializer())
    """
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a Tensor, SparseTensor, IndexedSlices or Variable."""
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices, Variable))


def is_variable_initialized(variable: Any) -> Tensor:
    """Return a bool scalar: whether the variable has a value in the session.

    Raises TypeError if `variable` has any other type.

    Args:
      variable: a Variable, the reference tensor of a variable, or a resource handle.
    """
    if isinstance(variable, Tensor) and variable.dtype._is_ref_dtype:
        return raw_ops.IsVariableInitialized(variable)
    if isinstance(variable, Tensor) and variable.dtype == resource:
        return raw_ops.VarIsInitializedOp(variable)
    [variable] = _variables([variable])
    return variable._is_initialized()


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return a 1-D string tensor: the names of the variables that have no value yet.

    >>> v = tf.Variable(1.0, name="v")
    >>> session.run(tf.report_uninitialized_variables())
    array([b'v'], dtype=object)
    """
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)
    graph = get_default_graph()
    with graph.name_scope(name):
        flags = [is_variable_initialized(variable) for variable in chosen]
        with graph.device("/cpu:0"):
            if not chosen:
                return convert_to_tensor([], "string")
            missing = raw_ops.LogicalNot(raw_ops.Pack(flags, name="stack"))
            names = convert_to_tensor([variable.op.name for variable in chosen])
            return boolean_mask(names, missing)


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Tensor | None:
    """Return a tensor. A run of the tensor raises FailedPreconditionError if a variable has no
    value.

    Returns None if there are no variables. New programs use `report_uninitialized_variables`
    instead.

    Args:
      var_list: the variables, by default all global and local variables.
    """
    chosen = global_variables() + local_variables() if var_list is None else _variables(var_list)
    graph = get_default_graph()
    ranks = []
    for variable in chosen:
        with graph.colocate_with(variable.op):
            # Rank is folded to a constant: only the read, its control input, fails in the run
            with graph.control_dependencies([variable.read_value()]):
                ranks.append(raw_ops.Rank(variable))
    uninitialized: Tensor | None = None
    if ranks:
        uninitialized = ranks[0] if len(ranks) == 1 else raw_ops.Pack(ranks, name="stack")
    return uninitialized
