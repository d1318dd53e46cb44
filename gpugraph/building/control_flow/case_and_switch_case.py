"""`tf.case` and `tf.switch_case`: a call of one of several functions, chosen by predicates or by an
index.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.dtypes import bool as bool_type, int32
from gpugraph.base.nest import map_structure
from gpugraph.building.control_flow.assertion import Assert
from gpugraph.building.control_flow.cond import cond
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray

Action = Callable[[], Any]


def case(
    pred_fn_pairs: Any,
    default: Action | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first true predicate, or of `default` if none is
    true.

    The results of the functions must have the same structure, as in `tf.cond`.

    Raises TypeError if a pair is malformed, and ValueError if the list is empty.

    Args:
      pred_fn_pairs: a list of (bool scalar tensor, function) pairs, or a dict that maps predicates
        to functions. A dict is sorted by the predicates' names unless it is an OrderedDict.
      default: a function. If it is None and no predicate is true, the run raises
        InvalidArgumentError.
      exclusive: whether the run raises InvalidArgumentError if more than one predicate is true.
      strict: if False, a result that is a list or tuple of length 1 is replaced by its element.

    >>> x = tf.placeholder(tf.int32, [])
    >>> pairs = [(x < 0, lambda: tf.constant(-1)), (x > 0, lambda: tf.constant(1))]
    >>> session.run(tf.case(pairs, default=lambda: tf.constant(0)), {x: 7})
    np.int32(1)
    """
    predicates, actions = _pairs(pred_fn_pairs)
    graph: Graph = predicates[0].graph
    with name_scope(name, "case", predicates):
        if default is None:
            default, predicates, actions = _last_as_default(graph, predicates, actions)
        chosen = default
        for predicate, action in zip(reversed(predicates), reversed(actions)):
            chosen = partial(cond, predicate, true_fn=action, false_fn=chosen, strict=strict)
        if not exclusive:
            return chosen()
        with graph.control_dependencies([_at_most(predicates, 1, "Input error: exclusive=True")]):
            return chosen()


def _pairs(cases: Any) -> tuple[list[Tensor], list[Action]]:
    if not isinstance(cases, (list, tuple, dict)):
        raise TypeError(f"pred_fn_pairs must be a list, tuple, or dict, not {type(cases)}")
    pairs: Sequence[Any] = list(cases.items()) if isinstance(cases, dict) else cases
    for pair in pairs:
        _check_pair(pair)
    if not pairs:
        raise ValueError("pred_fn_pairs must hold at least one pair")
    if isinstance(cases, dict) and not isinstance(cases, OrderedDict):
        pairs = sorted(pairs, key=lambda pair: str(pair[0].name))
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _check_pair(pair: Any) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"Each entry in pred_fn_pairs must be a 2-tuple, but one is {pair!r}")
    pred, action = pair
    if not isinstance(pred, Tensor):
        raise TypeError(f"pred must be a Tensor, got: {pred!r}")
    if pred.dtype is not bool_type:
        raise TypeError(f"pred must be Tensor of type bool: {pred.name} is {pred.dtype.name}")
    if not callable(action):
        raise TypeError(f"fn for pred {pred.name} must be callable, but it is {action!r}")


def _last_as_default(
    graph: Graph, predicates: list[Tensor], actions: list[Action]
) -> tuple[Action, list[Tensor], list[Action]]:
    """Return a default function, the predicates except the last, and the functions except the last.

    The default function calls the last function. Before that, the run checks that the last
    predicate is true and all other predicates are false.
    """
    *others, last = predicates

    def default() -> Any:
        everyone = stack(predicates, name="preds_c")
        message = (
            f"Implementation error: selected default action #{len(others)} was called, but some "
            "of other predicates are True: "
        )
        none_true = _at_most(others, 0, message)
        data = ["Input error: None of conditions evaluated as True:", everyone]
        with graph.control_dependencies([none_true, Assert(last, data)]):
            return actions[-1]()

    return default, others, actions[:-1]


