"""Purity: an op is pure if it has no effect except its outputs and computes equal outputs from
equal inputs.
"""

from __future__ import annotations

from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_OF_THE_PROGRAM = {"PyFuncStateless"}
"""Stateless ops that call Python functions. They run exactly as often as the client's graph
requires, and never at compile time.
"""
_CLASSES = (NodeClass.OTHER, NodeClass.CONSTANT, NodeClass.IDENTITY, NodeClass.METADATA)


def is_pure(node: Node) -> bool:
    """Return whether the outputs of a node never change if it runs repeatedly or at another
    time.
    """
    return (
        node.node_class in _CLASSES
        and not node.op_def.is_stateful
        and node.type not in _OF_THE_PROGRAM
    )
