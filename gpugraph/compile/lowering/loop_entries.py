"""Loop entries: removes control edges by which a loop's input waits for a result of the same loop.

TensorFlow starts a loop variable as soon as its first value is available, even if the other
variables have already left the loop. Gradients built under `tf.control_dependencies` on a loop's
result rely on this early start. Such a gradient adds a counter to the forward loop, and the
counter's initial value has a control input from the loop's result. Here a loop is one step, which
starts with all its variables, so this control input would close a cycle. Therefore this pass
removes the control input, and adds it to the readers of the counter's last value. The pass changes
only ops whose results do not depend on when they run: the constant with which the counter starts,
and ops in the loop that read no variable and have no state.

    Exit --> [assign] - - -> count: a constant --> Enter          removed, and in its place:
                  |                                  ...
                  + - - - - - - - - -> [backward] <- Exit         assign before backward
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpugraph.graph.nodes.loop_frames import Frame, Frames, loop_frames
from gpugraph.graph.nodes.node_and_edge import Edge, Node, NodeClass
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph


class _Wait(NamedTuple):
    """A control edge into an op of a loop, or into a constant that is a loop variable's initial
    value.
    """

    edge: Edge
    source: Node
    """The operation that must run first, outside of the loop."""
    enter: Node
    """The Enter through which the constant (or the op's control dependency) enters the loop."""


def start_loops_early(graph: RuntimeGraph) -> None:
    """Find control edges that make an input of a loop wait for a result of the same loop. Move
    these control edges to the readers of the loop's results.
    """
    waits = list(_waits(graph))
    if not waits:
        return
    frames = loop_frames(graph)
    later: dict[Frame, set[Node]] = {}
    for wait in waits:
        frame = frames.at(wait.enter)
        if frame not in later:
            later[frame] = _following(frame.exits)
        if wait.source in later[frame]:
            _move(graph, frames, wait)


def _waits(graph: RuntimeGraph) -> Iterator[_Wait]:
    for enter in graph.op_nodes():
        if enter.node_class is not NodeClass.ENTER:
            continue
        source = next(edge.src for edge in enter._in if not edge.is_control)
        if source.node_class is NodeClass.CONSTANT:
            for edge in source._in:
                if edge.src.is_op:
                    yield _Wait(edge, edge.src, enter)
        for edge in [*_only_waited_for(enter)]:
            yield _Wait(edge, source, enter)


def _only_waited_for(enter: Node) -> Iterator[Edge]:
    """If nothing reads the value of an Enter, yield its control edges to ops of its loop."""
    copies = [edge.dst for edge in enter._out]
    if all(copy.is_identity and all(edge.is_control for edge in copy._out) for copy in copies):
        for copy in copies:
            yield from (edge for edge in copy._out if _is_pure(edge.dst))


def _is_pure(node: Node) -> bool:
    """Return whether the result of a node does not depend on when it runs, because it reads no
    variable and has no state.
    """
    sources = [(edge.src, edge.src_output) for edge in node._in if not edge.is_control]
    reads = any(source.output_types[slot].is_ref_dtype for source, slot in sources)
    return node.is_op and not reads and not node.op_def.is_stateful


def _following(nodes: list[Node], within: Frames | None = None) -> set[Node]:
    """Return all nodes that depend on these nodes in the same iteration of the surrounding loops.

    Args:
      within: if it is not None, only data edges are followed, including edges into the next
        iteration, and only nodes in the frame of `nodes` are returned.
    """
    seen, stack = set(nodes), list(nodes)
    while stack:
        for edge in stack.pop()._out:
            after = edge.dst
            if within is None:
                skipped = edge.is_back_edge
            else:
                skipped = edge.is_control or within.at(after) is not within.at(nodes[0])
            if after not in seen and after.is_op and not skipped:
                seen.add(after)
                stack.append(after)
    return seen


def _move(graph: RuntimeGraph, frames: Frames, wait: _Wait) -> None:
    """Replace the control edge by control edges to the nodes outside the loop that read a result
    computed from the op.
    """
    op, copy = wait.edge.dst, wait.edge.src
    entered = op if frames.at(op) is frames.at(wait.enter) else wait.enter
    for node in _following([entered], frames):
        if node.node_class is NodeClass.EXIT:
            for edge in [*node._out]:
                if edge.dst.is_op:
                    graph.add_control_edge(wait.source, edge.dst)
    graph.remove_edge(wait.edge)
    if copy is not wait.source and not copy._out:
        graph.remove_node(copy)
        if not wait.enter._out:
            graph.remove_node(wait.enter)