def _at_most(predicates: Sequence[Tensor], count: int, message: str) -> Operation:
    """Return an operation that fails if more than `count` of the predicates are true."""
    if predicates:
        values = stack(list(predicates), name="preds_c")
    else:
        values = constant([], bool_type, name="preds_c")
    true = reduce_sum(cast(values, int32), name="num_true_conds")
    holds = raw_ops.LessEqual(true, constant(count, name="n_true_conds"))
    names = ", ".join(predicate.name for predicate in predicates)
    data = [f"{message}: more than {count} conditions ({names}) evaluated as True:", values]
    return Assert(holds, data, summarize=len(predicates))


def switch_case(
    branch_index: Tensor, branch_fns: Any, default: Action | None = None, name: str = "switch_case"
) -> Any:
    """Return the result of the function at `branch_index`. If the index is out of range, call the
    last function.

    The results of the functions must have the same structure, as in `tf.cond`. The graph contains a
    tree of conds.

    Raises TypeError if the index is not an integer tensor or an entry is not a function. Raises
    ValueError if the ints of the pairs are not 0, 1, ...

    Args:
      branch_index: an integer scalar tensor.
      branch_fns: a list of functions, or a list or dict of (int, function) pairs whose ints are 0,
        1, ...
      default: a function that is appended as the last one.
    """
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"branch_index must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must be an integer Tensor, got {branch_index.dtype.name}")
    actions = _actions(branch_fns)
    if default is not None:
        if not callable(default):
            raise TypeError(f"default must be callable, but it is {default!r}")
        actions.append(default)
    with name_scope(name, "switch_case", [branch_index]):
        if len(actions) == 1:
            return map_structure(_as_result, actions[0]())
        index = _within(branch_index, len(actions))
        return _choose(index, actions, 0, len(actions))


def _as_result(value: Any) -> Any:
    """Convert a result to a tensor. Return an Operation or TensorArray unchanged."""
    return value if isinstance(value, (Operation, TensorArray)) else identity(value)


def _actions(branch_fns: Any) -> list[Action]:
    """Return the functions in the order of their indices."""
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError(f"branch_fns must be a list, tuple, or dict, not {type(branch_fns)}")
    entries: list[Any] = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if not entries:
        raise ValueError("branch_fns must hold at least one function")
    if all(callable(entry) for entry in entries):
        return entries
    for entry in entries:
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise TypeError(f"Each entry in branch_fns must be a 2-tuple, but one is {entry!r}")
        if not isinstance(entry[0], int):
            raise TypeError(f"key must be a Python `int`, got {entry[0]!r}")
        if not callable(entry[1]):
            raise TypeError(f"fn for key {entry[0]} must be callable, but it is {entry[1]!r}")
    keys = sorted(entry[0] for entry in entries)
    if keys != list(range(len(entries))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(entries)}) but found "
            f"{keys}"
        )
    return [action for _, action in sorted(entries, key=lambda entry: int(entry[0]))]


def _within(index: Tensor, count: int) -> Tensor:
    """Return `index`, or the last index if it is out of range."""
    dtype = index.dtype
    last = constant(count - 1, dtype, name="last")
    there = raw_ops.LogicalAnd(
        raw_ops.GreaterEqual(index, constant(0, dtype)), raw_ops.Less(index, last)
    )
    return raw_ops.Select(there, index, last, name="index")


def _choose(index: Tensor, actions: Sequence[Action], start: int, stop: int) -> Any:
    """Build a tree of conds that returns the result of the function at `index`.

    Args:
      start, stop: the range of `index`, without `stop`.
    """
    if stop - start == 1:
        return actions[start]()
    middle = (start + stop) // 2
    below = raw_ops.Less(index, constant(middle, index.dtype))
    return cond(
        below,
        lambda: _choose(index, actions, start, middle),
        lambda: _choose(index, actions, middle, stop),
        strict=True,
    )
