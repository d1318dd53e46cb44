"""Attention: a Softmax and the matrix products before and after it become one op, which does not
store the scores.

  BatchMatMul(query, key), then optionally Mul or RealDiv by a number, then optionally Add or AddV2
  of a mask, then Softmax, then BatchMatMul(_, value): one `_FusedAttention`

No other op may read an intermediate result or have a control edge from the op that computes it.
Gradients read these results, so the ops of a training step are not fused. The new op has the name
of the last op. Its results differ from the results of the separate ops by rounding. The pass runs
for GPUs with kernels, and for the CPU if there is native code.

`RewriterConfig.remapping` controls this pass and the other fusions into matrix products and
convolutions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.compile.analysis.fusibility import kernels_on
from gpugraph.compile.rewriting.node_replacement import (
    NO_GPU,
    Replacing,
    are_ours,
    is_reference,
    known_value,
    only_taker,
)
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.kernel import NodeSignature
from gpugraph.ops.nn.activations.fused_attention import (
    HOST_ATTENTION,
    attention_sizes,
    shared_bytes,
)

_PRODUCTS = ("BatchMatMul", "BatchMatMulV2")
_ADDITIONS = ("Add", "AddV2")


@compile_pass("remapping")
def attention(unit: Unit) -> Outcome:
    """Replace the last op of each attention by a `_FusedAttention` and remove its other ops."""
    native = jit(unit.target.config)
    natives = kernels_on(unit, native.is_on)
    if not any(natives.values()):
        return f"{NO_GPU}, the CPU has no native code: {native.reason}", ()
    roots = {node.id for node in unit.roots}
    replacing = Replacing(unit)
    for node in unit.graph.op_nodes():
        if node.type == "Softmax" and natives.get(node.assigned_device):
            group = _Search(unit, roots).around(node)
            if group is not None:
                _put(replacing, group)
    return replacing.finish("fused attentions")


class _Group(NamedTuple):
    """The ops of one attention.

    Args:
      edges: the edges that carry the query, the key, the value, and the mask if there is one.
      passed: the ops that will be removed, which are all ops except `last`.
      scale: the factor of the scores.
      adj_y: whether the first product transposes the key.
    """

    last: Node
    passed: list[Node]
    edges: list[Edge]
    scale: float
    adj_y: bool


class _Search:
    """The search for the ops of an attention, starting at its Softmax."""

    def __init__(self, unit: Unit, roots: set[int]) -> None:
        self.unit = unit
        self.shared = {device.name: device.shared_bytes for device in unit.target.devices}
        self.roots = roots
        self.passed: list[Node] = []

    def around(self, softmax: Node) -> _Group | None:
        """Return the group that `softmax` and its neighbors form, or None if these ops are not an
        attention or if no kernel supports the group.
        """
        last = only_taker(softmax, self.roots)
        while last is not None and last.dst.type == "Identity":
            self.passed.append(last.dst)
            last = only_taker(last.dst, self.roots)
        if last is None or last.dst_input or not _is_product(last.dst, ("adj_x", "adj_y")):
            return None
        scores, mask = self._unmasked(self._behind(softmax.input_edge(0)))
        product, scale = self._unscaled(scores)
        first = product.src
        if not _is_product(first, ("adj_x",)) or not self._is_own(product):
            return None
        edges = [*first.input_edges(), last.dst.input_edge(1), *([mask] if mask else ())]
        group = _Group(last.dst, [*self.passed, first, softmax], edges, scale, first.attrs["adj_y"])
        return group if self._has_kernel(group) else None

    def _is_own(self, edge: Edge) -> bool:
        return only_taker(edge.src, self.roots) is edge

    def _behind(self, edge: Edge) -> Edge:
        """Follow `edge` backwards through Identities that have no other reader, and return the edge
        into the first of them. If there are no Identities, return `edge` itself. Record the
        Identities in `passed`.
        """
        while edge.src.type == "Identity" and self._is_own(edge):
            self.passed.append(edge.src)
            edge = edge.src.input_edge(0)
        return edge

    def _unmasked(self, edge: Edge) -> tuple[Edge, Edge | None]:
        """If `edge` carries the sum of the scores and a mask, return the edges of the scores and
        the mask. Otherwise return `edge` and None.
        """
        node = edge.src
        if node.type in _ADDITIONS and self._is_own(edge):
            for scores, mask in (node.input_edges(), node.input_edges()[::-1]):
                passed = list(self.passed)
                if self._is_scores(scores) and self._shape(scores) == self._shape(edge):
                    self.passed = [*passed, node]
                    return self._behind(scores), mask
                self.passed = passed
        return edge, None

    def _is_scores(self, edge: Edge) -> bool:
        return self._unscaled(self._behind(edge))[0].src.type in _PRODUCTS

    def _unscaled(self, edge: Edge) -> tuple[Edge, float]:
        """Return the edge of the scores before they are scaled, and the scale factor. If the scores
        are not scaled, the factor is 1.0.
        """
        node = edge.src
        if node.type not in ("Mul", "RealDiv") or not self._is_own(edge):
            return edge, 1.0
        left, right = node.input_edges()
        for product, number in ((left, right), (right, left))[: 1 if node.type == "RealDiv" else 2]:
            value = known_value(self.unit, number)
            if value is not None and value.shape == () and value:
                self.passed.append(node)
                scale = float(value)
                return self._behind(product), scale if node.type == "Mul" else 1 / scale
        return edge, 1.0

    def _shape(self, edge: Edge) -> Any:
        return self.unit.shapes[edge.src.id][edge.src_output].sizes

    def _has_kernel(self, group: _Group) -> bool:
        """Return whether the device has a kernel for these sizes, which must all be known. Return
        False if an op has a swapping hint or a kernel that the user registered.
        """
        if any(is_reference(edge) for edge in group.edges):
            return False
        if not are_ours(self.unit, (*group.passed, group.last)):
            return False
        shapes = [self._shape(edge) for edge in group.edges]
        if any(sizes is None or None in sizes or 0 in sizes for sizes in shapes):
            return False
        types = [edge.src.output_types[edge.src_output].base_dtype for edge in group.edges]
        signature = NodeSignature(group.last.name, _attrs(group), types, types[:1], shapes, [], {})
        device = group.last.assigned_device
        try:
            if self.unit.device_types[device] == "CPU":
                return bool(HOST_ATTENTION.parameters(signature))
            return shared_bytes(attention_sizes(signature).head) <= self.shared[device]
        except NotImplementedError:
            return False


def _is_product(node: Node, plain: tuple[str, ...]) -> bool:
    """Return whether a node is a batched matrix product in which all flags listed in `plain`, such
    as `adj_x`, are false.
    """
    return node.type in _PRODUCTS and not any(node.attrs[flag] for flag in plain)


def _attrs(group: _Group) -> dict[str, Any]:
    """Return the attrs of the `_FusedAttention`."""
    num_args, dtype = len(group.edges) - 3, group.last.attrs["T"]
    return {"T": dtype, "num_args": num_args, "scale": group.scale, "adj_y": group.adj_y}


def _put(replacing: Replacing, group: _Group) -> None:
    last, passed, edges = group.last, group.passed, group.edges
    replacing.put_fused(last, "_FusedAttention", _attrs(group), edges, passed, "attention of ")
