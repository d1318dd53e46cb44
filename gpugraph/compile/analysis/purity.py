"""Purity: which ops only compute their outputs, and always the same from the same inputs."""

from __future__ import annotations

from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_OF_THE_PROGRAM = {"PyFuncStateless"}
"""Python functions are called exactly as often as the program states, and in its runs."""
_CLASSES = (NodeClass.OTHER, NodeClass.CONSTANT, NodeClass.IDENTITY, NodeClass.METADATA)


def is_pure(node: Node) -> bool:
    """Return whether it is irrelevant how often, or when, a node runs, apart from its inputs."""
    return (
        node.node_class in _CLASSES
        and not node.op_def.is_stateful
        and node.type not in _OF_THE_PROGRAM
    )
