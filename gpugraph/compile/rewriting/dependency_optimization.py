"""Dependencies: ops that are only waited for, and change nothing, need not run.

A gradient's `tuple` waits for the gradients of all inputs before it gives any; an op whose
results no op takes is there only to be waited for. Where it changes nothing, what waits for it
waits for its inputs instead. `RewriterConfig.dependency_optimization`, as in Grappler.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpugraph.compile.analysis.purity import is_pure
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS

_ALWAYS_THERE = {NodeClass.CONSTANT, NodeClass.ARG, NodeClass.VARIABLE}
_MOST = 16
"""Control edges that may take the place of one op."""


@compile_pass("dependency_optimization")
def dependencies(unit: Unit) -> Outcome:
    """Removes such ops from the graph."""
    needed = {node.id for node in (*unit.roots, *unit.args)}
    lines = []
    if any(node.id not in needed and _is_waited_for(node) for node in unit.graph.op_nodes()):
        for node in reversed(list(topological_order(unit.graph))):
            if node.id not in needed and _is_waited_for(node) and _is_idle(node):
                lines.append(f"{node.name} ({node.type}) is only waited for")
                _pass_by(unit, node)
    return f"{len(lines)} ops whose results are not taken are not run", lines


def _is_waited_for(node: Node) -> bool:
    """Whether there is nothing but control edges from it."""
    for edge in node._out:
        if edge.src_output >= 0:
            return False
    return bool(node._out)


def _is_idle(node: Node) -> bool:
    """Whether not to run it changes nothing else."""
    decl = DECLARATIONS.get(node.type)
    if decl is None or node.node_class not in (NodeClass.OTHER, NodeClass.IDENTITY):
        return False
    if node.type == "NoOp" or decl.writes or not is_pure(node):
        return False
    if any(edge.src.output_types[edge.src_output].is_ref_dtype for edge in node.input_edges()):
        return False  # it fails where the variable has no value
    plain = (NodeClass.OTHER, NodeClass.IDENTITY, *_ALWAYS_THERE)
    if any(edge.src.node_class not in plain for edge in node._in if edge.src.is_op):
        return False
    followers = [edge.dst for edge in node._out]
    if not all(follower.is_op for follower in followers):
        return False
    return len(node._in) * len(followers) <= _MOST


def _pass_by(unit: Unit, node: Node) -> None:
    sources = list(dict.fromkeys(_waited_for(node)))
    for edge in list(node._out):
        for source in sources:
            unit.graph.add_control_edge(source, edge.dst)
    unit.remove(node)


def _waited_for(node: Node) -> Iterator[Node]:
    """What a node waits for that takes its time: a constant is there, and may wait for others."""
    for edge in node._in:
        if edge.src.node_class in _ALWAYS_THERE:
            yield from _waited_for(edge.src)
        elif edge.src.is_op:
            yield edge.src
