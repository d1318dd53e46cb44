"""The graph of the operations of a partial run. It finds the operations that can run once some of
the feeds have values.

Operations that cannot be separated run together, as one group:

- the operations of a branch or a loop, including its final Merge and Exit. No value from inside can
  be kept between parts, because it may be dead or belong to one of many iterations;
- operations that share a TensorArray or a stack, which last for one run only.

A variable or a constant is available in each part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gpugraph.base.dtypes import resource
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import handle_maker
from gpugraph.graph.client.tensor import Tensor

Guard = frozenset[tuple[str, str]]
"""The conditions under which an operation runs, as pairs: ("side", the predicate of a Switch with
the number of the output) or ("frame", the name of a loop).
"""

_ALWAYS: Guard = frozenset()

_CLOSES_LOOPS = ("NextIteration", "RefNextIteration")


class PartialRunGraph:
    """The operations between the feeds of a partial run and its fetches and targets.

    `operations` are sorted so that inputs come first, except for a NextIteration, which closes a
    loop. `readers` is a dict from an operation to the operations that need it. `waiting` is a dict
    from a fed tensor to the operations that need it. `groups` is a dict from an operation to the
    group of inseparable operations to which it belongs, if any.
    """

    def __init__(self, feeds: Collection[Tensor], roots: Iterable[Operation]) -> None:
        self.feeds = feeds
        self.operations = self._in_order(roots)
        self.readers: dict[Operation, list[Operation]] = {op: [] for op in self.operations}
        self.waiting: dict[Tensor, list[Operation]] = {tensor: [] for tensor in feeds}
        for op in self.operations:
            for source in self.sources(op):
                self.readers[source].append(op)
            for tensor in self.fed_inputs(op):
                self.waiting[tensor].append(op)
        self.groups = self._groups()

    def sources(self, op: Operation) -> list[Operation]:
        """Return the operations that must run before `op`.

        These are its control inputs, except for fed Placeholders, and the producers of its inputs
        that are not fed.
        """
        makers = [tensor.op for tensor in op._inputs if tensor not in self.feeds]
        return makers + [other for other in op._control_inputs if self.arrival(other) is None]

    def arrival(self, op: Operation) -> Tensor | None:
        """Return the output of `op` if it is a fed Placeholder. Otherwise return None.

        A control dependency on a fed Placeholder is satisfied when the returned tensor is fed.
        """
        is_placeholder = op.type == "Placeholder" and op._outputs[0] in self.feeds
        return op._outputs[0] if is_placeholder else None

    def fed_inputs(self, op: Operation) -> list[Tensor]:
        """Return the fed tensors that the operation reads, or on which it depends through control
        inputs.
        """
        arrivals = map(self.arrival, op._control_inputs)
        inputs = [tensor for tensor in op._inputs if tensor in self.feeds]
        return inputs + [tensor for tensor in arrivals if tensor is not None]

    def blocked(self, missing: Iterable[Tensor], by_group: bool = True) -> set[Operation]:
        """Return the operations that cannot run before these feeds arrive.

        Args:
          by_group: whether a blocked operation blocks its whole group.
        """
        stack = [op for tensor in missing for op in self.waiting[tensor]]
        blocked: set[Operation] = set()
        while stack:
            op = stack.pop()
            if op not in blocked:
                blocked.add(op)
                stack += self.readers[op]
                stack += self.groups.get(op, ()) if by_group else ()
        return blocked

    def needed(self, op: Operation, done: Collection[Operation]) -> set[Operation]:
        """Return the operation and all operations that must run before it, except those in
        `done`.
        """
        stack, seen = [op], {op}
        while stack:
            for source in self.sources(stack.pop()):
                if source not in seen and source not in done:
                    seen.add(source)
                    stack.append(source)
        return seen

    def _in_order(self, roots: Iterable[Operation]) -> list[Operation]:
        order: list[Operation] = []
        seen: set[Operation] = set()
        waiting = list(roots)
        for root in waiting:  # operations that close loops are appended
            stack = [(root, False)]
            while stack:
                op, is_left = stack.pop()
                if is_left:
                    order.append(op)
                elif op not in seen:
                    seen.add(op)
                    stack.append((op, True))
                    sources = self.sources(op)
                    closing = [source for source in sources if source.type in _CLOSES_LOOPS]
                    waiting += closing
                    stack += [(source, False) for source in sources if source not in closing]
        return order

    def _groups(self) -> dict[Operation, Sequence[Operation]]:
        guards = self._guards()
        leader = {op: op for op in self.operations}

        def find(op: Operation) -> Operation:
            while leader[op] is not op:
                leader[op] = leader[leader[op]]
                op = leader[op]
            return op

        for op in self.operations:
            for tensor in op._inputs:
                if tensor not in self.feeds and (guards[tensor] or _is_container(tensor)):
                    leader[find(op)] = find(tensor.op)
            for other in op._control_inputs:
                if guards.get(other):
                    leader[find(op)] = find(other)
        members: dict[Operation, list[Operation]] = {}
        for op in self.operations:
            members.setdefault(find(op), []).append(op)
        return {op: group for group in members.values() if len(group) > 1 for op in group}

    def _guards(self) -> dict[Tensor | Operation, Guard]:
        """Return the guard of each operation and of each output tensor."""
        guards: dict[Tensor | Operation, Guard] = {}
        entries: dict[str, Guard] = {}  # by frame, the conditions under which the loop is entered
        for op in self.operations:
            guard = self._guard(op, guards)
            if op.type in ("Enter", "RefEnter"):
                frame = str(op.attrs["frame_name"])
                entries[frame] = entries.get(frame, _ALWAYS) | guard
                guard |= {("frame", frame)}
            elif op.type in ("Exit", "RefExit"):
                guard = _outside(guard, entries)
            guards[op] = guard
            for tensor in op._outputs:
                guards[tensor] = guard
                if op.type in ("Switch", "RefSwitch"):
                    side = ("side", f"{op._inputs[1].name} {tensor.value_index}")
                    guards[tensor] = guard | {side}
        return guards

    def _guard(self, op: Operation, guards: dict[Tensor | Operation, Guard]) -> Guard:
        known = [guards.get(tensor, _ALWAYS) for tensor in op._inputs]
        if op.type in ("Merge", "RefMerge"):  # the NextIteration has no guard yet
            known = [guards[tensor] for tensor in op._inputs if tensor in guards]
            joined = frozenset.intersection(*known) if known else _ALWAYS
        else:
            joined = _ALWAYS.union(*known)
        return joined.union(*(guards.get(other, _ALWAYS) for other in op._control_inputs))


def _outside(guard: Guard, entries: dict[str, Guard]) -> Guard:
    """Return the guard of a value that leaves the innermost loop of `guard`."""
    frames = [name for kind, name in guard if kind == "frame"]
    inner = max(frames, key=lambda name: len(entries[name]), default="")
    return entries.get(inner, _ALWAYS)


def is_in_each_part(op: Operation) -> bool:
    """Return whether the operation is a constant or creates a variable's reference or handle."""
    if op.type == "Const":
        return not op._control_inputs
    refers = any(tensor._dtype.is_ref_dtype for tensor in op._outputs)
    return (refers and not op._inputs) or any(
        tensor._dtype is resource and handle_maker(tensor) is op for tensor in op._outputs
    )


def variable_of(tensor: Tensor) -> Tensor:
    """Return the output of the variable's op from which `tensor` gets its reference or handle."""
    while tensor.op._inputs:
        tensor = tensor.op._inputs[0]
    return tensor


def _is_container(tensor: Tensor) -> bool:
    """Return whether a tensor is the handle of a TensorArray or a stack."""
    return tensor._dtype is resource and handle_maker(tensor) is None
