"""Fusion: each group of ops becomes one step.

The search covers the whole placed graph before it is partitioned, because a fusion on one device
can close a cycle that leads through another device. An op joins the group of one of its inputs
under these conditions:

  - Both have the same device, loop, guard and iteration space (`analysis/fusibility.py`). Values
    with one number per row may be combined with values that have a whole row.
  - The input is available while the kernel runs. (A sum over all rows is not.)
  - No other input of the op depends on the group, so that the group stays convex.

With a C compiler, each group becomes one native kernel. Until the kernel is compiled, the NumPy
kernels of the group's ops run. Without a compiler, only elementwise ops over large tensors are
fused, and are computed tile by tile. Small tensors are not tiled, because they stay in the
processor's cache anyway. `OptimizerOptions.opt_level` L0 disables fusion.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from gpugraph.base.shapes import equal_sizes
from gpugraph.compile.analysis.flow_analysis import flow_of, has_control_flow
from gpugraph.compile.analysis.fusibility import Fusible, FusibleOps, Shape, kernels_on
from gpugraph.compile.fusion.fused_node import Kind, Record, rewrite
from gpugraph.compile.fusion.group_dependencies import Dependencies, Group
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.compile.unit.loop_levels import loops_whole
from gpugraph.config import OptimizerOptions
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node

MAX_WEIGHT = 256
"""The maximum weight of a group. Compile times grow faster than the length of the source."""

HEAVY = {"Sin": 16, "Cos": 16, "Tan": 16, "Pow": 8, "Erf": 4}
"""The weights of ops whose C functions take long to compile; every other op weighs 1."""


@compile_pass()
def fuse(unit: Unit) -> Outcome:
    """Replace each group of two or more nodes by one `_Fused` node."""
    if _is_off(unit):
        return "switched off: opt_level is L0", ()
    native = jit(unit.target.config)
    lines: list[str] = []
    count = 0
    search = _Search(unit, kernels_on(unit, native.is_on))
    fused: dict[int, Node] = {}  # by id of a root that was fused, its new node
    for group in search.groups():
        for record in _kernels(search, group):
            node, line = rewrite(record, group.is_tiled())
            fused.update(dict.fromkeys(search.roots & record.inside, node))
            lines.append(line)
            count += len(record.group)
    if fused:
        unit.roots = list(dict.fromkeys(fused.get(node.id, node) for node in unit.roots))
    summary = f"{count} ops became {len(lines)} fused steps" if lines else "nothing to fuse"
    return summary if native.is_on else f"{summary} (no native kernels: {native.reason})", lines


def _is_off(unit: Unit) -> bool:
    options = unit.target.config.graph_options.optimizer_options
    return bool(options.opt_level == OptimizerOptions.L0)


def grouping(unit: Unit) -> Mapping[int, Group]:
    """Return, for each node by its id, the group that `fuse` would form if no later pass changed
    the graph.
    """
    if _is_off(unit):
        return {}
    search = _Search(unit, kernels_on(unit, jit(unit.target.config).is_on))
    search.groups()
    return {node: group.whole() for node, group in search.dependencies.group_of.items()}


def _kernels(search: _Search, group: Group) -> Iterator[Record]:
    """Yield the records of groups that can each be one kernel. If the whole group can't be one, it
    is divided into halves repeatedly.
    """
    todo = [group.nodes]
    while todo:
        nodes = todo.pop()
        if len(nodes) < 2:
            continue
        if sum(HEAVY.get(node.type, 1) for node in nodes) <= MAX_WEIGHT:
            record = Record(search.unit, nodes, search.candidates, search.roots, search.kinds)
            if not search.native[nodes[0].assigned_device] or record.is_one_kernel():
                yield record
                continue
        half = len(nodes) // 2
        todo += [nodes[half:], nodes[:half]]


class _Search:
    """A traversal of the graph in topological order that forms the groups."""

    def __init__(self, unit: Unit, native: Mapping[str, bool]) -> None:
        self.unit = unit
        self.native = native
        self.candidates: dict[int, Fusible] = {}
        self.edges: dict[int, list[Edge]] = {}  # the edges into a candidate, by its id
        self.roots = {node.id for node in unit.roots}
        self.kinds: dict[Hashable, Kind] = {}  # kinds of groups, by their properties except names
        self.dependencies = Dependencies()

    def groups(self) -> list[Group]:
        """Return the groups of two or more nodes. In a group, each node follows its inputs."""
        unit, dependencies = self.unit, self.dependencies
        fusible = FusibleOps(unit, self.native)
        for node in unit.graph.op_nodes():
            if not fusible.may_be(node):
                continue
            edges = node.input_edges()
            candidate = fusible.find(node, edges)
            if candidate is not None:
                self.candidates[node.id] = candidate
                self.edges[node.id] = edges
        if len(self.candidates) < 2:
            return []
        if has_control_flow(unit):
            flow = flow_of(unit)
            order = loops_whole(unit.graph)
            for node in order:
                frame = flow.frames.at(node)
                self._visit(node, (frame, flow.guards[node.id]))
                dependencies.note_loop(node, frame)
        else:
            order = list(topological_order(unit.graph))
            for node in order:
                self._visit(node, None)
        groups = [
            group for group in dependencies.groups if group.into is None and len(group.nodes) > 1
        ]
        mixed = [group for group in groups if group.has_taken_in]
        position = {node.id: index for index, node in enumerate(order)} if mixed else {}
        for group in mixed:
            group.nodes.sort(key=lambda node: position[node.id])
        return groups

    def _visit(self, node: Node, place: Hashable) -> None:
        """Add a node to the group of one of its inputs or to a new group. If the node can't be
        fused, only record its dependencies.

        Args:
          place: the loop and guard, which all nodes of a group have in common, or None if the graph
            has no control flow.
        """
        candidate = self.candidates.get(node.id)
        dependencies = self.dependencies
        if candidate is None:
            dependencies.note_alone(node)
            return
        edges = self.edges[node.id]
        if len(edges) < len(node._in):
            edges += [edge for edge in node._in if edge.is_control]
        reach_by_edge, groups, reach = dependencies.note(node, edges)
        space = candidate.space
        key = (node.assigned_device, place)
        barred = self._barred_groups(edges, groups, reach_by_edge)
        is_native = self.native[node.assigned_device]
        group, has_taken_in = _join(groups, barred, key, space.sizes, is_native)
        if group is None:
            group = dependencies.new_group(key, space.sizes)
        group.is_elementwise &= space.is_elementwise and equal_sizes(space.sizes, group.sizes)
        dependencies.put(node, reach, group, has_taken_in)

    def _barred_groups(
        self, edges: Sequence[Edge], groups: Sequence[Group | None], reach_by_edge: Sequence[int]
    ) -> int:
        """Return the bits of the groups that a node reads but must not join.

        A node must not join a group if a path from the group to the node leads through other groups
        or nodes. It must not join either if it reads a value that is complete only at the end of
        the group's kernel.

        Args:
          groups: for each edge into the node, the group of its source.
          reach_by_edge: for each edge into the node, the bits of that group and of all groups on
            which it depends.
        """
        if len(edges) == 1:  # there is no path except this edge
            (group,) = groups
            return 0 if group is None or self._is_inside(edges[0]) else group.bits
        barred = 0
        reach_by_source: dict[Group | Node, int] = {}
        for edge, group, reach in zip(edges, groups, reach_by_edge):
            source = edge.src if group is None else group
            reach_by_source[source] = reach_by_source.get(source, 0) | reach
            if group is not None and not self._is_inside(edge):
                barred |= group.bits
        reached = 0
        for reach in reach_by_source.values():
            barred |= reached & reach
            reached |= reach
        return barred

    def _is_inside(self, edge: Edge) -> bool:
        """Return whether ops of the same kernel may read the value of the edge."""
        if edge.is_control:
            return True
        return self.candidates[edge.src.id].space.inside[edge.src_output]


def _join(
    groups: Sequence[Group | None], barred: int, key: Hashable, sizes: Shape, is_native: bool
) -> tuple[Group | None, bool]:
    """Merge the groups that a node may join. Return the resulting group, or None if there is none,
    and whether several groups were merged.

    Args:
      groups: the groups of the node's inputs.
      barred: the bits of the groups that the node must not join.
      sizes: the node's iteration space.
    """
    joined: Group | None = None
    has_taken_in = False
    for group in groups:
        if group is None or group is joined or group.key != key or group.bits & barred:
            continue
        if group.into is not None:  # it was merged into `joined` already
            continue
        common = _common(group.sizes, sizes, is_native)
        if common is None or (joined is not None and _depend(joined, group)):
            continue
        if joined is None:
            joined = group
        else:
            joined.take_in(group)
            has_taken_in = True
        sizes = joined.sizes = common
    return joined, has_taken_in


def _depend(one: Group, other: Group) -> bool:
    """Return whether one of the two groups depends on the other group."""
    return bool(one.above & other.bits or other.above & one.bits)


def _common(one: Shape, other: Shape, native: bool) -> Shape | None:
    """Return an iteration space that covers both spaces, or None if no single kernel can cover
    both.

    A native kernel may combine values that have one number per row with values that have whole
    rows.
    """
    if one == other:
        return one
    if not native or len(one) != len(other) or not one or one[:-1] != other[:-1]:
        return None
    return max(one, other) if 1 in (one[-1], other[-1]) else None
