r"""Shared copies: equal copies of a variable use the same memory if their devices have a common
memory.

    total -> Assign(v)                               total -> Assign(v)
      \--> Identity -> Assign(v/replica_1)    becomes
    v -> read                                        v -> read
    v/replica_1 -> read                              v -> read, on the device of v/replica_1

A strategy creates a copy of each variable for each replica, and makes the same changes to all
copies. The nodes of the copies remain, on their devices, but all of them refer to the memory of the
first copy. From each set of equal changes, only the change of the first copy is kept.

Copies can share memory if a run makes equal changes to all of them. Two changes are equal if their
ops have the same type, equal attrs and equal inputs. Inputs are equal if equal ops compute them
from equal inputs. A read of a copy is equal to the same read of another copy. If a run changes only
some of the copies, or changes them in different ways, the copies are separated for the rest of the
session (`Resources.separate`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.rewriting.common_subexpression_elimination import frozen, is_symmetric
from gpugraph.compile.rewriting.dead_node_elimination import drop_unneeded
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import (
    COPIES,
    COPY,
    COPY_DEVICES,
    SHARED,
    Absorbed,
    TensorId,
    Unit,
    variable_key,
)
from gpugraph.devices import Copies
from gpugraph.graph.device_names import matches, merge_specs
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.node_and_edge import SINK_ID
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_PASSING = (NodeClass.SWITCH, NodeClass.ENTER)
"""Ops of control flow whose outputs are equal if their inputs and attrs are."""


class _Copy(NamedTuple):
    """A copy of a variable: the set of copies to which it belongs, and its index in that set."""

    copies: Copies
    number: int


@compile_pass()
def share(unit: Unit) -> Outcome:
    """Make all copies of each variable refer to the memory of the first copy. From each set of
    equal changes, keep only the change of the first copy.
    """
    known = _known_copies(unit)
    merged: list[tuple[Node, Node]] = []
    while known:
        changes = _Changes(unit, known)
        if not changes.alone:
            merged = changes.merge()
            break
        for copies in changes.alone.values():
            unit.target.resources.separate(copies)
        known = _known_copies(unit)
    _rename(unit, known)
    count = len({copy.copies.first for copy in known.values()})
    lines = [f"{node.name}: as {first.name}" for node, first in merged]
    return f"the copies of {count} variables share memory, {len(merged)} changes are dropped", lines


def _known_copies(unit: Unit) -> dict[int, _Copy]:
    """Return the variables whose copies may share memory, as copies by node id."""
    known = {}
    for node in unit.graph.op_nodes():
        if node.node_class is NodeClass.VARIABLE:
            key = variable_key(node)
            copies = unit.target.resources.copies.of(key) or _new_copies(unit, node)
            if copies is not None and key in copies.keys:
                known[node.id] = _Copy(copies, copies.keys.index(key))
    return known


def _new_copies(unit: Unit, node: Node) -> Copies | None:
    """Return the set of copies to which a variable belongs if they may share memory, else None."""
    names, places = node.attrs.get(COPIES, ()), node.attrs.get(COPY_DEVICES, ())
    if not names:
        return None
    devices = []
    for place in places:
        request = merge_specs(unit.target.task, _text(place))
        fit = [device for device in unit.target.devices if matches(request, device.name)]
        if len(fit) != 1 or not fit[0].shares_memory:
            return None
        devices += fit
    container, _ = variable_key(node)
    copies = Copies(tuple((container, _text(name)) for name in names), tuple(devices))
    return copies if unit.target.resources.share(copies, node.attrs["dtype"]) else None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _rename(unit: Unit, known: dict[int, _Copy]) -> None:
    """Make the nodes of all copies refer to the variable of the first copy."""
    nodes = [node for node in unit.graph.op_nodes() if node.id in known]
    resizable = {known[node.id].copies.first for node in nodes if "_resizable" in node.attrs}
    for node in nodes:
        copies, number = known[node.id]
        container, name = copies.first
        if copies.first in resizable:
            node.attrs = {**node.attrs, "_resizable": True}
        node.attrs = {**node.attrs, SHARED: True}
        if number:
            node.attrs = {**node.attrs, "container": container, "shared_name": name, COPY: number}


class _Changes:
    """The changes that a run makes to copies of variables.

    Attributes:
      alone: the sets of copies that must be separated, because the run does not change their
        members in the same way. Each set is stored under the key of its first copy.
    """

    def __init__(self, unit: Unit, known: dict[int, _Copy]) -> None:
        self.unit, self.known = unit, known
        self.alone: dict[tuple[str, str], Copies] = {}
        self._order = topological_order(unit.graph)
        self._refers = references(self._order)
        self._equal: dict[int, int] = {}  # node -> the first node that computes the same
        self._same: dict[TensorId, TensorId] = {}  # the tensor before any Identities
        self._seen: dict[Any, int] = {}
        self._members: dict[Any, dict[int, Node]] = {}  # of a change, by the number of the copy
        self._times: Counter[Any] = Counter()
        for node in self._order:
            self._visit(node)
        for members in self._members.values():
            copies = self._changed(next(iter(members.values())))
            if len(members) < len(copies[0].copies.keys):
                self._refuse(copies)
        if not self.alone:
            self._refuse_cycles()

    def _refuse(self, changed: list[_Copy]) -> None:
        self.alone.update({copy.copies.first: copy.copies for copy in changed})

    def _changed(self, node: Node) -> list[_Copy]:
        """Return the copies of variables that a node changes. Variables without copies are
        omitted.
        """
        return [copy for copy in self._written(node) if copy is not None]

    def _written(self, node: Node) -> list[_Copy | None]:
        decl = DECLARATIONS.get(node.type)
        if decl is None or not decl.memory.writes:
            return []
        edges = [edge for edge in node._in if edge.dst_input in decl.memory.writes]
        variables = [self._refers.get((edge.src.id, edge.src_output)) for edge in edges]
        return [None if node is None else self.known.get(node.id) for node in variables]

    # -- equal nodes

    def _visit(self, node: Node) -> None:
        """Find the first node that computes the same values as this node. If the node changes a
        copy, record the change.
        """
        written = self._written(node)
        changed = [copy for copy in written if copy is not None]
        key: Any
        if node.id in self.known:
            key = self.known[node.id].copies.first
        elif not changed:
            key = self._key(node) if _is_determined(node) else None
        else:
            key = self._key_of_change(node, changed)
            is_alike = len(changed) == len(written) and len({c.number for c in changed}) == 1
            if key is None or not is_alike:
                self._refuse(changed)
                key = None
            else:
                self._members.setdefault(key, {})[changed[0].number] = node
        self._equal[node.id] = node.id if key is None else self._seen.setdefault(key, node.id)

    def _key_of_change(self, node: Node, changed: list[_Copy]) -> Any:
        """Return a key that is equal for equal changes of different copies. If one copy is changed
        repeatedly, each of its changes has a different key.
        """
        key = self._key(node, is_change=True)
        number = changed[0].number
        self._times[key, number] += 1
        return None if key is None else (key, self._times[key, number])

    def _key(self, node: Node, is_change: bool = False) -> Any:
        """Return a key of the properties that determine a node's outputs. Return None for an
        Identity without control inputs, because its output is treated as its input.
        """
        sources: list[TensorId] = [(0, 0)] * len(node.input_types)
        waits = set()
        reads = False
        for edge in node._in:
            source = edge.src
            if edge.dst_input >= 0:
                tensor = self._same.get((source.id, edge.src_output))
                sources[edge.dst_input] = tensor or (self._equal[source.id], edge.src_output)
                reads = reads or source.output_types[edge.src_output].is_ref_dtype
            elif source.id > SINK_ID:
                waits.add(self._equal[source.id])
        if node.node_class is NodeClass.IDENTITY and not waits and not reads:
            self._same[node.id, 0] = sources[0]
            return None
        if node.op_def.is_commutative and is_symmetric(node):
            sources.sort()
        attrs = {name: value for name, value in node.attrs.items() if not name.startswith("_")}
        values = tuple((name, frozen(attrs[name])) for name in sorted(attrs))
        return node.type, values, *sources, None if is_change else frozenset(waits)

    # -- merging

    def _refuse_cycles(self) -> None:
        """Find changes that would wait for each other in a cycle if equal changes were merged.
        Separate the copies of these variables.
        """
        first = {node.id: members[0].id for members in self._members.values()
                 for node in members.values()}  # fmt: skip
        pending: Counter[int] = Counter()
        leads: dict[int, list[int]] = {}
        for node in self._order:
            end = first.get(node.id, node.id)
            for edge in node._in:
                is_kept = edge.is_control or end == node.id
                if is_kept and edge.src.id > SINK_ID and not edge.is_back_edge:
                    leads.setdefault(first.get(edge.src.id, edge.src.id), []).append(end)
                    pending[end] += 1
        ready = [node.id for node in self._order if not pending[node.id]]
        while ready:
            for end in leads.get(ready.pop(), ()):
                pending[end] -= 1
                if not pending[end]:
                    ready.append(end)
        for members in self._members.values():
            if pending[members[0].id]:
                self._refuse(self._changed(members[0]))

    def merge(self) -> list[tuple[Node, Node]]:
        """Merge each change into the equal change of the first copy. Return pairs of a removed node
        and the node that replaces it.
        """
        graph, unit = self.unit.graph, self.unit
        merged = [(node, members[0]) for members in self._members.values()
                  for number, node in members.items() if number]  # fmt: skip
        for node, first in merged:
            unit.add_control_inputs(first, node.control_inputs)
            for edge in list(node._out):
                if edge.is_control:
                    graph.add_control_edge(first, edge.dst)
                else:
                    graph.update_edge(first, edge.src_output, edge.dst, edge.dst_input)
            unit.absorbed[node.name] = Absorbed(node.type, node.origin, first.name, "the same as")
            unit.remove(node)
        ends = dict(merged)
        unit.roots = list(dict.fromkeys(ends.get(node, node) for node in unit.roots))
        if merged:
            drop_unneeded(unit)
        return merged


def _is_determined(node: Node) -> bool:
    """Return whether equal inputs give equal outputs."""
    return is_pure(node) or node.node_class in _PASSING
