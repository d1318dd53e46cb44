"""Changes of a graph: copies of operations, changed inputs, changed control inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.graph_editor.op_selection import (
    get_backward_walk_ops,
    get_forward_walk_ops,
    make_list_of_op,
    make_list_of_t,
    select_ops_and_ts,
)


class SubGraphView:
    """A subgraph: some operations of a graph, with the tensors that enter and leave them."""

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops = list(dict.fromkeys(make_list_of_op(inside_ops, allow_graph=True)))
        self._passthrough = make_list_of_t(passthrough_ts)
        inside = set(self._ops)
        self._inputs = list(
            dict.fromkeys(t for op in self._ops for t in op.inputs if t.op not in inside)
        )
        self._outputs = list(
            dict.fromkeys(
                t
                for op in self._ops
                for t in op.outputs
                if not t.consumers() or any(user not in inside for user in t.consumers())
            )
        )

    @property
    def ops(self) -> list[Operation]:
        """The operations of the view."""
        return list(self._ops)

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that the operations use but do not compute, and the tensors that only pass
        through the view.
        """
        return [*self._passthrough, *self._inputs]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that leave the view: results of its operations, and tensors that only pass
        through.

        A result leaves the view if an operation outside the view uses it or if no operation uses
        it.
        """
        return [*self._passthrough, *self._outputs]

    @property
    def graph(self) -> Graph | None:
        """The graph of the view. It is None for an empty view."""
        items: list[Any] = [*self._ops, *self._passthrough]
        return items[0].graph if items else None

    def __bool__(self) -> bool:
        return bool(self._ops or self._passthrough)

    def is_passthrough(self, t: Tensor) -> bool:
        """Return whether a tensor only passes through the view."""
        return t in self._passthrough

    def consumers(self) -> list[Operation]:
        """Return the operations outside the view that use its outputs."""
        inside = set(self._ops)
        users = (user for t in self.outputs for user in t.consumers())
        return [user for user in dict.fromkeys(users) if user not in inside]

    def find_op_by_name(self, op_name: str) -> Operation:
        """Return the operation with this name. Raises AssertionError if the view has no such
        operation.
        """
        for op in self._ops:
            if op.name == op_name:
                return op
        raise AssertionError(f"{op_name} not found in subgraph.")


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """Return the view of the operations and tensors that the arguments select. For the arguments,
    see `select_ops`.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    ops, tensors = select_ops_and_ts(*args, **kwargs)
    return SubGraphView(ops, tensors)


def sgv_scope(scope: str, graph: Graph) -> SubGraphView:
    """Return the view of the operations in a name scope."""
    prefix = f"{scope.rstrip('/')}/"
    return SubGraphView([op for op in graph.get_operations() if op.name.startswith(prefix)])


def _view(value: Any) -> SubGraphView:
    return value if isinstance(value, SubGraphView) else SubGraphView(value)


class TransformerInfo:
    """A mapping from original operations and tensors to their copies."""

    def __init__(
        self, graph: Graph, ops: Mapping[Operation, Operation], tensors: Mapping[Tensor, Tensor]
    ) -> None:
        self.graph_ = graph
        self._transformed_ops, self._transformed_ts = dict(ops), dict(tensors)

    def transformed(self, original: Any, missing_fn: Any = None) -> Any:
        """Return the copy of an operation or tensor, or of each item in a structure. If there is no
        copy, return None.

        Args:
          missing_fn: a function that is called with an operation or tensor that has no copy. Its
            result is returned instead of None.
        """
        if isinstance(original, (list, tuple)):
            return type(original)(self.transformed(part, missing_fn) for part in original)
        if isinstance(original, SubGraphView):
            return SubGraphView([self._transformed_ops[op] for op in original.ops])
        if isinstance(original, str):
            named: dict[str, Any] = {op.name: op for op in self._transformed_ops}
            named |= {tensor.name: tensor for tensor in self._transformed_ts}
            original = named.get(original)
        table: Any = self._transformed_ts if isinstance(original, Tensor) else self._transformed_ops
        copied = table.get(original)
        return missing_fn(original) if copied is None and missing_fn else copied

    def original(self, transformed: Any, missing_fn: Any = None) -> Any:
        """Return the operation or tensor whose copy is `transformed`."""
        table: Any = (
            self._transformed_ts if isinstance(transformed, Tensor) else self._transformed_ops
        )
        for original, copied in table.items():
            if copied is transformed:
                return original
        return missing_fn(transformed) if missing_fn else None


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy operations, with some inputs replaced. Return (a view of the copies, the mapping from
    the originals to the copies).

    Inputs that are neither copied nor replaced stay the same. Raises ValueError if such an input is
    in another graph than the copies.

    Args:
      sgv: a view, or operations.
      replacement_ts: for each replaced tensor, the tensor that the copies use instead.
      dst_scope: the name scope of the copies. The scope is made unique unless `reuse_dst_scope` is
        true.
      src_scope: a name scope that is removed from the names of the copies.
    """
    view = _view(sgv)
    graph = dst_graph or view.graph
    if graph is None:
        return view, TransformerInfo(Graph(), {}, {})
    scope = dst_scope.rstrip("/")
    if scope and not reuse_dst_scope:
        scope = graph.unique_name(scope)
    tensors: dict[Tensor, Tensor] = dict(replacement_ts)
    ops: dict[Operation, Operation] = {}
    late: list[tuple[Operation, int, Tensor]] = []
    inside = set(view.ops)
    for op in _in_order(view.ops):
        inputs = [tensors.get(t, t) for t in op.inputs]
        late_inputs = [
            (i, t) for i, t in enumerate(op.inputs) if t.op in inside and t not in tensors
        ]
        ops[op] = _copied(op, graph, _new_name(op, scope, src_scope), inputs)
        late += [(ops[op], i, t) for i, t in late_inputs]
        for old, new in zip(op.outputs, ops[op].outputs):
            tensors.setdefault(old, new)
    for new_op, index, tensor in late:  # the back edges of loops
        new_op._update_input(index, tensors[tensor])
    for op, new_op in ops.items():
        controls = [ops.get(control, control) for control in op.control_inputs]
        new_op._add_control_inputs([c for c in controls if c.graph is graph])
    copies = {t: new for op in ops for t, new in zip(op.outputs, ops[op].outputs)}
    return SubGraphView(list(ops.values())), TransformerInfo(graph, ops, copies)


def copy(
    sgv: Any,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy operations into `dst_graph`. Return a view of the copies, and the mapping to them.

    Inputs that are not copied become placeholders, even if `dst_graph` is the same graph.
    """
    view = _view(sgv)
    graph = dst_graph or view.graph
    replacements = {}
    if graph is not None:
        with graph.as_default(), graph.name_scope(f"{dst_scope}/" if dst_scope else None):
            replacements = {tensor: _placeholder(graph, tensor) for tensor in view.inputs}
    return copy_with_input_replacements(
        view, replacements, graph, dst_scope, src_scope, reuse_dst_scope
    )


