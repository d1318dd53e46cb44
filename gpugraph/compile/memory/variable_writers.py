"""The positions in the order where variables are written."""

from __future__ import annotations

from collections.abc import Mapping

from gpugraph.compile.unit.compile_unit import TensorId, Unit, variable_key
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS

NO_KERNEL = {NodeClass.ARG, NodeClass.RETVAL, NodeClass.SEND, NodeClass.RECV}
"""Classes of nodes without a kernel."""


def variable_writers(
    unit: Unit, references: Mapping[TensorId, Node]
) -> dict[tuple[str, str], list[int]]:
    """Return, for each variable, the positions of the nodes that write it, in ascending order.

    While a node waits for other runs, these runs may write a resource variable. So a node that
    waits is treated as a writer of every resource variable.
    """
    writers: dict[tuple[str, str], list[int]] = {}
    by_handle = {
        variable_key(variable)
        for variable in references.values()
        if variable.attrs.get("_by_handle")
    }
    for position, node in enumerate(unit.order if references else ()):
        if by_handle and node.node_class not in NO_KERNEL and reference(unit.kernel(node)).waits:
            for key in by_handle:
                writers.setdefault(key, []).append(position)
        decl = DECLARATIONS.get(node.type)
        for slot in decl.memory.writes if decl is not None else ():
            edge = node.input_edge(slot)
            variable = references.get((edge.src.id, edge.src_output))
            if variable is not None:
                writers.setdefault(variable_key(variable), []).append(position)
    return writers
