"""Attention: a Softmax and the matrix products before and after it become one op, which does not
store the scores.

  BatchMatMul(query, key), then optionally Mul or RealDiv by a number, then optionally Add or AddV2
  of a mask, then Softmax, then BatchMatMul(_, value): one `_FusedAttention`

No other op may read an intermediate result or have a control edge from the op that computes it.
The new op has the name of the last op. The results of the new op differ from the results of the
separate ops by rounding. The pass runs for GPUs with kernels, and for the CPU if there is native
code.

On GPUs, the gradients of query, key and value may read intermediate results. Their ops become one
`_FusedAttentionGrad`, which computes the scores again from one number for each row of scores (see
`attention_gradients`).

`RewriterConfig.remapping` controls this pass and the other fusions into matrix products and
convolutions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from gpugraph.base.dtypes import float32
from gpugraph.compile.analysis.fusibility import kernels_on
from gpugraph.compile.fusion.attention_gradients import (
    Forward,
    Gradients,
    gates_of,
    gradients_of,
    origin,
)
from gpugraph.compile.rewriting.node_replacement import (
    NO_GPU,
    Replacing,
    are_ours,
    is_reference,
    known_value,
)
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.graph.nodes.graph_walks import reachable_backwards
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.kernel import NodeSignature
from gpugraph.ops.nn.activations.fused_attention import (
    HOST_ATTENTION,
    MAX_KEYS,
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
    for node in list(unit.graph.op_nodes()):
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
      gradients, gates: the gradients, if there are any, and the NoOps between them.
    """

    last: Node
    passed: list[Node]
    edges: list[Edge]
    scale: float
    adj_y: bool
    gradients: Gradients | None = None
    gates: Collection[Node] = ()


