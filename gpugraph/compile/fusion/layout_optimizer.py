"""Layout optimizer: regions of ops whose images have the channels first compute with channels last.

    x -> Transpose -> Conv2D -> FusedBatchNorm -> Relu -> Conv2D -> Transpose -> y

Kernels that use tensor cores load several channels at once. If channels are first, each convolution
copies its images to the other layout and its result back. A region of connected ops needs copies at
its ends only. A region consists of ops with the attr `data_format`, of reductions over the pixels
of their results, and of elementwise ops between them. It is changed if it has fewer ends than its
convolutions have copies. Sums are added in another order, so results may differ by rounding.

The pass changes convolutions of float16 and bfloat16 on GPUs with kernels, which are the
convolutions that use tensor cores. Other convolutions copy nothing: if channels are first, they
load single elements of adjacent pixels, and the inner loop of float32 has 148 instructions for 128
multiplications, instead of 145. As in Grappler, `RewriterConfig.layout_optimizer` controls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import as_dtype, bfloat16, float16
from gpugraph.base.shapes import TensorShape, equal_sizes
from gpugraph.compile.rewriting.node_replacement import NO_GPU, are_ours, is_reference, known_value
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Source, Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.kernel import Elementwise
from gpugraph.ops.framework.kernel_registry import find_kernel

_TO_LAST, _TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class _Form(NamedTuple):
    """The inputs and outputs of an op that are images.

    Args:
      shape: the index of the input that is the shape of images, or -1.
      copies: the number of arrays that a convolution copies if channels are first.
    """

    images: tuple[int, ...]
    results: tuple[int, ...] = (0,)
    shape: int = -1
    copies: int = 0


_FORMS = {
    "Conv2D": _Form((0,), copies=2),
    "Conv2DBackpropInput": _Form((2,), shape=0, copies=2),
    "Conv2DBackpropFilter": _Form((0, 2), (), copies=2),
    "FusedBatchNorm": _Form((0,)),
    "FusedBatchNormV2": _Form((0,)),
    "FusedBatchNormV3": _Form((0,)),
    "FusedBatchNormGrad": _Form((0, 1)),
    "FusedBatchNormGradV2": _Form((0, 1)),
    "FusedBatchNormGradV3": _Form((0, 1)),
    "BiasAdd": _Form((0,)),
    "BiasAddGrad": _Form((0,), ()),
    "MaxPool": _Form((0,)),
    "MaxPoolGrad": _Form((0, 1, 2)),
    "AvgPool": _Form((0,)),
    "AvgPoolGrad": _Form((1,), shape=0),
}
_REDUCTIONS = ("Mean", "Sum", "Max", "Min")
_ANY_LAYOUT = ("AddN", "Identity", "StopGradient")
"""Ops that compute each element from the same elements of their inputs, and have no expression."""

_BY_AXIS = ("strides", "ksize", "dilations")
"""The attrs that have a number for each axis."""


@compile_pass("layout_optimizer")
def layouts(unit: Unit) -> Outcome:
    """Change regions of ops to the layout with channels last."""
    devices = {it.name for it in unit.target.devices if it.device_type != "CPU" and it.has_kernels}
    if not devices:
        return NO_GPU, ()
    lines = []
    for region in _Regions(unit, devices).found():
        if region.num_copies > region.num_ends:
            region.change()
            lines.append(region.line())
    return f"{len(lines)} regions have their channels last", lines


class _Regions:
    """The search for regions."""

    def __init__(self, unit: Unit, devices: set[str]) -> None:
        self.unit = unit
        self.devices = devices
        self.forms: dict[Node, _Form] = {}

    def found(self) -> list[_Region]:
        """Return the regions that contain convolutions."""
        pending = []
        for node in self.unit.graph.op_nodes():
            form = _FORMS.get(node.type)
            if form is not None and node.assigned_device in self.devices and self._fits(node, form):
                self.forms[node] = form
                pending.append(node)
        if not any(form.copies for form in self.forms.values()):
            return []
        while pending:
            node = pending.pop()
            for edge in node._out:
                if edge.src_output not in self.forms[node].results or edge.dst in self.forms:
                    continue
                form = self._form_of_reader(edge)
                if form is not None:
                    self.forms[edge.dst] = form
                    pending.append(edge.dst)
        return [_Region(self.unit, self.forms, nodes) for nodes in self._connected()]

    def _connected(self) -> list[list[Node]]:
        groups, seen = [], set[Node]()
        for start in self.forms:
            nodes, pending = [], [start]
            while pending:
                node = pending.pop()
                if node in seen:
                    continue
                seen.add(node)
                nodes.append(node)
                pending += [edge.src for edge in _inner_inputs(node, self.forms)]
                pending += [edge.dst for edge in _inner_outputs(node, self.forms)]
            if nodes:
                groups.append(nodes)
        return groups

    def _fits(self, node: Node, form: _Form) -> bool:
        """Return whether an op with the attr `data_format` can change its layout."""
        if node.attrs.get("data_format") not in ("NCHW", b"NCHW"):
            return False
        if form.copies and node.attrs["T"].base_dtype not in (float16, bfloat16):
            return False
        edges = [node.input_edge(slot) for slot in form.images]
        shapes = [self._shape(edge) for edge in edges]
        shapes += [self.unit.shapes[node.id][slot] for slot in form.results]
        is_known = all(shape.rank == 4 for shape in shapes) and not any(map(is_reference, edges))
        if is_known and form.shape >= 0:
            is_known = known_value(self.unit, node.input_edge(form.shape)) is not None
        return is_known and are_ours(self.unit, [node])

    def _form_of_reader(self, edge: Edge) -> _Form | None:
        """Return the form of an op that reads images of a region, or None if the op can't join the
        region.
        """
        node = edge.dst
        if edge.is_control or node.assigned_device != edge.src.assigned_device:
            return None
        if node.type in _REDUCTIONS:
            if not self._keeps_order(edge) or not are_ours(self.unit, [node]):
                return None
            return _Form((0,), (0,) if node.attrs["keep_dims"] else (), shape=1)
        return self._form_of_elements(node) if self._is_elementwise(node) else None

    def _is_elementwise(self, node: Node) -> bool:
        if node.type in _ANY_LAYOUT:
            return are_ours(self.unit, [node])
        entry = find_kernel(node.type, "GPU", node.attrs)
        is_expression = entry is not None and isinstance(entry.kernel, Elementwise)
        return is_expression and not node.op_def.host_inputs and are_ours(self.unit, [node])

    def _form_of_elements(self, node: Node) -> _Form | None:
        """Return the form of an elementwise op whose inputs are numbers or have the shape of the
        result.
        """
        [result, *other_results] = self.unit.shapes[node.id]
        images = []
        for edge in node.input_edges():
            shape = self._shape(edge)
            if is_reference(edge) or shape.rank not in (0, 4):
                return None
            if shape.rank == 4:
                if not equal_sizes(shape.sizes, result.sizes):
                    return None
                images.append(edge.dst_input)
        is_known = result.sizes is not None and None not in result.sizes
        return _Form(tuple(images)) if images and is_known and not other_results else None

    def _keeps_order(self, edge: Edge) -> bool:
        """Return whether the axes that a reduction keeps have the same order in both layouts. The
        axes must be known.
        """
        axes = known_value(self.unit, edge.dst.input_edge(1)) if edge.dst_input == 0 else None
        if axes is None:
            return False
        removed = {int(axis) % 4 for axis in np.ravel(axes)}
        moved = [_TO_LAST.index(axis) for axis in range(4) if axis not in removed]
        return bool(edge.dst.attrs["keep_dims"]) or moved == sorted(moved)

    def _shape(self, edge: Edge) -> TensorShape:
        return self.unit.shapes[edge.src.id][edge.src_output]


def _inner_inputs(node: Node, forms: dict[Node, _Form]) -> list[Edge]:
    """Return the edges that carry images to `node` from ops with forms."""
    edges = (node.input_edge(slot) for slot in forms[node].images)
    return [edge for edge in edges if _is_inner(edge, forms)]


def _inner_outputs(node: Node, forms: dict[Node, _Form]) -> list[Edge]:
    return [edge for edge in node._out if _is_inner(edge, forms)]


def _is_inner(edge: Edge, forms: dict[Node, _Form]) -> bool:
    return (
        not edge.is_control
        and edge.src in forms
        and edge.dst in forms
        and edge.src_output in forms[edge.src].results
        and edge.dst_input in forms[edge.dst].images
        and edge.src.assigned_device == edge.dst.assigned_device
    )


class _Region:
    """Connected ops that can change their layout.

    Args:
      forms: the forms of the ops of all regions.
    """

    def __init__(self, unit: Unit, forms: dict[Node, _Form], nodes: Sequence[Node]) -> None:
        self.unit = unit
        self.forms = forms
        self.nodes = nodes
        self.inputs = [
            edge
            for node in nodes
            for slot in forms[node].images
            if not _is_inner(edge := node.input_edge(slot), forms)
        ]
        self.outputs = [
            edge
            for node in nodes
            for edge in node._out
            if edge.src_output in forms[node].results and not _is_inner(edge, forms)
        ]
        self.num_copies = sum(forms[node].copies for node in nodes)

    @property
    def num_ends(self) -> int:
        """The number of tensors that must be transposed."""
        return len({(edge.src, edge.src_output) for edge in (*self.inputs, *self.outputs)})

    def line(self) -> str:
        """Return a line for the report."""
        first = min(self.nodes, key=lambda node: node.id)
        return f"{first.name}: a region of {len(self.nodes)} ops with {self.num_ends} transposes"

    def change(self) -> None:
        """Change the layout of all ops of the region, with transposes at its ends."""
        self._turn([(edge, edge.dst) for edge in self.inputs], _TO_LAST)
        for node in self.nodes:
            self._change(node)
        self._turn([(edge, edge.src) for edge in self.outputs], _TO_FIRST)

    def _turn(self, edges: Iterable[tuple[Edge, Node]], order: tuple[int, ...]) -> None:
        """Transpose the tensors of edges, each tensor once.

        Args:
          edges: pairs of an edge and the op of the region at one of its ends.
        """
        turned: dict[Source, Node] = {}
        for edge, node in edges:
            source = edge.src, edge.src_output
            if source not in turned:
                shape = self.unit.shapes[edge.src.id][edge.src_output]
                turned[source] = self._transpose(node, source, shape, order)
            self.unit.graph.update_edge(turned[source], 0, edge.dst, edge.dst_input)

    def _transpose(
        self, like: Node, source: Source, shape: TensorShape, order: tuple[int, ...]
    ) -> Node:
        unit, dtype = self.unit, source[0].output_types[source[1]].base_dtype
        axes = unit.add_constant(like, "order", np.array(order, np.int32))
        node = unit.add_op(
            *("Transpose", like, [source, (axes, 0)]),
            attrs={"T": dtype, "Tperm": as_dtype(np.int32)},
            output_types=[dtype],
            suffix="layout",
            shapes=[_permuted(shape, order)],
        )
        unit.reasons[node.id] = unit.reasons[axes.id] = unit.reasons.get(like.id, "")
        return node

    def _change(self, node: Node) -> None:
        form, attrs = self.forms[node], dict(node.attrs)
        if node.type in _FORMS:
            attrs["data_format"] = "NHWC"
            for name in _BY_AXIS:
                if attrs.get(name):
                    attrs[name] = [attrs[name][axis] for axis in _TO_LAST]
            if pads := attrs.get("explicit_paddings"):
                attrs["explicit_paddings"] = [
                    pads[2 * axis + end] for axis in _TO_LAST for end in (0, 1)
                ]
        node.attrs = attrs
        if form.shape >= 0:
            self._change_shape_input(node, form.shape)
        self.unit.shapes[node.id] = [
            _permuted(shape, _TO_LAST) if slot in form.results else shape
            for slot, shape in enumerate(self.unit.shapes[node.id])
        ]

    def _change_shape_input(self, node: Node, slot: int) -> None:
        edge = node.input_edge(slot)
        value: Any = known_value(self.unit, edge)
        if node.type in _REDUCTIONS:
            moved = [_TO_LAST.index(int(axis) % 4) for axis in np.ravel(value)]
            value = np.array(moved, value.dtype).reshape(value.shape)
        else:
            value = value[list(_TO_LAST)]
        dtype = edge.src.output_types[edge.src_output].base_dtype
        constant = self.unit.add_constant(node, "layout", value, dtype)
        self.unit.reasons[constant.id] = self.unit.reasons.get(node.id, "")
        self.unit.graph.update_edge(constant, 0, node, slot)


def _permuted(shape: TensorShape, order: Iterable[int]) -> TensorShape:
    assert shape.sizes is not None
    return TensorShape.of(tuple([shape.sizes[axis] for axis in order]))
