"""Recomputation: forward values are recomputed where gradients need them, instead of being kept in
memory.

  forward    x -> a = f(x) -> b = g(a) -> ...                 a and b live until their gradients
  late       dy -> [f(x) -> g(a)]' -> their gradients         x lives, a and b only briefly

`RewriterConfig.memory_optimization` selects one of two degrees. The degree "cheap ops" recomputes
elementwise ops, reductions, slices and similar ops if their inputs are kept anyway. Usually the
recomputing ops are fused with the gradient that reads them. The degree "all ops" also recomputes
matrix products and convolutions, starting from checkpoints. A checkpoint is a depth of the forward
pass where few bytes are live. These bytes are kept, and all ops between two checkpoints are
recomputed as one segment.

Values are recomputed for "late" nodes. As in Grappler, the name of a late node starts with
`memory_optimizer_target_node_name_scope`, by default `gradients/`. A late node is also deeper than
all forward nodes that gradients read. The trigger of a late node is its deepest late input. A
recomputing node must not run too early, so it waits (through a control input) for the trigger of
its first reader. It runs the same kernel on the same values. So the results are equal bit by bit,
unless fusion forms other kernels. Ops with a state, which include random ops, are never recomputed.

In a graph with branches and loops, each place (the ops with one loop and one guard,
`compile/analysis/places.py`) is treated separately. The forward ops of a branch are recomputed for
gradients with the same guard. The forward ops of a loop are recomputed for gradients of the same
iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from gpugraph.base.dtypes import OBJECTS
from gpugraph.compile.analysis.places import GuardedPlace, places
from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import RECOMPUTE_HINT, Unit
from gpugraph.graph.nodes.node_and_edge import FORWARDING, Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.graph.op_def import RECOMPUTED, RECOMPUTES
from gpugraph.memory import human_readable_bytes
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.op_expressions import expressions_of

CHEAP, ALL, HINTED = 1, 2, 3
"""Degrees of recomputation: cheap ops, all ops, or only those with the attr `_recompute_hint`. No
recomputation is 0.
"""

_DEGREES = {CHEAP: "cheap ones", ALL: "all between checkpoints", HINTED: "what hints name"}

SCOPE = "gradients/"
SMALL = 1 << 12
"""The minimum size in bytes of a tensor that is recomputed; smaller tensors are kept."""

_CHEAP_TYPES = {"Transpose", "Slice", "StridedSlice", "ConcatV2", "Pad", "Split", "Unpack"}
_ALWAYS_THERE = {NodeClass.CONSTANT, NodeClass.VARIABLE, NodeClass.ARG}
_FLOWING = {NodeClass.MERGE, NodeClass.LOOP_COND, *FORWARDING}
_NO_OPS = {*_ALWAYS_THERE, *_FLOWING, NodeClass.RETVAL}


@compile_pass()
def recompute(unit: Unit) -> Outcome:
    """Add copies of forward ops that recompute values for the gradients. This applies to
    `recompute_grad` functions, and to the ops selected by `unit.recomputation`.
    """
    is_marked = any(RECOMPUTES in node.attrs for node in unit.graph.op_nodes())
    if not unit.recomputation and not is_marked:
        return "not requested: memory_optimization", ()
    copies: list[Node] = []
    reasons: list[str] = []
    if is_marked:
        reasons.append("by recompute_grad")
        for place in places(unit):
            copies += [node for call in _calls(place) for node in _recomputed(unit, call)]
    if unit.recomputation:
        reasons.append(_DEGREES[unit.recomputation])
        copies += [node for passes in _all_passes(unit) for node in _recomputed(unit, passes)]
    total = sum(_bytes(unit, node) for node in copies)
    lines = [f"{copy.type} {copy.name}" for copy in copies]
    size, reason = human_readable_bytes(total), "; ".join(reasons)
    return f"{len(lines)} ops, {size}, are computed again: {reason}", lines


def _recomputed(unit: Unit, passes: _Passes) -> list[Node]:
    """Add a copy of each forward node whose value gradients recompute. Return the copies."""
    if not passes.late:
        return []
    return _Copies(unit, passes, _Choice(unit, passes)).add()


def _calls(place: GuardedPlace) -> list[_Passes]:
    """Return an object for each call of a function that is decorated with `recompute_grad`. The ops
    of the call are its forward nodes, and the ops of the call's gradient are its late nodes.
    """
    forward: dict[int, list[Node]] = {}
    late: dict[int, set[int]] = {}
    for node in place.nodes:
        if RECOMPUTES in node.attrs and node.node_class not in _FLOWING:
            late.setdefault(node.attrs[RECOMPUTES], set()).add(node.id)
        elif RECOMPUTED in node.attrs:
            forward.setdefault(node.attrs[RECOMPUTED], []).append(node)
    return [
        _Passes(place, nodes, late[call], max(place.depth[node.id] for node in nodes), True)
        for call, nodes in forward.items()
        if call in late
    ]


def _all_passes(unit: Unit) -> Iterator[_Passes]:
    """Yield the forward nodes and the late nodes of each place (the nodes with one loop and one
    guard).
    """
    scope = unit.target.config.graph_options.rewrite_options.memory_optimizer_target_node_name_scope
    all_places = places(unit)
    named = _named(unit, scope or SCOPE)
    end_of = {id(place.depth): _end(unit, place, named) for place in all_places}
    for place in all_places:
        end = end_of[id(place.depth)]
        behind = [node for node in place.nodes if place.depth[node.id] > end]
        late = {node.id for node in behind if node.id in named and node.node_class not in _FLOWING}
        forward = [node for node in place.nodes if place.depth[node.id] <= end]
        yield _Passes(place, forward, late, end)


def _named(unit: Unit, scope: str) -> set[int]:
    """Return the ids of the nodes whose names are in the name scope of gradients."""
    nodes = unit.graph.op_nodes()
    return {node.id for node in nodes if node.name.startswith(scope) or f"/{scope}" in node.name}


def _end(unit: Unit, place: GuardedPlace, named: set[int]) -> int:
    """Return the maximum depth of the nodes of a place whose outputs gradients read, or -1 if there
    are no such nodes.
    """
    depth = place.depth
    taken = [
        depth[edge.src.id]
        for node in unit.graph.op_nodes()
        if node.id in named and node.id in depth
        for edge in node.input_edges()
        if edge.src.id not in named and edge.src.id in depth
    ]
    return max(taken, default=-1)


class _Passes:
    """The forward nodes of one place, up to depth `end`, and the ids of its late nodes.

    A place consists of the nodes with the same loop and the same guard. Late nodes are the nodes of
    gradients that read the recomputed values.

    Args:
      place: the place.
      forward: its forward nodes.
      late: the ids of its late nodes.
      end: the depth of the last forward node.
      is_call: whether the program requests, through `recompute_grad`, that all forward nodes are
        recomputed.
    """

    def __init__(
        self,
        place: GuardedPlace,
        forward: list[Node],
        late: set[int],
        end: int,
        is_call: bool = False,
    ) -> None:
        self.order, self.depth, self.guard = place.nodes, place.depth, place.guard
        self.forward, self.late, self.end, self.is_call = forward, late, end, is_call

    def _is_behind(self, node: Node) -> bool:
        return self.depth[node.id] > self.end

    def _is_early(self, node: Node) -> bool:
        return node.node_class not in _FLOWING and not self._is_behind(node)

    def late_users(self, node: Node) -> Iterator[Edge]:
        """Yield the edges through which late nodes (nodes of gradients) read the outputs of a node,
        or views of its outputs.
        """
        for edge in node._out:
            if edge.is_control:
                continue
            if edge.dst.id in self.late:
                yield edge
            elif _is_view(edge.dst) and edge.dst.id in self.depth and self._is_early(edge.dst):
                yield from self.late_users(edge.dst)


class _Choice:
    """The choice of the forward nodes to recompute."""

    def __init__(self, unit: Unit, passes: _Passes) -> None:
        self.unit = unit
        self.passes = passes
        self.kept = set() if passes.is_call else self._checkpoints()
        self.chosen: set[int] = set()
        for node in passes.forward:
            if self._may_be(node) and (self._is_asked(node) or self._are_inputs_there(node)):
                self.chosen.add(node.id)

    def _may_be(self, node: Node) -> bool:
        if node.node_class in _NO_OPS or node.id in self.kept or not is_pure(node):
            return False
        if node.id in self.unit.failures:
            return False
        if not node.output_types or any(_is_no_number(dtype) for dtype in node.output_types):
            return False
        if any(edge.src.output_types[edge.src_output].is_ref_dtype for edge in node.input_edges()):
            return False
        if self._is_asked(node) or self.unit.recomputation == ALL:
            return True
        return self.unit.recomputation == CHEAP and self._is_cheap(node)

    def _is_asked(self, node: Node) -> bool:
        """Return whether the program requests that a node is recomputed, through `recompute_grad`
        or `_recompute_hint`.
        """
        return self.passes.is_call or RECOMPUTE_HINT in node.attrs

    def _is_cheap(self, node: Node) -> bool:
        device_type = self.unit.device_types[node.assigned_device]
        return (
            node.type in _CHEAP_TYPES
            or _is_view(node)
            or expressions_of(node.type, node.attrs, device_type) is not None
        )

    def _are_inputs_there(self, node: Node) -> bool:
        return all(self._is_there(edge.src) for edge in node.input_edges())

    def _is_there(self, source: Node) -> bool:
        """Return whether a copy that recomputes a value can read a tensor without extending the
        lifetime of the tensor.
        """
        if self.unit.recomputation == ALL or source.id in self.chosen:
            return True
        if (
            source.node_class in _ALWAYS_THERE
            or _is_read(source)
            or _bytes(self.unit, source) < SMALL
        ):
            return True
        return next(self.passes.late_users(source), None) is not None

    def _checkpoints(self) -> set[int]:
        """Return the ids of the nodes whose outputs are live at a checkpoint. These outputs are
        kept.
        """
        end = self.passes.end
        born, dies, needed = [0] * (end + 2), [0] * (end + 2), [0] * (end + 2)
        spans: list[tuple[int, int, int]] = []
        for node in self.passes.forward:
            if node.node_class in _ALWAYS_THERE or _is_read(node):
                continue
            depth, size = self.passes.depth[node.id], _bytes(self.unit, node)
            data = [edge.dst.id for edge in node._out if not edge.is_control]
            uses = [self.passes.depth.get(user, end + 1) for user in data]
            last = max([depth, *(use for use in uses if use <= end)])
            born[depth] += size
            dies[last] += size
            spans.append((node.id, depth, last))
            if next(self.passes.late_users(node), None) is not None:
                needed[depth] += size
        live = list(accumulate(b - d for b, d in zip(born, dies)))
        cuts = _cuts(live, needed)
        return {
            key
            for key, first, last in spans
            if any(first <= cut < last for cut in cuts if first <= cut)
        }


def _cuts(live: Sequence[int], needed: Sequence[int]) -> list[int]:
    """Return the depths of the checkpoints. At each of them, the number of live bytes has a local
    minimum. This minimum is at most a quarter of the bytes that gradients need from the preceding
    segment.
    """
    cuts: list[int] = []
    segment = 0
    for depth in range(1, len(live) - 1):
        segment += needed[depth]
        is_lowest = live[depth - 1] >= live[depth] <= live[depth + 1]
        if is_lowest and 0 < 4 * live[depth] <= segment:
            cuts.append(depth)
            segment = 0
    return cuts


class _Copies:
    """The copies that recompute values. Each chosen node has at most one copy."""

    def __init__(self, unit: Unit, passes: _Passes, choice: _Choice) -> None:
        self.unit = unit
        self.passes = passes
        self.choice = choice
        self.copy_of: dict[int, Node] = {}
        self.trigger_of: dict[int, Node] = {}

    def add(self) -> list[Node]:
        """Add the copies, and make the late nodes (nodes of gradients) read the copies. Return the
        copies.
        """
        uses = [edge for node in self.passes.order for edge in self._uses(node)]
        self._find_triggers(uses)
        for node in self.passes.forward:
            if node.id in self.trigger_of:
                self._copy(node)
        for edge in uses:
            self.unit.graph.update_edge(
                self.copy_of[edge.src.id], edge.src_output, edge.dst, edge.dst_input
            )
        return list(self.copy_of.values())

    def _uses(self, node: Node) -> list[Edge]:
        """Return the input edges of a node that come from nodes to be recomputed. Return an empty
        list if the node is not a late node (a node of the gradients), or if it has no trigger.
        """
        if node.id not in self.passes.late or self._trigger(node) is None:
            return []
        chosen = self.choice.chosen
        return [edge for edge in node.input_edges() if edge.src.id in chosen]

    def _trigger(self, node: Node) -> Node | None:
        """Return the deepest input of a node that is behind all forward nodes, or None if there is
        no such input. The recomputed values that the node reads are computed only after this input.
        """
        depth, end = self.passes.depth, self.passes.end
        late = [edge.src for edge in node.input_edges() if depth.get(edge.src.id, -1) > end]
        if not late and self.passes.is_call:
            late = [source for source in node.control_inputs if depth.get(source.id, -1) > end]
        return max(late, key=lambda source: self.passes.depth[source.id], default=None)

    def _find_triggers(self, uses: Sequence[Edge]) -> None:
        """Set the trigger of each copy to the trigger of its readers that has the smallest
        depth.
        """
        for edge in uses:
            trigger = self._trigger(edge.dst)
            assert trigger is not None
            self._note(edge.src, trigger)
        for node in reversed(self.passes.forward):
            if node.id in self.trigger_of:
                for edge in node.input_edges():
                    if edge.src.id in self.choice.chosen:
                        self._note(edge.src, self.trigger_of[node.id])

    def _note(self, node: Node, trigger: Node) -> None:
        known = self.trigger_of.setdefault(node.id, trigger)
        if self.passes.depth[trigger.id] < self.passes.depth[known.id]:
            self.trigger_of[node.id] = trigger

    def _copy(self, node: Node) -> None:
        unit = self.unit
        sources = [
            (self.copy_of.get(edge.src.id, edge.src), edge.src_output)
            for edge in node.input_edges()
        ]
        copy = self.copy_of[node.id] = unit.add_copy(node, sources, "recomputed")
        if self.passes.guard:
            unit.add_control_inputs(copy, node.control_inputs)
        if not any(source in self.copy_of.values() for source, _ in sources):
            unit.add_control_inputs(copy, [self.trigger_of[node.id]])


def _is_view(node: Node) -> bool:
    decl = DECLARATIONS.get(node.type)
    return decl is not None and bool(decl.memory.view)


def _is_read(node: Node) -> bool:
    """Return whether a node reads a variable: its only input is a reference."""
    edges = node.input_edges()
    return len(edges) == 1 and edges[0].src.output_types[edges[0].src_output].is_ref_dtype


def _is_no_number(dtype: object) -> bool:
    base = getattr(dtype, "base_dtype", dtype)
    return base in OBJECTS or bool(getattr(dtype, "is_ref_dtype", False))


def _bytes(unit: Unit, node: Node) -> int:
    """Return the total size in bytes of a node's outputs, not counting views and outputs of unknown
    size.
    """
    if _is_view(node):
        return 0
    sizes = [shape.num_elements() or 0 for shape in unit.shapes[node.id]]
    return sum(n * dtype.base_dtype.itemsize for n, dtype in zip(sizes, node.output_types))
