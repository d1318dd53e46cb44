"""Transpose folding: transposes are folded into matrix products, and pairs of transposes are
merged.

  MatMul, BatchMatMulV2 of a Transpose of the last two axes    the product's own flag
  Transpose of a Transpose                                     one Transpose, or an Identity
  Transpose that only moves axes of size 1                     Reshape, which is a view

A Transpose copies its input, but a product can read its operand in either layout. With a
transposing flag, a product may add in another order, so the last bits of its results may differ.
The other two rules do not change results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpugraph.base.dtypes import as_dtype, complex64, complex128, float32, float64
from gpugraph.compile.rewriting.node_replacement import Replacing, behind, is_reference, known_value
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node

_FLAGS = {
    "MatMul": ("transpose_a", "transpose_b", (float32, float64, complex64, complex128)),
    "BatchMatMulV2": ("adj_x", "adj_y", (float32, float64)),
}
"""By op type: the flags that transpose the first and the second operand, and the dtypes for which
the flags only transpose (`adj_x` also conjugates complex values) and take no extra time.
"""


@compile_pass("arithmetic_optimization")
def transposes(unit: Unit) -> Outcome:
    """Fold transposes into the products that read them, and merge or remove other transposes."""
    return Replacing(unit).visit(_VISITS, "transposes folded into products or cancelled")


def _order(unit: Unit, node: Node) -> list[int] | None:
    """Return the permutation of a Transpose, or None if it is not constant."""
    value = known_value(unit, node.input_edge(1))
    if value is None:
        return None
    rank = value.size
    return [int(axis) % rank for axis in value.ravel()]


def _inner(replacing: Replacing, edge: Edge, passed: list[Node]) -> list[int] | None:
    """If a Transpose with a constant permutation computes the tensor of an edge, return the
    permutation and add the Transpose to `passed`. Otherwise return None.
    """
    source = behind(edge, passed).src
    if source.type != "Transpose" or is_reference(source.input_edge(0)):
        return None
    passed.append(source)
    return _order(replacing.unit, source)


def _visit_product(replacing: Replacing, node: Node) -> None:
    *flags, dtypes = _FLAGS[node.type]
    if node.output_types[0].base_dtype not in dtypes:
        return
    attrs, sources, over = dict(node.attrs), [], []
    for edge, flag in zip(node.input_edges(), flags):
        passed: list[Node] = []
        order = _inner(replacing, edge, passed)
        if order is not None and order == _last_two_swapped(len(order)):
            edge = passed[-1].input_edge(0)
            attrs[flag] = not attrs[flag]
            over += passed
            replacing.lines.append(f"{node.name}: {passed[-1].name} is its {flag}")
        sources.append((edge.src, edge.src_output))
    if over:
        replacing.put(node, node.type, attrs, sources, over)


def _last_two_swapped(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2] if rank >= 2 else []


def _visit_transpose(replacing: Replacing, node: Node) -> None:
    order = _order(replacing.unit, node)
    passed: list[Node] = []
    edge = node.input_edge(0)
    if order is None or is_reference(edge):
        return
    inner = _inner(replacing, edge, passed)
    if inner is None:
        passed = []
    else:
        order = [inner[axis] for axis in order]
        edge = passed[-1].input_edge(0)
        replacing.lines.append(f"{node.name}: one with {passed[-1].name}")
    source = edge.src, edge.src_output
    if order == list(range(len(order))):
        if passed:  # else the `simplify` pass has replaced it already
            replacing.put_identity(node, source, passed)
    elif _moves_no_element(replacing.unit, node, edge, order):
        replacing.lines.append(f"{node.name}: moves axes of size 1 only")
        replacing.put_reshape(node, source, passed)
    elif passed:
        perm = replacing.constant(node, np.array(order, np.int32))
        attrs = {"T": node.attrs["T"], "Tperm": as_dtype(np.int32)}
        replacing.put(node, "Transpose", attrs, [source, (perm, 0)], passed)


def _moves_no_element(unit: Unit, node: Node, edge: Edge, order: list[int]) -> bool:
    """Return whether a Transpose with the permutation `order` keeps the order of all axes whose
    size is not 1. A Reshape then has the same output.
    """
    before, after = unit.shapes[edge.src.id][edge.src_output].sizes, unit.shapes[node.id][0].sizes
    if before is None or after is None or after.count(None) > 1 or (None in after and 0 in after):
        return False
    moved = [axis for axis in order if before[axis] != 1]
    return moved == sorted(moved)


_VISITS: Mapping[str, Callable[[Replacing, Node], None]] = {
    "MatMul": _visit_product,
    "BatchMatMulV2": _visit_product,
    "Transpose": _visit_transpose,
}
