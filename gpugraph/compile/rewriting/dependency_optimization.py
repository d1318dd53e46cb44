"""Dependency optimization: removes ops that have no effect and whose only outputs are control
edges.

The function `tuple`, which gradients use, waits until the gradients of all inputs are computed
before it returns a gradient. So an op may be a control input although no op reads its results. If
such an op has no effect, it is removed, and its inputs become control inputs of the ops that waited
for it. As in Grappler, `RewriterConfig.dependency_optimization` controls this pass.

In a loop that changes only its own stacks and TensorArrays, nothing can observe whether a `tuple`
waits for pure ops. So these control inputs are removed from the NoOp of the `tuple`, and the
gradients after it may be fused into one kernel or into a matrix product. Outside of such loops, the
NoOp is not changed, since it ensures that no variable is written before all gradients have read it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.analysis.flow_analysis import flow_of
from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.guards import ALWAYS, Flow, Guard
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_ALWAYS_THERE = {NodeClass.CONSTANT, NodeClass.ARG, NodeClass.VARIABLE}
_MAX_EDGES = 16
"""The maximum number of control edges that may replace an op."""


@compile_pass("dependency_optimization")
def dependencies(unit: Unit) -> Outcome:
    """Remove ops that have only control outputs, and control edges that have no observable
    effect.
    """
    needed = {node.id for node in (*unit.roots, *unit.args)}
    lines = _open_barriers(unit, needed)
    if any(node.id not in needed and _is_waited_for(node) for node in unit.graph.op_nodes()):
        for node in reversed(list(topological_order(unit.graph))):
            if node.id not in needed and _is_waited_for(node) and _is_idle(node):
                lines.append(f"{node.name} ({node.type}) has only control outputs")
                _pass_by(unit, node)
    return f"{len(lines)} redundant ops or control dependencies were removed", lines


def _is_waited_for(node: Node) -> bool:
    """Return whether the node has outgoing edges, all of them control edges."""
    for edge in node._out:
        if edge.src_output >= 0:
            return False
    return bool(node._out)


def _is_idle(node: Node) -> bool:
    """Return whether the node can be removed without any effect and without adding many control
    edges.
    """
    decl = DECLARATIONS.get(node.type)
    if decl is None or node.node_class not in (NodeClass.OTHER, NodeClass.IDENTITY):
        return False
    if node.type == "NoOp" or decl.memory.writes or not is_pure(node):
        return False
    if any(edge.src.output_types[edge.src_output].is_ref_dtype for edge in node.input_edges()):
        return False  # the read must fail if the variable has no value
    plain = (NodeClass.OTHER, NodeClass.IDENTITY, *_ALWAYS_THERE)
    if any(edge.src.node_class not in plain for edge in node._in if edge.src.is_op):
        return False
    followers = [edge.dst for edge in node._out]
    if not all(follower.is_op for follower in followers):
        return False
    return len(node._in) * len(followers) <= _MAX_EDGES


def _pass_by(unit: Unit, node: Node) -> None:
    sources = list(dict.fromkeys(_waited_for(node)))
    for edge in list(node._out):
        for source in sources:
            unit.graph.add_control_edge(source, edge.dst)
    unit.remove(node)


def _waited_for(node: Node) -> Iterator[Node]:
    """Yield the inputs for which the successors of a removed node must wait. If an input is a
    constant, feed or variable, yield its control inputs instead.
    """
    for edge in node._in:
        if edge.src.node_class in _ALWAYS_THERE:
            yield from _waited_for(edge.src)
        elif edge.src.is_op:
            yield edge.src


# -- barriers in loops

_OF_LOOPS = ("Stack", "TensorArray")
"""Prefixes of the op types whose state only their loop uses until it ends. Data inputs order the
ops on such state, so these ops need no barrier.
"""


def _open_barriers(unit: Unit, needed: set[int]) -> list[str]:
    """Remove control edges from pure ops to barriers in loops, and then barriers without inputs. A
    barrier is the NoOp of a `tuple`. Return report lines.
    """
    nodes = unit.graph.op_nodes()
    barriers = [node for node in nodes if node.type == "NoOp" and node.id not in needed]
    if not barriers or not any(node.is_enter for node in nodes):
        return []
    try:
        flow = flow_of(unit)
    except InvalidArgumentError:
        return []  # a later pass raises the error
    writing = _writing(unit, flow)
    lines = []
    for barrier in barriers:
        if flow.frames.at(barrier) in writing:
            continue
        sources = [edge.src.name for edge in list(barrier._in) if _try_remove(unit, flow, edge)]
        if sources:
            lines.append(f"{barrier.name} in a loop does not wait for {', '.join(sources)}")
        if not barrier._in:
            unit.remove(barrier)
    return lines


def _writing(unit: Unit, flow: Flow) -> set[Frame]:
    """Return the root frame, and the frames of loops that change any state other than stacks and
    TensorArrays. This includes loops with an inner loop that changes such state.
    """
    frames = {flow.frames.root}
    for node in unit.graph.op_nodes():
        if node.op_def.is_stateful and not node.type.startswith(_OF_LOOPS):
            frames.update(flow.frames.at(node).up())
    return frames


def _try_remove(unit: Unit, flow: Flow, edge: Edge) -> bool:
    """Remove an edge from a pure op to a barrier, and return whether it was removed.

    The edge is kept if its removal would move the barrier's successors to another loop or change
    their guard. The op must have data outputs, so that its value is used elsewhere.
    """
    source, barrier = edge.src, edge.dst
    if not is_pure(source) or all(out.is_control for out in source._out):
        return False
    alive = flow.guards.get(source.id, ALWAYS)
    rest = _alive_by(flow, [other for other in barrier._in if other is not edge])
    for out in barrier._out:
        inputs = [other for other in out.dst._in if other.src is not barrier]
        frames = [flow.frames.at(other.src) for other in inputs]
        is_inside = flow.frames.at(barrier) in frames
        if not is_inside or not alive <= rest | _alive_by(flow, inputs):
            return False
    unit.graph.remove_control_edge(edge)
    return True


def _alive_by(flow: Flow, edges: list[Edge]) -> Guard:
    """Return the guard under which the sources of all edges are alive."""
    taken = [edge for edge in edges if edge.src.is_op and not edge.is_back_edge]
    return ALWAYS.union(*(flow.of_output(edge.src, edge.src_output) for edge in taken))
