"""`tf.cond`: a call of one of two functions, chosen by a predicate in the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.nest import assert_same_structure
from gpugraph.building.control_flow.automatic_control_dependencies import InnerBlocks
from gpugraph.building.control_flow.composite_flow import (
    check_kinds,
    flat_tensors,
    packed,
    with_indices_alike,
)
from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.control_flow.context_base import within
from gpugraph.building.control_flow.switch_merge_enter_exit import merge
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return the result of `true_fn()` if `pred` is true in a run, otherwise the result of
    `false_fn()`.

    Both functions are called once, when the graph is built. They must return the same structure
    (nested lists, tuples, dicts), whose leaves are tensors of the same dtypes, TensorArrays,
    SparseTensors, IndexedSlices, or operations. An operation is returned as a bool tensor. The
    indices of IndexedSlices become int64 if their dtypes differ.

    Ops that are created in a function run only if its branch is taken. Tensors from outside that a
    function reads are always computed.

    Raises TypeError if `pred` is a Python bool, a function isn't callable, or the structures have
    different types. Raises ValueError if the structures or dtypes differ, or if a function returns
    None.

    Args:
      pred: a bool scalar tensor.
      strict: if False, a result that is a list or tuple of length 1 is replaced by its element.
      fn1, fn2: older names of `true_fn` and `false_fn`.

    >>> x = tf.placeholder(tf.float32, [])
    >>> y = tf.cond(x > 0, lambda: x * 2, lambda: -x)
    >>> session.run(y, {x: -3})
    np.float32(3.0)
    """
    true_fn = _argument(true_fn, fn1, "true_fn", "fn1")
    false_fn = _argument(false_fn, fn2, "false_fn", "fn2")
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError(f"pred must not be a Python bool, but it is {pred}")
        graph = get_default_graph()
        blocks = InnerBlocks(graph)
        pred, pivots = _forked(graph, blocks.after_pending([convert_to_tensor(pred)])[0])
        if_true, if_false = (CondContext(pred, pivots[branch], branch) for branch in (1, 0))
        true_result, true_tensors = _branch(if_true, true_fn, "true_fn", blocks)
        false_result, false_tensors = _branch(if_false, false_fn, "false_fn", blocks)
        if not strict:
            true_result, false_result = _lone(true_result), _lone(false_result)
        _check_structures(true_result, false_result)
        if [x.dtype for x in true_tensors] != [x.dtype for x in false_tensors]:
            true_tensors = with_indices_alike(true_result, true_tensors)
            false_tensors = with_indices_alike(false_result, false_tensors)
        _check_dtypes(true_tensors, false_tensors)
        merged = [merge(pair) for pair in zip(false_tensors, true_tensors)]
        blocks.finish(merged)
        if if_true.outer is None:
            graph.add_to_collection(GraphKeys.COND_CONTEXT, if_true)
            graph.add_to_collection(GraphKeys.COND_CONTEXT, if_false)
        result = packed(true_result, merged)
        return result if strict else _lone(result)


def _argument(value: Any, older: Any, name: str, older_name: str) -> Any:
    if older is not None:
        if value is not None:
            raise TypeError(f"cond(): {name} and {older_name} may not be set simultaneously.")
        value = older
    elif value is None:
        raise TypeError(f"cond(): {name} argument required")
    if not callable(value):
        raise TypeError(f"{name} must be callable, but it is {value!r}")
    return value


def _forked(graph: Graph, pred: Any) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return `pred`, and the pivots of the false and the true branch.

    A pivot is an Identity of `pred` that is alive only if its branch is taken.
    """
    switch = raw_ops.Switch(pred, pred)
    if_true: Tensor = raw_ops.Identity(switch.output_true, name="switch_t")
    if_false: Tensor = raw_ops.Identity(switch.output_false, name="switch_f")
    kept: Tensor = raw_ops.Identity(pred, name="pred_id")
    for tensor in (switch.output_true, if_true, if_false, kept):
        graph.prevent_fetching(tensor.op)
    return kept, (if_false, if_true)


def _branch(
    context: CondContext, function: Callable[[], Any], name: str, blocks: InnerBlocks
) -> tuple[Any, list[Tensor]]:
    """Call the branch's function. Return its result, and the tensors of the result as a flat list.

    Args:
      name: the name of the function's parameter in `cond`, for messages.
    """
    with within(context.graph, context), blocks.block() as completed:
        returned, tensors = context.build(function)
        if returned is None:
            raise ValueError(f"{name} must have a return value.")
        flat = completed(flat_tensors(tensors))
    context.leave(flat)
    return returned, flat


def _lone(structure: Any) -> Any:
    """Return the element of a list or tuple of length 1. Return any other value unchanged."""
    if isinstance(structure, (list, tuple)) and len(structure) == 1:
        return structure[0]
    return structure


def _check_structures(true_result: Any, false_result: Any) -> None:
    try:
        assert_same_structure(true_result, false_result)
        check_kinds(true_result, false_result)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Incompatible return types of true_fn and false_fn: {error}") from error


def _check_dtypes(tensors: list[Tensor], others: list[Tensor]) -> None:
    if not tensors:
        raise ValueError("true_fn and false_fn must return at least one result.")
    for one, two in zip(tensors, others):
        if one.dtype.base_dtype is not two.dtype.base_dtype:
            raise ValueError(
                "Outputs of true_fn and false_fn must have the same type: "
                f"{one.dtype.name}, {two.dtype.name} ('{one.name}' and '{two.name}')"
            )
