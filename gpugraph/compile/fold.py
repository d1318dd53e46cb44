"""Fold: exact shapes now that the fed shapes are known, and constants for what follows from them.

One walk in topological order infers every shape. A stateless op whose inputs are all constant and
whose outputs are small becomes a constant, evaluated by its own CPU kernel, so the run's answers
do not change. So do shapes, sizes and ranks of tensors whose shape is known, without their value.
What only the folded ops needed is dropped, but for what acts beside its outputs (an assignment, a
draw of random numbers): a constant runs after whatever its op had to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.compile.unit import Unit
from gpugraph.errors import InvalidArgumentError
from gpugraph.graph.infer import InferContext
from gpugraph.graph.runtime_graph import Node, NodeClass
from gpugraph.graph.walks import reachable_backwards, topological_order
from gpugraph.ops.convert import CONST
from gpugraph.ops.evaluate import evaluate
from gpugraph.shapes import TensorShape

__all__ = ["fold"]

LARGEST_FOLDED = 4096
"""Elements up to which an output is folded: beyond, keeping it costs more than making it."""

_UNKNOWN = TensorShape.of(None)
_OF_SHAPE = {"Shape", "Size", "Rank", "ShapeN"}
_HARMLESS = {NodeClass.VARIABLE, NodeClass.ARG, NodeClass.RETVAL}


def fold(unit: Unit) -> None:
    """Fills `unit.shapes`, `unit.values` and `unit.folded`."""
    with unit.report("fold") as say:
        acting: set[int] = set()
        for node in topological_order(unit.graph):
            _visit(unit, node, acting)
        dropped = _drop_unneeded(unit)
        lines = [f"{unit.graph.find_id(key).name}: {why}" for key, why in unit.folded.items()]  # type: ignore[union-attr]
        say(f"{len(unit.folded)} tensors became constants, {dropped} ops were dropped", lines)


def _visit(unit: Unit, node: Node, acting: set[int]) -> None:
    """Settles one node; `acting` are nodes that act beside their outputs, or wait for such."""
    sources: list[tuple[int, int]] = [(0, 0)] * len(node.input_types)
    acts = node.op_def.is_stateful and node.node_class not in _HARMLESS
    for edge in node._in:
        if edge.dst_input >= 0:
            sources[edge.dst_input] = (edge.src.id, edge.src_output)
        if edge.src.id in acting:
            acts = True
    if acts:
        acting.add(node.id)
    shapes = unit.shapes[node.id] = _infer(unit, node, sources)
    if node.node_class is NodeClass.CONSTANT:
        unit.values[node.id, 0] = node.attrs["value"]
        return
    values = _constants(unit, node, sources, shapes)
    if values is not None:
        _replace(unit, node, values, acting)


def _infer(unit: Unit, node: Node, sources: list[tuple[int, int]]) -> Sequence[TensorShape]:
    op_def = node.op_def
    if node.type == "VariableV2":
        return [_UNKNOWN if node.attrs.get("_resizable") else node.attrs["shape"]]
    if op_def.infer is None:
        return [_UNKNOWN] * len(node.output_types)
    known = unit.shapes
    values = unit.values
    context = InferContext(
        [known[source][slot] for source, slot in sources],
        node.attrs,
        node.input_types,
        len(node.output_types),
        lambda index: values.get(sources[index]),
    )
    try:
        found: Sequence[TensorShape] = op_def.infer(context)
        return found
    except ValueError as error:
        given = ", ".join(str(shape) for shape in context.shapes)
        raise InvalidArgumentError(
            node.node_def,
            None,
            f"{error} for '{node.name}' (op: '{node.type}') with input shapes: {given}"
            f"\n\t [[node {node.name} (defined at {node.origin})]]",
        ) from error


def _constants(
    unit: Unit, node: Node, sources: list[tuple[int, int]], shapes: Sequence[TensorShape]
) -> list[Any] | None:
    """The node's outputs where they are constants from now on."""
    if node.type in _OF_SHAPE:
        return _from_shapes(node, [unit.shapes[source][slot] for source, slot in sources])
    if node.op_def.is_stateful or not sources or not shapes:
        return None
    values = unit.values
    given = []
    for source in sources:
        value = values.get(source)
        if value is None:
            return None
        given.append(value)
    for shape in shapes:
        count = shape.num_elements()
        if count is not None and count > LARGEST_FOLDED:
            return None
    try:
        made = evaluate(node.op_def, node.attrs, given)
    except Exception:  # whatever a kernel raises, the run raises, and names the node
        return None
    if made is None or any(value.size > LARGEST_FOLDED for value in made):
        return None
    return made


def _from_shapes(node: Node, shapes: Sequence[TensorShape]) -> list[Any] | None:
    numpy_type = node.output_types[0].as_numpy_dtype
    if node.type == "Rank":
        sizes = shapes[0].sizes
        return None if sizes is None else [np.array(len(sizes), numpy_type)]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    if node.type == "Size":
        return [np.array(shapes[0].num_elements(), numpy_type)]
    return [np.array(shape.sizes, numpy_type) for shape in shapes]


def _replace(unit: Unit, node: Node, values: list[Any], acting: set[int]) -> None:
    """Makes a constant of each output that somebody takes."""
    graph = unit.graph
    waits = _waits(node, acting)
    for slot, value in enumerate(values):
        edges = [edge for edge in node._out if edge.src_output == slot]
        if not edges:
            continue
        value.setflags(write=False)
        constant = graph.add_node(
            graph.new_name(f"{node.name}/folded"),
            CONST,
            attrs={"value": value, "dtype": node.output_types[slot].base_dtype},
            output_types=[node.output_types[slot].base_dtype],
            requested_device=node.requested_device,
            origin=node.origin,
        )
        for edge in edges:
            graph.update_edge(constant, 0, edge.dst, edge.dst_input)
        for before in waits:
            graph.add_control_edge(before, constant)
        if node.id in acting:
            acting.add(constant.id)
        unit.shapes[constant.id] = [TensorShape.of(value.shape)]
        unit.values[constant.id, 0] = value
        unit.folded[constant.id] = f"{node.type} of constants or known shapes"
    if len(values) == 1 and not node._out and node not in unit.roots:
        graph.remove_node(node)
        graph.rename_node(constant, node.name)


def _waits(node: Node, acting: set[int]) -> dict[Node, None]:
    """What a constant in the place of `node` runs after: what ran before the node for a purpose."""
    found: dict[Node, None] = {}
    for edge in node._in:
        source = edge.src
        if edge.is_control or (source.id in acting and not source.is_constant):
            found[source] = None
        elif source.is_constant:
            found.update(dict.fromkeys(source.control_inputs))
    return found


def _drop_unneeded(unit: Unit) -> int:
    graph = unit.graph
    kept = reachable_backwards(graph, unit.roots)
    kept.update(node.id for node in unit.args)
    unneeded = [node for node in graph.op_nodes() if node.id not in kept]
    for node in unneeded:
        graph.remove_node(node)
        unit.shapes.pop(node.id, None)
        unit.folded.pop(node.id, None)
    return len(unneeded)
