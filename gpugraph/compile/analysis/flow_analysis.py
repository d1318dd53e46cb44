"""Control flow analysis: the loop that contains each op, and the op's guard, which is the condition
under which the op runs.

Ops with equal guards (`compile/unit/guards.py`) become regions of the plan, and a region is run or
skipped as a whole. For ops outside of a loop, the whole loop is a single op, which runs if its
inputs may be alive. Inside a loop, guards are relative to the start of an iteration. If the graph
has no control flow, `unit.flow` remains None.

If an input of an op is dead, the op is dead too, even if the input is a control edge or comes from
another device. There are two exceptions. A Merge is alive if one of its data inputs is alive,
regardless of its control inputs. A ControlTrigger is always alive.
"""

from __future__ import annotations

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import (
    ALWAYS,
    NEVER,
    Atom,
    Flow,
    Found,
    Guard,
    Is,
    either,
    holds_never,
)
from gpugraph.compile.unit.loop_levels import levels
from gpugraph.graph.nodes.loop_frames import Frame, enters_once, is_loop_merge, loop_frames
from gpugraph.graph.nodes.node_and_edge import Edge, origins
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_CLASSES = {NodeClass.SWITCH, NodeClass.MERGE, NodeClass.ENTER}
_PASSING = {NodeClass.IDENTITY, NodeClass.SWITCH, NodeClass.LOOP_COND}


def has_control_flow(unit: Unit) -> bool:
    """Return whether the graph has branches or loops."""
    return any(node.node_class in _CLASSES for node in unit.graph.op_nodes())


@compile_pass()
def flow(unit: Unit) -> Outcome:
    """Set `unit.flow` if the graph has branches or loops. Raises InvalidArgumentError if the frame
    of a loop is not well-formed.
    """
    if not has_control_flow(unit):
        return "no branches and no loops", ()
    unit.flow = flow_of(unit)
    loops = unit.flow.frames.loops()
    guards = {guard for guard in unit.flow.guards.values() if guard}
    return f"{len(guards)} conditions, {len(loops)} loops", _lines(unit, unit.flow)


def flow_of(unit: Unit) -> Flow:
    """Return the frames and guards of the graph in its current state. Raises InvalidArgumentError
    if a fetched tensor is inside a loop.
    """
    frames = loop_frames(unit.graph, unit.send_recv_pairs)
    for node in unit.retvals:
        if frames.at(node) is not frames.root:
            raise _within(frames.at(node), node.input_edge(0))
    flow = Flow(frames, levels(unit.graph, frames, unit.send_recv_pairs))
    known = -1, -1
    while known != (len(flow.carried), len(flow.leading)):  # guards depend on both sets
        if known[1] != len(flow.leading):
            flow.carried.clear()
        known = len(flow.carried), len(flow.leading)
        _Guards(unit, flow).run()
    return flow


def _within(frame: Frame, fetched: Edge) -> InvalidArgumentError:
    return InvalidArgumentError(
        fetched.src.node_def,
        None,
        f"'{fetched.src.name}:{fetched.src_output}' cannot be fetched: it is inside the loop "
        f"'{frame.name}', where each iteration computes it again. Fetch the value of an "
        f"Exit{origins(fetched.src)}",
    )


def _lines(unit: Unit, flow: Flow) -> list[str]:
    """Return the lines of the report: each loop with the numbers of its ops and loop variables, and
    each guard with the number of its ops.
    """
    inside: dict[Frame, int] = {}
    under: dict[Guard, int] = {}
    for node in unit.graph.op_nodes():
        frame = flow.frames.at(node)
        inside[frame] = inside.get(frame, 0) + 1
        guard = flow.guards[node.id]
        if guard:
            under[guard] = under.get(guard, 0) + 1
    lines = [
        f"loop {frame.name}: {inside.get(frame, 0)} ops, {len(frame.merges)} loop variables"
        + ("" if flow.go_on[frame] is not None else "; each ends separately")
        for frame in flow.frames.loops()
    ]
    return lines + [f"{count} ops run {in_words(unit, guard)}" for guard, count in under.items()]


def _by_node(atom: Atom) -> tuple[int, str]:
    return (atom.pred[0] if isinstance(atom, Is) else atom.node), str(atom)


def in_words(unit: Unit, guard: Guard) -> str:
    """Return a guard as text for a report, such as "if 'Less' is true and ..."."""
    parts = []
    for atom in sorted(guard, key=_by_node):
        node = unit.graph.find_id(atom.pred[0] if isinstance(atom, Is) else atom.node)
        name = node.name if node is not None else "?"
        if isinstance(atom, Is):
            parts.append(f"'{name}' is {str(atom.value).lower()}")
        else:
            parts.append(f"'{name}' is alive" if node is not None else "never")
    return "if " + " and ".join(parts)