def _placeholder(graph: Graph, tensor: Tensor) -> Tensor:
    op: Operation = graph.create_op(
        "Placeholder", [], [tensor.dtype.base_dtype], name="geph",
        attrs={"dtype": tensor.dtype.base_dtype, "shape": tensor.shape},
    )  # fmt: skip
    return op.outputs[0]


def _new_name(op: Operation, scope: str, src_scope: str) -> str:
    name = op.name
    if src_scope and name.startswith(f"{src_scope.rstrip('/')}/"):
        name = name[len(src_scope.rstrip("/")) + 1 :]
    return f"{scope}/{name}" if scope else name


def _copied(op: Operation, graph: Graph, name: str, inputs: Sequence[Tensor]) -> Operation:
    message = op.node_def
    copied = type(message)()
    copied.CopyFrom(message)
    copied.name = graph.unique_name(name)
    return Operation(copied, graph, inputs=list(inputs))


def _in_order(ops: Iterable[Operation]) -> list[Operation]:
    """Return the operations in an order in which the producers of an operation's inputs precede it.
    Back edges are ignored.
    """
    wanted = set(ops)
    ordered: dict[Operation, None] = {}
    open_ops: set[Operation] = set()
    for first in dict.fromkeys(ops):
        stack = [(first, iter(first.inputs))]
        open_ops.add(first)
        while stack:
            current, inputs = stack[-1]
            maker = next((t.op for t in inputs if t.op in wanted and t.op not in open_ops), None)
            if maker is not None:
                open_ops.add(maker)
                stack.append((maker, iter(maker.inputs)))
                continue
            ordered.setdefault(current, None)
            stack.pop()
    return list(ordered)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return copies of the tensors `target_ts` that are computed from the replacements.

    Raises ValueError if no target depends on a replaced tensor.

    Args:
      target_ts: a tensor, or a list of tensors.
      replacement_ts: for each replaced tensor, the tensor to use instead.
    """
    targets = make_list_of_t(target_ts)
    backward = set(get_backward_walk_ops(targets, stop_at_ts=list(replacement_ts)))
    users = [user for t in replacement_ts for user in t.consumers()]
    ops = [op for op in get_forward_walk_ops(users) if op in backward] if users else []
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(
        ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
    )
    results = [info.transformed(t, lambda original: original) for t in targets]
    return results[0] if isinstance(target_ts, Tensor) else results


def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Make the consumers of each tensor of `ts1` use the corresponding tensor of `ts0` instead.
    Return the number of changed inputs.

    Args:
      can_modify: the operations that may be changed. If `can_modify` is None, all operations may be
        changed.
      cannot_modify: the operations that must not be changed.
    """
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    refused = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    count = 0
    pairs = list(zip(make_list_of_t(ts0), make_list_of_t(ts1), strict=True))
    users = [list(old.consumers()) for _, old in pairs]
    for (new, old), consumers in zip(pairs, users):
        for op in consumers:
            if op in refused or (allowed is not None and op not in allowed):
                continue
            for index, tensor in enumerate(op.inputs):
                if tensor is old:
                    op._update_input(index, new)
                    count += 1
    return count


def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Exchange the consumers of each tensor of `ts0` and the corresponding tensor of `ts1`. Return
    the number of changed inputs.
    """
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    refused = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    changes = []
    for one, other in zip(make_list_of_t(ts0), make_list_of_t(ts1), strict=True):
        for old, new in ((one, other), (other, one)):
            for op in old.consumers():
                if op not in refused and (allowed is None or op in allowed):
                    changes += [(op, i, new) for i, t in enumerate(op.inputs) if t is old]
    for op, index, tensor in changes:
        op._update_input(index, tensor)
    return len(changes)


def add_control_inputs(op: Operation, cops: Any) -> None:
    """Add the operations `cops` to the control inputs of `op`. Raises ValueError if one of them is
    a control input already.
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other in op.control_inputs:
            raise ValueError(f"{other.name} is already a control_input of {op.name}")
    op._add_control_inputs(others)


def remove_control_inputs(op: Operation, cops: Any) -> None:
    """Remove the operations `cops` from the control inputs of `op`. Raises ValueError if one of
    them is not a control input.
    """
    others = make_list_of_op(cops, allow_graph=False)
    for other in others:
        if other not in op.control_inputs:
            raise ValueError(f"{other.name} is not a control_input of {op.name}")
    op._remove_control_inputs(others)
