"""Loop-invariant weights: if a matrix product in a loop transposes a loop-invariant operand, the
transpose moves out of the loop.

  a MatMul in a loop that transposes its second operand, which is loop-invariant

        W --> Enter --> MatMul(transpose_b)     becomes     W --> Transpose --> Enter --> MatMul

A product that is computed in tiles reads adjacent rows of its second operand. If the first operand
has few rows, the product reads panels (blocks of columns) of the second operand in place
(`host_matmul.h`). If the second operand is transposed, each product has to transpose its panels
first. This pass transposes the operand once, before the loop, into separate memory. The transpose
takes as much time as is saved in about six iterations.

The pass applies to products that native code computes in tiles on the CPU. Results are equal bit by
bit, because sums are still computed in the order of k. `RewriterConfig.remapping` controls this
pass and the other fusions into matrix products.
"""

from __future__ import annotations

import numpy as np

from gpugraph.base.dtypes import as_dtype, float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import hint
from gpugraph.compile.analysis.fusibility import kernels_on, node_signature
from gpugraph.compile.rewriting.dead_node_elimination import drop_unneeded
from gpugraph.compile.rewriting.node_replacement import are_ours, is_reference
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.devices.native import pays_by_tiles
from gpugraph.graph.nodes.runtime_graph import Node

_MAX_ROWS = 140
"""The maximum number of rows of the first operand. With more rows, the product copies panels of the
second operand in any case, so a transpose costs nothing.
"""


@compile_pass("remapping")
def weights(unit: Unit) -> Outcome:
    """In each product in a loop that has `transpose_b` and a loop-invariant second operand,
    transpose this operand before the loop instead.
    """
    native = jit(unit.target.config)
    natives = kernels_on(unit, native.is_on)
    transposed: dict[int, Node] = {}
    lines = []
    for node in unit.graph.op_nodes():
        if node.type != "MatMul" or not node.attrs["transpose_b"]:
            continue
        device, enter = node.assigned_device, node.input_edge(1).src
        if unit.device_types[device] != "CPU" or not natives.get(device):
            continue
        if not _enters_once(enter) or not _reads_in_place(unit, node):
            continue
        if enter.id not in transposed:
            transposed[enter.id] = _transposed(unit, enter)
        unit.graph.update_edge(transposed[enter.id], 0, node, 1)
        node.attrs = {**node.attrs, "transpose_b": False}
        lines.append(f"{node.name}: {enter.name} is transposed before the loop")
    if lines:
        drop_unneeded(unit)
    return f"{len(lines)} products in loops with hoisted transposes", lines


def _enters_once(node: Node) -> bool:
    """Return whether the node is the Enter of a loop-invariant tensor that is not a reference."""
    return (
        node.is_enter
        and bool(node.attrs.get("is_constant"))
        and not node.output_types[0].is_ref_dtype
        and not is_reference(node.input_edge(0))
    )


def _reads_in_place(unit: Unit, node: Node) -> bool:
    """Return whether the product is computed in tiles and would read its second operand in place if
    this operand were not transposed.
    """
    signature = node_signature(unit, node)
    if signature is None or node.output_types[0] not in (float32, float64):
        return False
    [(rows, columns)] = signature.output_shapes
    inner = signature.input_shapes[1][1]
    return (
        hint(rows) <= _MAX_ROWS and pays_by_tiles(rows, columns, inner) and are_ours(unit, [node])
    )


def _transposed(unit: Unit, enter: Node) -> Node:
    """Add a Transpose before the loop, and an Enter for its result. Return the Enter."""
    edge = enter.input_edge(0)
    dtype = enter.output_types[0].base_dtype
    sizes = unit.shapes[enter.id][0].sizes
    assert sizes is not None
    shapes = [TensorShape.of(sizes[::-1])]
    order = unit.add_constant(enter, "axes", np.array([1, 0], np.int32), reason="for a loop")
    transpose = unit.add_op(
        *("Transpose", enter, [(edge.src, edge.src_output), (order, 0)]),
        attrs={"T": dtype, "Tperm": as_dtype(np.int32)},
        output_types=[dtype],
        suffix="transposed",
        shapes=shapes,
    )
    unit.add_control_inputs(transpose, enter.control_inputs)
    entered = unit.add_op(
        *("Enter", enter, [(transpose, 0)]),
        attrs=enter.attrs,
        output_types=[dtype],
        suffix="entered",
        shapes=shapes,
    )
    for node in (order, transpose, entered):
        unit.reasons[node.id] = unit.reasons[enter.id]
    return entered