class _Search:
    """The search for the ops of an attention, starting at its Softmax."""

    def __init__(self, unit: Unit, roots: set[int]) -> None:
        self.unit = unit
        self.shared = {device.name: device.shared_bytes for device in unit.target.devices}
        self.roots = roots
        self.passed: list[Node] = []
        self.scaling: Node | None = None
        self.factor = 1.0

    def around(self, softmax: Node) -> _Group | None:
        """Return the group that `softmax` and its neighbors form, or None if these ops are not an
        attention or if no kernel supports the group.
        """
        readers = self._readers(softmax)
        products = [edge for edge in readers if _is_product(edge.dst, ("adj_x", "adj_y"))]
        if len(products) != 1 or products[0].dst_input:
            return None
        last = products[0].dst
        scores, mask = self._unmasked(self._behind(softmax.input_edge(0)))
        product, scale = self._unscaled(scores)
        first = product.src
        if not _is_product(first, ("adj_x",)) or not self._is_own(product):
            return None
        edges = [*first.input_edges(), last.input_edge(1), *([mask] if mask else ())]
        group = _Group(last, [*self.passed, first, softmax], edges, scale, first.attrs["adj_y"])
        if len(readers) > 1:
            forward = Forward(first, softmax, last, self.scaling, self._is_factor, self._is_last)
            gradients = gradients_of(forward, self.roots)
            if gradients is None:
                return None
            nodes = {*gradients.results, *gradients.passed}
            group = group._replace(gradients=gradients, gates=gates_of(nodes))
            if self._is_circular(group):
                return None
        elif any(edge.is_control for node in group.passed for edge in node._out):
            return None
        return group if self._has_kernel(group) else None

    def _readers(self, node: Node) -> list[Edge]:
        """Return the edges by which other ops read the output of `node`, through Identities, which
        are recorded in `passed`. Return an empty list if the output must be stored.
        """
        readers: list[Edge] = []
        for edge in node._out:
            if edge.is_control:
                continue
            if edge.dst.assigned_device != node.assigned_device:
                return []
            if edge.dst.type != "Identity":
                readers.append(edge)
                continue
            self.passed.append(edge.dst)
            behind = self._readers(edge.dst)
            if not behind:
                return []
            readers += behind
        return [] if node.id in self.roots else readers

    def _is_circular(self, group: _Group) -> bool:
        """Return whether an input of the fused attention depends on one of its ops, or an input of
        the fused gradients on one of their ops. The gradient of the output can't depend on them.
        """
        assert group.gradients is not None
        later = {*group.gradients.results, *group.gradients.passed}
        ahead = {group.last, *group.passed}
        sources = [edge.src for edge in group.edges]
        gates = gates_of(ahead)
        if gates or self._depends(ahead, sources, ahead | later):
            return True
        return self._depends(later | {*group.gates}, sources, later)

    def _depends(self, nodes: set[Node], sources: Iterable[Node], on: set[Node]) -> bool:
        """Return whether one of `sources`, or a control input of one of `nodes` outside `nodes`,
        depends on a node of `on`.
        """
        waits = (one for node in nodes for one in node.control_inputs if one not in nodes)
        before = reachable_backwards(self.unit.graph, [*sources, *waits])
        return any(node.id in before for node in on)

    def _is_factor(self, edge: Edge) -> bool:
        """Return whether an edge carries the factor of the scores."""
        value = known_value(self.unit, edge)
        return value is not None and value.shape == () and float(value) == self.factor

    def _is_last(self, edge: Edge) -> bool:
        """Return whether an edge carries the number of the last axis of the scores."""
        value, shape = known_value(self.unit, edge), self._shape(edge.dst.input_edge(0))
        return (
            value is not None
            and shape is not None
            and value.ravel().tolist() in ([-1], [len(shape) - 1])
        )

    def _is_own(self, edge: Edge) -> bool:
        """Return whether no other op reads the output of the edge's op."""
        node = edge.src
        if node.id in self.roots or node.assigned_device != edge.dst.assigned_device:
            return False
        return all(other is edge or other.is_control for other in node._out)

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
        node, self.scaling = edge.src, None
        if node.type not in ("Mul", "RealDiv") or not self._is_own(edge):
            return edge, 1.0
        left, right = node.input_edges()
        for product, number in ((left, right), (right, left))[: 1 if node.type == "RealDiv" else 2]:
            value = known_value(self.unit, number)
            if value is not None and value.shape == () and value:
                self.passed.append(node)
                self.scaling, self.factor = node, float(value)
                scale = self.factor
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
        gradients = group.gradients
        nodes = [] if gradients is None else [*gradients.results, *gradients.passed]
        if not are_ours(self.unit, (*group.passed, group.last, *nodes)):
            return False
        shapes = [self._shape(edge) for edge in group.edges]
        if any(sizes is None or None in sizes or 0 in sizes for sizes in shapes):
            return False
        types = [edge.src.output_types[edge.src_output].base_dtype for edge in group.edges]
        signature = NodeSignature(group.last.name, _attrs(group), types, types[:1], shapes, [], {})
        device = group.last.assigned_device
        try:
            if self.unit.device_types[device] == "CPU":
                return gradients is None and bool(HOST_ATTENTION.parameters(signature))
            sizes = attention_sizes(signature)
            if gradients is not None and sizes.m > MAX_KEYS:
                return False
            return shared_bytes(sizes.head) <= self.shared[device]
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
    last, passed, edges, gradients = group.last, group.passed, group.edges, group.gradients
    if gradients is None:
        replacing.put_fused(last, "_FusedAttention", _attrs(group), edges, passed, "attention of ")
        return
    unit, attrs = replacing.unit, _attrs(group)
    sources = [origin(edge) for edge in edges]
    sizes = unit.shapes[edges[0].src.id][edges[0].src_output][:-1]
    name, results = "_FusedAttentionWithStatistics", gradients.results
    gates = group.gates
    new = replacing.put_outputs([last], name, attrs, sources, passed, [(float32, sizes)])
    names = ", ".join(node.name for node in (*passed, last))
    replacing.lines.append(f"{last.name}: attention of {names}")
    back = [*sources[:3], (new, 0), (new, 1), gradients.back, *sources[3:]]
    attrs["key_rows"] = gradients.key_rows
    fused = "_FusedAttentionGrad"
    between = [*gradients.passed, *passed]
    replacing.put_outputs(results, fused, attrs, back, between, gates=gates)
    names = ", ".join(node.name for node in (*gradients.passed, *results))
    replacing.lines.append(f"{results[0].name}: gradients of an attention of {names}")
