"""Functions that select operations and tensors: by regular expressions, by filters, by walks along
edges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor

Filter = Callable[[Any], bool]


def can_be_regex(obj: Any) -> bool:
    """Return whether a value is a string or a compiled regular expression."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """Return a compiled regular expression for `obj`, which is a string or already compiled. Raises
    ValueError for any other value.
    """
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """Return a list of operations.

    Raises TypeError if `ops` has any other type than the ones below.

    Args:
      ops: an operation, nested lists of operations, or a graph.
      ignore_ts: whether tensors in the lists are skipped.
    """
    if isinstance(ops, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return ops.get_operations()
    wanted = Operation
    return _flat(ops, wanted, (Tensor,) if ignore_ts else (), check_graph)


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """Return a list of tensors.

    Raises TypeError if `ts` has any other type than the ones below.

    Args:
      ts: a tensor, nested lists of tensors, or a graph.
      ignore_ops: whether operations in the lists are skipped.
    """
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return get_tensors(ts)
    return _flat(ts, Tensor, (Operation,) if ignore_ops else (), check_graph)


def _flat(values: Any, wanted: type, ignored: tuple[type, ...], check_graph: bool) -> list[Any]:
    if isinstance(values, (wanted, *ignored)):
        values = [values]
    elif not isinstance(values, Iterable) or isinstance(values, str):
        raise TypeError(f"Expected a {wanted.__name__} or a list of them, got: {type(values)}")
    flat: list[Any] = []
    for value in values:
        if isinstance(value, wanted):
            flat.append(value)
        elif not isinstance(value, ignored or ()):
            flat += _flat(value, wanted, ignored, check_graph=False)
    if check_graph and len({value.graph for value in flat}) > 1:
        raise ValueError("Operations and tensors belong to several graphs")
    return flat


def get_tensors(graph: Graph) -> list[Tensor]:
    """Return all tensors of a graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Operation]:
    """Return the operations that produce the tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Operation]:
    """Return the operations that have one of the tensors as an input."""
    tensors = make_list_of_t(ts, allow_graph=False)
    return list(dict.fromkeys(op for tensor in tensors for op in tensor.consumers()))


def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """Return the operations for which the function `positive_filter` is true. If `positive_filter`
    is True, return all operations.
    """
    listed = make_list_of_op(ops)
    return listed if positive_filter is True else [op for op in listed if positive_filter(op)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """Return the operations whose names contain a match of a regular expression."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: bool(pattern.search(op.name)))


def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """Return the inputs and outputs of `ops` for which the function `positive_filter` is true."""
    listed = make_list_of_op(ops)
    tensors = dict.fromkeys(t for op in listed for t in (*op.inputs, *op.outputs))
    return [t for t in tensors if positive_filter is True or positive_filter(t)]


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """Return those inputs and outputs of `ops` whose names contain a match of a regular
    expression.
    """
    pattern = make_regex(regex)
    return filter_ts(ops, lambda tensor: bool(pattern.search(tensor.name)))


def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """Return the operations in a name scope. If the scope is "", return all operations."""
    prefix = scope.rstrip("/")
    return filter_ops(ops, lambda op: not prefix or f"{op.name}/".startswith(f"{prefix}/"))


def _of_graph(kwargs: dict[str, Any], args: tuple[Any, ...]) -> Graph | None:
    graph = kwargs.pop("graph", None)
    if graph is None and any(map(can_be_regex, args)):
        raise ValueError("Use the keyword argument 'graph' to use regex.")
    checked: Graph | None = graph
    return checked


def select_ops(*args: Any, **kwargs: Any) -> list[Operation]:
    """Return the operations that the arguments select, without duplicates.

    Args:
      args: regular expressions, operations and lists of operations.
      kwargs: `graph` is the graph in which regular expressions are searched, and is required if
        there are regular expressions. `positive_filter` is a function that must return True for the
        matches of regular expressions. `restrict_ops_regex` states whether to use only expressions
        that begin with "(?#ops)".
    """
    return _selected("ops", args, kwargs)


