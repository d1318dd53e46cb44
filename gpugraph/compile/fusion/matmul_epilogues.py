"""Epilogues: ops after a matrix product are fused into the product, which applies them before it
stores its results.

An epilogue consists of at least one of these ops, in this order:

  BiasAdd, or Add or AddV2 of a vector along the columns
  Add, AddV2 or AddN of a tensor that has the product's shape
  Relu

There may be a Reshape that keeps the columns between the product (MatMul or BatchMatMulV2) and its
epilogue. All these ops become one `_FusedMatMul` or `_FusedBatchMatMulV2`. No other op may read an
intermediate result or have a control edge from the op that computes it. The new op has the name of
the last op. If there is a Reshape, the fused product comes before the Reshape, and the last op
becomes an Identity of the Reshape.

Without this pass, the ops after the product would be fused with each other and with later ops. So
the pass compares both fusions by the number of accesses to memory. Without an epilogue, the product
is written to memory and read again. With an epilogue, only its last result is written, and other
ops of its fusion group read it. So an epilogue saves memory accesses if the epilogue's last result
must be written to memory anyway, because it is fetched or an op outside its fusion group reads it.
If all readers are in the group, the product is not changed. Examples are the results of a product
before a softmax loss, or before a Tanh. A tensor is only added in the epilogue if it must be in
memory anyway, which is not the case if the same fusion group would compute it.

Results differ from the results of the separate ops by rounding, since cublasLt rounds 16-bit types
only once. The pass applies to floating types on GPUs with kernels. If there is native code, the
pass also applies to products on the CPU that are computed in tiles
(`devices/native/tiled_products.py`). `RewriterConfig.remapping` controls this pass and the other
fusions into matrix products and convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from gpugraph.base.dtypes import FLOATING, float32, float64
from gpugraph.compile.analysis.fusibility import kernels_on, node_signature
from gpugraph.compile.fusion.fusion_groups import grouping
from gpugraph.compile.fusion.group_dependencies import Group
from gpugraph.compile.rewriting.node_replacement import (
    NO_GPU,
    Replacing,
    are_ours,
    is_reference,
    only_taker,
    public_attrs,
)
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.devices.native import pays_by_tiles
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.ops.fusion.matmul_epilogue import FUSED_PRODUCTS

_ADDITIONS = ("Add", "AddV2", "AddN")
_VIEWS = ("Reshape", "Identity")


@compile_pass("remapping")
def epilogues(unit: Unit) -> Outcome:
    """Replace each matrix product and the ops of its epilogue by a fused product."""
    native = jit(unit.target.config)
    natives = kernels_on(unit, native.is_on)
    if not any(natives.values()):
        return f"{NO_GPU}, the CPU has no native code: {native.reason}", ()
    roots = {node.id for node in unit.roots}
    products = [
        node
        for node in unit.graph.op_nodes()
        if natives.get(node.assigned_device) and _may_start(unit, node, roots)
    ]
    replacing = Replacing(unit)
    if products:
        search = _Search(unit, roots, grouping(unit))
        for node in products:
            chain = search.of(node)
            if chain is not None:
                _put(replacing, chain)
    return replacing.finish("products with fused epilogues")


def _may_start(unit: Unit, node: Node, roots: set[int]) -> bool:
    """Return whether the node is a product that has a single reader and more than one column.

    The number of columns must be known. With a single column, cublasLt's bias is unreliable. On the
    CPU, the product must be computed in tiles.
    """
    if node.type not in FUSED_PRODUCTS or node.output_types[0] not in FLOATING:
        return False
    taker = only_taker(node, roots)
    if taker is None or taker.dst.type not in (*_VIEWS, "BiasAdd", *_ADDITIONS, "Relu"):
        return False
    if any(map(is_reference, node.input_edges())) or not are_ours(unit, [node]):
        return False
    sizes = unit.shapes[node.id][0].sizes
    if sizes is None or sizes[-1] in (None, 1):
        return False
    return unit.device_types[node.assigned_device] != "CPU" or _is_tiled(unit, node)


def _is_tiled(unit: Unit, node: Node) -> bool:
    """Return whether native code computes the product in tiles."""
    signature = node_signature(unit, node)
    if signature is None or node.output_types[0] not in (float32, float64):
        return False
    (a, b), [sizes] = signature.input_shapes[:2], signature.output_shapes
    if 0 in (*a, *b):
        return False
    is_transposed = node.attrs.get("transpose_a") or node.attrs.get("adj_x")
    rows = sizes[-2] if len(b) > 2 or is_transposed else prod(sizes[:-1])
    return pays_by_tiles(rows, sizes[-1], a[-2 if is_transposed else -1])


@dataclass
class _Chain:
    """A matrix product, the Reshapes after it, the ops to fuse into it, and the edges of the other
    operands of these ops.
    """

    product: Node
    views: list[Node] = field(default_factory=list)
    ops: list[Node] = field(default_factory=list)
    epilogue: list[str] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    @property
    def last(self) -> Node:
        """The last op of the chain so far."""
        return [self.product, *self.views, *self.ops][-1]


class _Search:
    """The search for chains.

    Args:
      groups: for each node by its id, the group that the fuse pass would form. Nodes that were
        added later have no group.
    """

    def __init__(self, unit: Unit, roots: set[int], groups: Mapping[int, Group]) -> None:
        self.unit = unit
        self.roots = roots
        self.groups = groups

    def of(self, product: Node) -> _Chain | None:
        """Return the chain of ops to fuse into a product, or None if this does not save memory
        accesses.
        """
        chain = _Chain(product)
        edge = only_taker(product, self.roots)
        while edge is not None and self._is_view(edge):
            chain.views.append(edge.dst)
            edge = only_taker(edge.dst, self.roots)
        while edge is not None and self._try_append(chain, edge):
            edge = only_taker(edge.dst, self.roots)
        return chain if chain.ops and self._is_written(chain.last) else None

    def _is_view(self, edge: Edge) -> bool:
        """Return whether the edge leads to an Identity or a Reshape that keeps the number of
        columns.
        """
        if edge.dst.type not in _VIEWS or edge.dst_input:
            return False
        before, after = (self._sizes(node, 0) for node in (edge.src, edge.dst))
        return bool(before) and bool(after) and before[-1] == after[-1]

    def _try_append(self, chain: _Chain, edge: Edge) -> bool:
        """Append the op at the end of the edge to the chain, provided that an epilogue may continue
        with this op. Return whether the op was appended.
        """
        node, done = edge.dst, chain.epilogue
        if "Relu" in done or not are_ours(self.unit, [node]):
            return False
        if node.type == "Relu":
            part = "Relu"
        else:
            others = [other_edge for other_edge in node.input_edges() if other_edge is not edge]
            if node.type not in ("BiasAdd", *_ADDITIONS) or len(others) != 1:
                return False
            [other] = others
            if is_reference(other) or self._sizes(node, 0) != self._sizes(edge.src, 0):
                return False
            if not done and self._is_bias(node, other):
                part = "BiasAdd"
            elif "Add" not in done and self._is_addend(node, other):
                part = "Add"
            else:
                return False
            chain.edges.append(other)
        chain.ops.append(node)
        done.append(part)
        return True

    def _sizes(self, node: Node, slot: int) -> Sequence[int | None]:
        return self.unit.shapes[node.id][slot].sizes or ()

    def _is_bias(self, node: Node, other: Edge) -> bool:
        """Return whether the operand `other` of the addition `node` is a row with one number per
        column.
        """
        bias_sizes, sizes = self._sizes(other.src, other.src_output), self._sizes(node, 0)
        layout = node.attrs.get("data_format", "NHWC")
        if layout not in ("NHWC", b"NHWC") and len(sizes) > 2:
            return False
        ahead = bias_sizes[:-1]
        return bool(bias_sizes) and bias_sizes[-1] == sizes[-1] and all(size == 1 for size in ahead)

    def _is_addend(self, node: Node, other: Edge) -> bool:
        """Return whether the operand has the shape of the result and must be in memory anyway,
        because it is not computed in one kernel with `node`.
        """
        sizes = self._sizes(node, 0)
        if node.type == "BiasAdd" or not sizes or None in sizes:
            return False
        if self._sizes(other.src, other.src_output) != sizes:
            return False
        return not self._are_together(other.src, node)

    def _are_together(self, one: Node, other: Node) -> bool:
        group = self.groups.get(one.id)
        return group is not None and group is self.groups.get(other.id)

    def _is_written(self, last: Node) -> bool:
        """Return whether the op's result must be written to memory anyway, because it is fetched or
        read outside its fusion group.
        """
        return last.id in self.roots or any(
            not (edge.is_control or self._are_together(last, edge.dst)) for edge in last._out
        )


def _put(replacing: Replacing, chain: _Chain) -> None:
    product, last, inner = chain.product, chain.last, chain.ops[:-1]
    fused = FUSED_PRODUCTS[product.type]
    attrs = public_attrs(product)
    attrs |= {"num_args": len(chain.edges), "fused_ops": chain.epilogue}
    sources = [(edge.src, edge.src_output) for edge in (*product.input_edges(), *chain.edges)]
    names = ", ".join(node.name for node in (product, *chain.views, *chain.ops))
    epilogue = ", ".join(chain.epilogue)
    replacing.lines.append(f"{last.name}: {product.type} with {epilogue}: {names}")
    if all(view.type == "Identity" for view in chain.views):
        replacing.put(last, fused, attrs, sources, [product, *chain.views, *inner])
        return
    replacing.put(product, fused, attrs, sources)
    replacing.put_identity(last, (chain.views[-1], 0), inner)