class _Guards:
    """A traversal of all frames that computes the guard of each node. A loop is visited before the
    ops that read its Exits.
    """

    def __init__(self, unit: Unit, flow: Flow) -> None:
        self.unit = unit
        self.flow = flow
        self.sends = {recv.id: send for send, recv in unit.send_recv_pairs}

    def run(self) -> None:
        """Clear the results of the previous traversal and compute the guards."""
        flow = self.flow
        flow.guards.clear()
        flow.irregular.clear()
        flow.entered.clear()
        self._frame(flow.frames.root)

    def _frame(self, frame: Frame) -> None:
        level = self.flow.levels[frame]
        if frame.parent is not None:
            self._enter(frame)
        for item in sorted(level.items, key=level.depth.__getitem__):
            if isinstance(item, Frame):
                self._frame(item)
                continue
            self.flow.guards[item.id] = self._guard(item)
            if item.node_class is NodeClass.SWITCH:
                self._note_pred(item)
        if frame.parent is not None:
            self._end(frame)

    def _guard(self, node: Node) -> Guard:
        flow = self.flow
        kind = node.node_class
        if kind is NodeClass.ENTER:
            return self._entering(node)
        if kind is NodeClass.CONTROL_TRIGGER:
            return ALWAYS
        if kind is NodeClass.RECV:
            send = self.sends[node.id]
            return flow.guards[send.id]
        if kind is NodeClass.MERGE:
            return self._merged(node)
        return self._all(list(node._in))

    def _enter(self, frame: Frame) -> None:
        """Record the guard under which a loop runs, which consists of the literals that all its
        Enters have in common. For leading Enters (see `_note_leading`), also record the complete
        guards.
        """
        flow = self.flow
        guards = {node.id: self._all(list(node._in)) for node in frame.enters}
        outer = frozenset.intersection(*guards.values())
        outer = outer.union(*(guard for key, guard in guards.items() if key in flow.leading))
        flow.outer[frame] = outer
        for key, guard in guards.items():
            if not guard <= outer:
                flow.entered[key] = guard | outer
        if any(flow.started(node) is not None for node in frame.merges):
            flow.carried.add(frame)

    def _note_leading(self, frame: Frame) -> None:
        """Record the leading Enters of a loop. If the input of a leading Enter is dead, the loop
        has neither an effect nor a live Exit.
        """
        flow = self.flow
        active = [flow.guards[node.id] for node in frame.exits]
        for item in flow.levels[frame].items:
            if isinstance(item, Frame):
                active.append(flow.outer[item])
            elif item.op_def.is_stateful or (item.is_merge and not is_loop_merge(item)):
                active.append(flow.guards[item.id])
        active = [guard for guard in active if not holds_never(guard)]
        shared = frozenset.intersection(*active) if active else ALWAYS
        leading = {
            atom.node for atom in shared if isinstance(atom, Found) and atom.what == "entered"
        }
        for node in frame.merges:
            carried = Found(node.id, "carried")
            back = next(edge.src for edge in node._in if edge.is_back_edge)
            if carried in shared and carried in flow.guards[back.id]:
                leading.update(edge.src.id for edge in node._in if edge.src.is_enter)
        flow.leading |= leading & flow.entered.keys()

    def _entering(self, node: Node) -> Guard:
        """Return the guard that an Enter has inside its loop.

        A loop-invariant Enter is alive in every iteration. Any other Enter is alive only in the
        first iteration. The guard contains this restriction unless the loop's Merge is the only
        reader.
        """
        guard = ALWAYS
        entered = self.flow.entered.get(node.id, ALWAYS)
        if holds_never(entered):
            return NEVER
        if entered:
            guard |= self._found(node, "entered", ALWAYS)
        if not node.attrs.get("is_constant") and not enters_once(node):
            guard |= self._found(node, "first", ALWAYS)
        return guard

    def _all(self, edges: list[Edge]) -> Guard:
        guard = ALWAYS
        for edge in edges:
            if edge.src.is_op and not edge.is_back_edge:
                guard |= self.flow.of_output(edge.src, edge.src_output)
        return NEVER if guard >= NEVER else guard

    def _merged(self, node: Node) -> Guard:
        """Return the guard of a Merge. The control inputs of a Merge do not affect its guard,
        because a Merge waits for them but is alive even if they are dead.
        """
        flow = self.flow
        if is_loop_merge(node):
            if flow.frames.of[node.id] in flow.carried:
                return self._found(node, "carried", ALWAYS)
            return ALWAYS
        guards = [self._all([edge]) for edge in node.input_edges()]
        guard = either(guards)
        if guard is not None:
            return guard
        shared = frozenset.intersection(*(alive for alive in guards if not holds_never(alive)))
        return self._found(node, "merge", shared)

    def _found(self, node: Node, what: str, within: Guard) -> Guard:
        atom = Found(node.id, what)
        self.flow.within[atom] = within | {atom}
        return self.flow.within[atom]

    def _note_pred(self, node: Node) -> None:
        """Record the output that computes the predicate of a Switch, and the literals that the
        guards of the Switch's two outputs have in addition to the guard of the Switch.
        """
        flow = self.flow
        edge = node.input_edge(1)
        source, slot = self._behind(edge.src, edge.src_output)
        known = self._known(source, slot)
        if known is not None:
            flow.pred_of.pop(node.id, None)
            flow.sides[node.id] = (NEVER, ALWAYS) if known else (ALWAYS, NEVER)
            return
        atoms = Is((source.id, slot), False), Is((source.id, slot), True)
        flow.pred_of[node.id] = (source.id, slot)
        flow.sides[node.id] = frozenset(atoms[:1]), frozenset(atoms[1:])
        for atom in atoms:
            flow.within[atom] = flow.of_output(source, slot) | {atom}

    def _behind(self, source: Node, slot: int) -> tuple[Node, int]:
        """Return the output that computes a predicate. To find this output, follow Identity,
        Switch, LoopCond, Send and Recv backwards.
        """
        while source.node_class in _PASSING or source.node_class is NodeClass.RECV:
            if source.node_class is NodeClass.RECV:
                source = self.sends[source.id]
            elif source.output_types[slot].is_ref_dtype:
                break
            edge = source.input_edge(0)
            source, slot = edge.src, edge.src_output
        return source, _first_equal_output(source, slot) if source.type == "_Fused" else slot

    def _known(self, source: Node, slot: int) -> bool | None:
        """Return the value of a predicate if it is constant, or if the guard of a surrounding loop
        determines it. Otherwise return None.
        """
        flow = self.flow
        while True:
            value = self.unit.values.get((source.id, slot))
            if value is not None:
                return bool(value)
            if source.node_class is not NodeClass.ENTER or not source.attrs.get("is_constant"):
                return None
            outer = flow.outer[flow.frames.of[source.id]]
            edge = source.input_edge(0)
            source, slot = self._behind(edge.src, edge.src_output)
            for truth in (False, True):
                if Is((source.id, slot), truth) in outer:
                    return truth

    def _go_on(self, frame: Frame) -> Guard | None:
        """Return the guard under which the loop has another iteration, or None if the
        NextIterations of its variables have different guards.
        """
        if frame in self.flow.carried:
            return None
        guards = {self.flow.guards[node.id] for node in frame.next_iterations}
        if not guards:
            return NEVER
        return guards.pop() if len(guards) == 1 else None

    def _end(self, frame: Frame) -> None:
        """Record the guard under which a loop has another iteration. Mark an Exit as irregular if
        it may be dead even though the loop has run.
        """
        flow = self.flow
        go_on = flow.go_on[frame] = self._go_on(frame)
        if go_on is None:
            flow.carried.add(frame)
        may_be_empty = all(node.id in flow.entered for node in frame.enters)
        for node in frame.exits:
            if may_be_empty or go_on is None or go_on != _opposite(flow.guards[node.id]):
                flow.irregular.add(node.id)
                atom = Found(node.id, "exit")
                flow.within[atom] = flow.outer[frame] | {atom}
        if any(node.id in flow.entered for node in frame.enters):
            self._note_leading(frame)


def _opposite(guard: Guard) -> Guard | None:
    """Return the negation of a guard that has at most one literal, or None for a longer guard."""
    if not guard:
        return NEVER
    atoms = list(guard)
    if len(atoms) == 1 and isinstance(atoms[0], Is):
        return frozenset({Is(atoms[0].pred, not atoms[0].value)})
    return None


def _first_equal_output(fused: Node, slot: int) -> int:
    """Return the first output of a `_Fused` that has the same value as output `slot`, because its
    members only forward the value.
    """
    number = len(fused.attrs["Tin"])
    same: dict[int, int] = {}
    for member in fused.attrs["members"]:
        if member.op_type == "Identity":
            same[number] = same.get(member.sources[0], member.sources[0])
        number += len(member.output_types)
    values = [same.get(value, value) for value in fused.attrs["stores"]]
    return values.index(values[slot])
