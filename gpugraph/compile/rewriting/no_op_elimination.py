"""No-op elimination: ops without effect become Identities, which are views and need no step.

  Sum, Mean, Prod, Max and Min over no axes; AddN of one input; Reshape to the same shape;
  Transpose in the same order; Cast to the same dtype; a push onto a stack from which no op pops.

Gradients of broadcasting ops contain many such ops. The pass needs known shapes, so it runs after
the constant folding. Arithmetic ops are handled by `arithmetic_simplification`. An op keeps its
name, so that messages still name the user's op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.base.shapes import equal_sizes
from gpugraph.compile.analysis.shape_inference import container_of
from gpugraph.compile.rewriting.node_replacement import Replacing, known_value
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node


@compile_pass("arithmetic_optimization")
def simplify(unit: Unit) -> Outcome:
    """Replace ops without effect by Identities, and update `unit.roots` and `unit.shapes`."""
    replacing = Replacing(unit)
    useless = _pushes_in_vain(unit)
    for node in unit.graph.op_nodes():
        why = _CHANGES_NOTHING.get(node.type)
        reason = why(unit, node) if why is not None else ""
        slot = 0
        if not reason and node in useless:
            reason, slot = "onto a stack from which no op pops", 1
        if reason:
            edge = node.input_edge(slot)
            replacing.put_identity(node, (edge.src, edge.src_output))
            replacing.lines.append(f"{node.name}: {node.type} {reason}")
    return replacing.finish("ops that change nothing became Identity")


def _pushes_in_vain(unit: Unit) -> set[Node]:
    """Return the pushes onto stacks from which no op pops. Such pushes remain if a gradient needs
    only the shapes of tensors, and these shapes have become constants.
    """
    nodes = unit.graph.op_nodes()
    others = ("StackPopV2", "StackCloseV2")
    popped = {container_of(node) for node in nodes if node.type in others}
    pushes = [node for node in nodes if node.type == "StackPushV2"]
    if None in popped:
        return set()
    stacks = {node: container_of(node) for node in pushes}
    return {
        node for node, stack in stacks.items() if stack not in popped and _is_endless(unit, stack)
    }


def _is_endless(unit: Unit, stack: Node | None) -> bool:
    """Return whether a stack has no size limit. A push onto such a stack can't fail.

    Args:
      stack: the node that creates the stack, or None if it is unknown.
    """
    size = _value(unit, stack, 0) if stack is not None else None
    return size is not None and int(size) < 0


def _value(unit: Unit, node: Node, slot: int) -> Any:
    """Return the value of an input if it is constant. Otherwise return None."""
    return known_value(unit, node.input_edge(slot))


def _over_no_axes(unit: Unit, node: Node) -> str:
    axes = _value(unit, node, 1)
    return "over no axes" if axes is not None and axes.size == 0 else ""


def _of_one(unit: Unit, node: Node) -> str:
    return "of one" if len(node.input_types) == 1 else ""


def _to_same_shape(unit: Unit, node: Node) -> str:
    edge = node.input_edge(0)
    before, after = unit.shapes[edge.src.id][edge.src_output], unit.shapes[node.id][0]
    if _value(unit, node, 1) is None or not after.is_fully_defined():
        return ""
    return "to the shape it has" if equal_sizes(before.sizes, after.sizes) else ""


def _in_same_order(unit: Unit, node: Node) -> str:
    order = _value(unit, node, 1)
    same = order is not None and order.tolist() == list(range(order.size))
    return "in the order it has" if same else ""


def _to_same_dtype(unit: Unit, node: Node) -> str:
    same = node.attrs["SrcT"] is node.attrs["DstT"]
    return "to the dtype it has" if same else ""


_REDUCTIONS = ("Sum", "Mean", "Prod", "Max", "Min")
_CHANGES_NOTHING: Mapping[str, Callable[[Unit, Node], str]] = {
    **dict.fromkeys(_REDUCTIONS, _over_no_axes),
    "AddN": _of_one,
    "Reshape": _to_same_shape,
    "Transpose": _in_same_order,
    "Cast": _to_same_dtype,
}