def select_ts(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return the tensors that the arguments select, without duplicates.

    Args:
      args: regular expressions, tensors and lists of tensors.
      kwargs: for `graph` and `positive_filter`, see `select_ops`. `restrict_ts_regex` states
        whether to use only expressions that begin with "(?#ts)".
    """
    return _selected("ts", args, kwargs)


def _selected(kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    graph = _of_graph(kwargs, args)
    positive = kwargs.pop("positive_filter", None)
    is_restricted = kwargs.pop(f"restrict_{kind}_regex", False)
    if kwargs:
        raise ValueError(f"Invalid keywords arguments: {sorted(kwargs)}")
    other = {"ops": "ts", "ts": "ops"}[kind]
    selected: dict[Any, None] = {}
    for arg in args:
        if not can_be_regex(arg):
            listed: list[Any] = (
                make_list_of_op(arg, ignore_ts=True)
                if kind == "ops"
                else make_list_of_t(arg, ignore_ops=True)
            )
            selected.update(dict.fromkeys(listed))
            continue
        text = make_regex(arg).pattern
        if text.startswith(f"(?#{other})") or (
            is_restricted and not text.startswith(f"(?#{kind})")
        ):
            continue
        search = filter_ops_from_regex if kind == "ops" else filter_ts_from_regex
        matches: list[Any] = search(graph, arg)
        selected.update(dict.fromkeys(x for x in matches if positive is None or positive(x)))
    return list(selected)


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Operation], list[Tensor]]:
    """Return the operations and the tensors that the arguments select.

    Regular expressions that select tensors begin with "(?#ts)".
    """
    ops = select_ops(*args, **kwargs)
    return ops, select_ts(*args, **kwargs, restrict_ts_regex=True)


class ControlOutputs:
    """For each operation of a graph, the operations of which it is a control input."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._outputs: dict[Operation, list[Operation]] = {}
        for op in graph.get_operations():
            for control in op.control_inputs:
                self._outputs.setdefault(control, []).append(op)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    def get(self, op: Operation) -> list[Operation]:
        """Return the operations that have `op` as a control input."""
        return self._outputs.get(op, [])

    def get_all(self) -> dict[Operation, list[Operation]]:
        """Return, by operation, the operations that have it as a control input."""
        return self._outputs


def _walk(
    seeds: list[Operation], inclusive: bool, within_ops: Any, within_fn: Filter | None,
    following: Callable[[Operation], Iterable[Operation]],
) -> list[Operation]:  # fmt: skip
    inside = None if within_ops is None else set(make_list_of_op(within_ops))

    def is_inside(op: Operation) -> bool:
        return (inside is None or op in inside) and (within_fn is None or within_fn(op))

    waiting = [op for op in seeds if is_inside(op)]
    walked: dict[Operation, None] = {}
    while waiting:
        op = waiting.pop(0)
        if op not in walked:
            walked[op] = None
            waiting += [other for other in following(op) if is_inside(other)]
    first = set(seeds)
    return [op for op in walked if inclusive or op not in first]


def _seeds(seed_ops: Any, of_tensors: Callable[[Any], list[Operation]]) -> list[Operation]:
    listed = list(seed_ops) if isinstance(seed_ops, (list, tuple, set, frozenset)) else [seed_ops]
    if listed and isinstance(listed[0], Tensor):
        return of_tensors(listed)
    return make_list_of_op(listed, allow_graph=False)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Filter | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """Return the operations that depend on the seeds, in the order of a walk from the seeds.

    Args:
      seed_ops: the seeds, as operations. A tensor in the list represents its consumers.
      inclusive: whether the result includes the seeds.
      within_ops: the operations that may be visited.
      within_ops_fn: a function that is true for the operations that may be visited.
      stop_at_ts: tensors whose consumers are not visited.
      control_outputs: a ControlOutputs. If this argument is passed, the control edges of the
        ControlOutputs are also followed.
    """
    stop = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterable[Operation]:
        after = [user for t in op.outputs if t not in stop for user in t.consumers()]
        return after + (control_outputs.get(op) if control_outputs is not None else [])

    seeds = _seeds(seed_ops, get_consuming_ops)
    return _walk(seeds, inclusive, within_ops, within_ops_fn, following)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Filter | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """Return the operations on which the seeds depend, in the order of a walk from the seeds.

    For the arguments that are not listed, see `get_forward_walk_ops`.

    Args:
      seed_ops: the seeds, as operations. A tensor in the list represents its producer.
      stop_at_ts: tensors whose producers are not visited.
      control_inputs: whether control inputs are also followed.
    """
    stop = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterable[Operation]:
        before = [tensor.op for tensor in op.inputs if tensor not in stop]
        return before + (list(op.control_inputs) if control_inputs else [])

    seeds = _seeds(seed_ops, get_generating_ops)
    return _walk(seeds, inclusive, within_ops, within_ops_fn, following)


def get_walks_intersection_ops(
    forward_seed_ops: Any, backward_seed_ops: Any, forward_inclusive: bool = True,
    backward_inclusive: bool = True, within_ops: Any = None, within_ops_fn: Filter | None = None,
    control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None,
) -> list[Operation]:  # fmt: skip
    """Return the operations that are visited by a forward walk and also by a backward walk.

    Args:
      control_ios: a ControlOutputs, for the control edges of both walks. It replaces
        `control_inputs` and `control_outputs`.
    """
    if control_ios is not None:
        control_inputs, control_outputs = True, control_ios
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, within_ops, within_ops_fn,
        control_outputs=control_outputs,
    )  # fmt: skip
    backward = set(
        get_backward_walk_ops(
            backward_seed_ops, backward_inclusive, within_ops, within_ops_fn,
            control_inputs=control_inputs,
        )
    )  # fmt: skip
    return [op for op in forward if op in backward]
