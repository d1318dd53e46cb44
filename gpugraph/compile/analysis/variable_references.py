"""References: the variable to which each tensor of a reference dtype refers.

An op that writes through a reference returns the reference. An op that only forwards a tensor, such
as Identity, returns a reference if it receives one. A RefMerge refers to a variable if all of its
inputs refer to that variable. Otherwise its output is a value, and no op can assign to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpugraph.compile.unit.compile_unit import TensorId, variable_key
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS


def references(order: Iterable[Node]) -> dict[TensorId, Node]:
    """Return the VariableV2 node of each tensor that is a reference.

    Args:
      order: all nodes, each after its inputs.
    """
    nodes = [node for node in order if any(dtype.is_ref_dtype for dtype in node.output_types)]
    doubtful: set[int] = set()
    while True:
        variables = _walk(nodes, doubtful)
        changing = {node.id for node in nodes if _changes_variable(node, variables)}
        if not changing:
            return variables
        doubtful |= changing


def _walk(nodes: Iterable[Node], doubtful: set[int]) -> dict[TensorId, Node]:
    variables: dict[TensorId, Node] = {}
    for node in nodes:
        if node.node_class is NodeClass.VARIABLE:
            variables[node.id, 0] = node
        elif node.node_class is NodeClass.MERGE and node.id not in doubtful:
            known = [
                variables.get((edge.src.id, edge.src_output))
                for edge in node.input_edges()
                if not edge.is_back_edge
            ]
            first = known[0]
            if first is not None and all(_same(first, other) for other in known):
                variables[node.id, 0] = first
        else:
            decl = DECLARATIONS.get(node.type)
            for output, source in decl.memory.view.items() if decl is not None else ():
                edge = node.input_edge(source)
                variable = variables.get((edge.src.id, edge.src_output))
                if variable is not None and node.output_types[output].is_ref_dtype:
                    variables[node.id, output] = variable
    return variables


def _changes_variable(node: Node, variables: dict[TensorId, Node]) -> bool:
    """Return whether a loop's Merge refers to one variable at first, and to another variable or to
    none after an iteration.
    """
    variable = variables.get((node.id, 0))
    if node.node_class is not NodeClass.MERGE or variable is None:
        return False
    backs = [edge for edge in node._in if edge.is_back_edge]
    return any(not _same(variable, variables.get((e.src.id, e.src_output))) for e in backs)


def _same(variable: Node, other: Node | None) -> bool:
    return other is not None and variable_key(other) == variable_key(variable)
