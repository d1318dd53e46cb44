"""Serialization: if a run updates a variable several times, the updates take effect one after
another.

    v = v - (v - a) * 0.1        two reads and two writes, of which the program orders no pair:
    v = v - (v - b) * 0.1        if both read first, the second write undoes the first

An update consists of a read of a variable, a write of the same variable, and the ops between them.
Only this write uses the value that was read. If a run writes a variable several times, this pass
adds control edges: each update reads after the previous write, in order of creation, within one
loop. So no update is lost. Examples are the updates of a moving average (`assign_sub`) in a layer
that is applied twice, and the updates of several optimizers. A read with any other use (a fetch,
the update of another variable) gets no edges. The order that the program defines takes precedence:
no edge is added that would close a cycle. The sections of a mutex run one after another too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.lowering.read_paths import ReadPaths
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit, variable_key
from gpugraph.compile.unit.guards import ALWAYS, Flow, Guard
from gpugraph.compile.unit.loop_levels import loops_whole
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

Key = tuple[str, str]

_OTHER = 1  # in masks of the writes that a value reaches: it also reaches another effect


@compile_pass()
def serial(unit: Unit) -> Outcome:
    """Order the updates of each variable that the run writes several times."""
    lines: list[str] = []
    if _writes_repeat(unit):
        lines = _Serializer(unit).run()
    return f"{len(lines)} updates wait for an earlier one of the same variable", lines


def _writes_repeat(unit: Unit) -> bool:
    """Return whether a variable might be written twice. If the variable of a reference is not
    immediately known, the result is true.
    """
    seen: set[Key] = set()
    for node in unit.graph.op_nodes():
        if node.type == "MutexLock":
            return True
        decl = DECLARATIONS.get(node.type)
        if decl is None or not decl.memory.writes:
            continue
        for slot in decl.memory.writes:
            variable = _variable_behind(node, slot)
            key = None if variable is None else variable_key(variable)
            if key is None or key in seen:
                return True
            seen.add(key)
    return False


def _variable_behind(node: Node, slot: int) -> Node | None:
    """Return the variable to which an input refers, or None if it is not found. The search follows
    the first input of each op.
    """
    while node.node_class is not NodeClass.VARIABLE:
        if not node._in:
            return None
        node, slot = node.input_edge(slot).src, 0
    return node


@dataclass(eq=False)
class _Variable:
    """The reads and writes of one variable. Writes are in program order. If the program does not
    order them, they are in order of creation.
    """

    writes: list[Node] = field(default_factory=list)
    reads: list[Edge] = field(default_factory=list)


class _Serializer:
    """One execution of the pass.

    Attributes:
      flow: the loops and guards of the nodes, or None if there is no control flow.
      in_order: whether each node was created after all nodes on which it depends.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.graph = unit.graph
        self.flow: Flow | None = flow_of(unit) if has_control_flow(unit) else None
        self.paths = ReadPaths(unit)
        self.order = self._inputs_first()
        self.roots = {node.id for node in unit.roots}
        self.triggers: dict[int, Node] = {}
        edges = (edge for node in self.order for edge in node._in)
        self.in_order = all(edge.src.id < edge.dst.id or edge.is_back_edge for edge in edges)

    def _inputs_first(self) -> list[Node]:
        return topological_order(self.graph) if self.flow is None else loops_whole(self.graph)

    def run(self) -> list[str]:
        """Order all updates, and return the lines of the report."""
        variables = self._variables()
        lines = [
            line
            for variable in variables.values()
            for writes in self._by_frame(variable)
            for line in self._ordered(variable, writes)
        ]
        return [*lines, *self._ordered_sections()]

    def _ordered_sections(self) -> Iterator[str]:
        """Let each section of a mutex begin after the end of the previous one in its loop."""
        sections: dict[tuple[int, Frame], list[Node]] = {}
        for lock in sorted(self.order, key=lambda node: node.id):
            if lock.type == "MutexLock":
                mutex = lock
                while mutex._in and mutex.type != "MutexV2":
                    mutex = mutex.input_edge(0).src
                sections.setdefault((mutex.id, self.paths.frames.at(lock)), []).append(lock)
        for locks in sections.values():
            for earlier, lock in pairwise(locks):
                ends = [edge.dst for edge in earlier._out if edge.dst.type == "ConsumeMutexLock"]
                for end in ends:
                    if self._may_wait(lock, end):
                        self._wait(lock, end)
                        yield f"{lock.name} after {end.name}"

    def _variables(self) -> dict[Key, _Variable]:
        """Return the variables that the run writes several times, by key."""
        variable_of = references(self.order)
        variables: dict[Key, _Variable] = {}
        for node in self.order:
            decl = DECLARATIONS.get(node.type)
            if decl is None or node.node_class is NodeClass.VARIABLE:
                continue
            passed = {slot for output, slot in decl.memory.view.items()
                      if node.output_types[output].is_ref_dtype}  # fmt: skip
            for edge in node._in:
                source = (
                    None if edge.is_control else variable_of.get((edge.src.id, edge.src_output))
                )
                if source is None:
                    continue
                variable = variables.setdefault(variable_key(source), _Variable())
                if edge.dst_input in decl.memory.writes:
                    if node not in variable.writes[-1:]:
                        variable.writes.append(node)
                elif edge.dst_input not in passed:
                    variable.reads.append(edge)
        repeated = {key: known for key, known in variables.items() if len(known.writes) > 1}
        for variable in repeated.values():
            variable.writes = self._by_creation(variable.writes)
        return repeated

    def _by_creation(self, writes: list[Node]) -> list[Node]:
        """Return the writes in order of creation, except that each write follows the writes on
        which it depends.
        """
        writes = sorted(writes, key=lambda node: node.id)
        if self.in_order:
            return writes
        bits = {write.id: 1 << index for index, write in enumerate(writes)}
        after: dict[int, int] = {}
        for node in self.order:
            for edge in node._in:
                behind = after.get(edge.src.id, 0) | bits.get(edge.src.id, 0)
                after[node.id] = after.get(node.id, 0) | behind
        ordered: list[Node] = []
        done = 0
        while writes:
            write = next(write for write in writes if not after.get(write.id, 0) & ~done)
            writes.remove(write)
            ordered.append(write)
            done |= bits[write.id]
        return ordered

    def _by_frame(self, variable: _Variable) -> Iterator[list[Node]]:
        frames: dict[Frame, list[Node]] = {}
        for write in variable.writes:
            frames.setdefault(self.paths.frames.at(write), []).append(write)
        yield from (writes for writes in frames.values() if len(writes) > 1)

    def _guard(self, node: Node) -> Guard:
        return ALWAYS if self.flow is None else self.flow.guards.get(node.id, ALWAYS)

    # -- one variable

    def _ordered(self, variable: _Variable, writes: list[Node]) -> Iterator[str]:
        feeding = self._feeding(variable)
        for earlier, write in pairwise(writes):
            if not self._may_wait(write, earlier):
                continue
            self._wait(write, earlier)
            for edge in feeding.get(write.id, ()):
                self._read_after(edge, earlier, write)
            yield f"{write.name} after {earlier.name}"

    def _feeding(self, variable: _Variable) -> dict[int, list[Edge]]:
        """Return, for each write by its id, the edges from the reads whose values no other write
        uses.

        If the program created the read itself, the edge leads into the read. If the read is the
        shared read of a reference variable, the edges lead from the shared read to its users.
        """
        bits = {write.id: _OTHER << index for index, write in enumerate(variable.writes, 1)}
        reached = self._reached(variable, bits)

        def of_edge(edge: Edge) -> int:
            return bits.get(edge.dst.id) or reached.get(edge.dst.id, _OTHER)

        by_bit = {bit: write for write, bit in bits.items()}
        feeding: dict[int, list[Edge]] = {}
        for read in variable.reads:
            node = read.dst
            shared = node.is_identity and node.name == f"{read.src.name}/read"
            for edge in list(node._out) if shared else [read]:
                write = by_bit.get(of_edge(edge))
                if write is not None and node.id not in self.roots:
                    feeding.setdefault(write, []).append(edge)
        return feeding

    def _reached(self, variable: _Variable, bits: dict[int, int]) -> dict[int, int]:
        """Return, for each node that depends on a read of the variable, the bits of the first
        writes that use the node's value. The bits include `_OTHER` if the node also has an effect
        other than these writes.
        """
        behind: set[int] = set()
        stack = [edge.dst for edge in variable.reads]
        while stack:
            node = stack.pop()
            if node.id not in behind and node.id not in bits:
                behind.add(node.id)
                stack += [edge.dst for edge in node._out if edge.dst.is_op]
        reached: dict[int, int] = {}
        for node in reversed(self.order):
            if node.id not in behind:
                continue
            acts = node.id in self.roots or not node._out or node.op_def.is_stateful
            bits_behind = _OTHER if acts else 0
            for edge in node._out:
                bits_behind |= bits.get(edge.dst.id) or reached.get(edge.dst.id, _OTHER)
            reached[node.id] = bits_behind
        return reached

    # -- edges

    def _may_wait(self, node: Node, earlier: Node) -> bool:
        """Return whether a control edge from `earlier` to `node` can be added without closing a
        cycle.
        """
        if self.in_order and earlier.id < node.id:
            return True
        return not self.paths.leads(node, earlier)

    def _wait(self, node: Node, earlier: Node) -> None:
        """Let a node run after a write. If the write may be in a branch that is not taken, the node
        waits for a ControlTrigger after the write instead.
        """
        if self._guard(earlier) != ALWAYS and self._guard(earlier) != self._guard(node):
            earlier = self._trigger(earlier)
        self.graph.add_control_edge(earlier, node)

    def _trigger(self, write: Node) -> Node:
        """Return a ControlTrigger after the write. The ControlTrigger runs even if the write is
        skipped.
        """
        if write.id not in self.triggers:
            trigger = self.unit.add_op("ControlTrigger", write, attrs={}, suffix="done", device="")
            self.graph.add_control_edge(write, trigger)
            self.paths.frames.of[trigger.id] = self.paths.frames.at(write)
            self.triggers[write.id] = trigger
        return self.triggers[write.id]

    def _read_after(self, edge: Edge, earlier: Node, write: Node) -> None:
        """Let the read at the beginning of an update run after the write of the previous update.

        If the read is a shared read, this read is copied first. The added control edge closes no
        cycle, because only the update's own write depends on the copy. A read that is not in the
        loop and branch of the write is not changed.
        """
        frame = self.paths.frames.at(write)
        reader = edge.dst
        at_hand = self.paths.frames.at(reader) is frame and self._guard(reader) == self._guard(
            write
        )
        if not at_hand:
            return
        read = edge.src
        if read.is_identity and read.input_edge(0).src.output_types[0].is_ref_dtype:
            again = self.graph.copy_node(read)
            source, slot = self.paths.reference(read, frame)
            self.graph.add_edge(source, slot, again, 0)
            self.unit.add_control_inputs(again, [] if self.flow else read.control_inputs)
            self._wait(again, earlier)
            self.graph.update_edge(again, 0, edge.dst, edge.dst_input)
        else:
            self._wait(reader, earlier)
