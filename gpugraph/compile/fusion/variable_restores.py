"""Restores: if all tensors of a RestoreV2 are assigned to variables, the outputs get the shapes of
these variables. The op becomes a `_RestoreSized`.

The sizes of a RestoreV2's tensors are known only after it has read the file. So each tensor is read
into separate memory and then copied, and each Assign is bound to its arrays in every run. An Assign
requires a value with the shape of its variable. This pass therefore gives each output of the
restore the shape of the variable to which it is assigned. The outputs are then planned like other
tensors, and may use the memory of the variables themselves (`memory/initial_values.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpugraph.compile.rewriting.node_replacement import are_ours
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node, NodeClass


@compile_pass()
def restores(unit: Unit) -> Outcome:
    """Replace each RestoreV2 whose tensors are read only by Assigns to variables of fixed shape."""
    roots = {node.id for node in unit.roots}
    lines = []
    for node in unit.graph.op_nodes():
        if node.type != "RestoreV2" or node.id in roots or not are_ours(unit, [node]):
            continue
        paths = [_path(unit, node, slot, roots) for slot in range(len(node.output_types))]
        if all(paths):
            lines.append(f"{node.name}: into {len(paths)} variables")
            _put(unit, node, paths)
    return f"{len(lines)} restores into variables", lines


def _path(unit: Unit, node: Node, slot: int, roots: set[int]) -> list[Node]:
    """Return the Identities and the Assign that follow an output of the RestoreV2. Return an empty
    list if any other node reads the output.
    """
    path: list[Node] = []
    taken, dtype = node._out, node.output_types[slot]
    while True:
        edges = [edge for edge in taken if not edge.is_control and edge.src_output == slot]
        if len(edges) != 1 or edges[0].dst.assigned_device != node.assigned_device:
            return []
        taker = edges[0].dst
        path.append(taker)
        if taker.type == "Assign" and edges[0].dst_input == 1:
            return path if _is_whole(unit, taker) else []
        if taker.node_class is not NodeClass.IDENTITY or taker.id in roots:
            return []
        if taker.output_types[0] is not dtype:
            return []
        taken, slot = taker._out, 0


def _is_whole(unit: Unit, assign: Node) -> bool:
    """Return whether the variable of an Assign has a known shape that never changes."""
    edge = assign.input_edge(0)
    shape = unit.shapes[edge.src.id][edge.src_output]
    return (
        edge.src.node_class is NodeClass.VARIABLE
        and bool(assign.attrs.get("validate_shape", True))
        and shape.is_fully_defined()
        and not edge.src.attrs.get("_resizable")
        and are_ours(unit, [assign])
    )


def _put(unit: Unit, node: Node, paths: Sequence[Sequence[Node]]) -> None:
    """Replace `node` by a `_RestoreSized`, and record the shapes of the Identities between this
    node and the Assigns.
    """
    assigns = [path[-1] for path in paths]
    edges = [assign.input_edge(0) for assign in assigns]
    shapes = [unit.shapes[edge.src.id][edge.src_output] for edge in edges]
    sources = [(edge.src, edge.src_output) for edge in node.input_edges()]
    takers, controls = list(node._out), list(node.control_inputs)
    attrs = {**node.attrs, "shapes": shapes, "takers": [a.name.encode() for a in assigns]}
    types, reason = node.output_types, unit.reasons.get(node.id)
    unit.remove(node)
    new = unit.add_op(
        "_RestoreSized", node, sources, attrs=attrs, output_types=types, shapes=shapes
    )
    unit.add_control_inputs(new, controls)
    for edge in takers:
        _move(unit, new, edge)
    if reason is not None:
        unit.reasons[new.id] = reason
    for shape, path in zip(shapes, paths):
        for passing in path[:-1]:
            unit.shapes[passing.id] = [shape]


def _move(unit: Unit, new: Node, edge: Edge) -> None:
    if edge.is_control:
        unit.graph.add_control_edge(new, edge.dst)
    else:
        unit.graph.add_edge(new, edge.src_output, edge.dst, edge.dst_input)
