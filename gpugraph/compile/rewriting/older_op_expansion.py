"""Ops of older graphs, replaced by the ops that compute the same today, which have native code and
kernels for GPUs.

  FusedPadConv2D, FusedResizeAndPadConv2D    ResizeBilinear, MirrorPad, Conv2D
  AdjustContrast                             Cast, AdjustContrastv2, and selections for the bounds

An op remains as it is if a shape or a padding is known only in the run, or if a padding is not
valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, bool as boolean, float32, int32
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.rewriting.node_replacement import Replacing, known_value
from gpugraph.compile.unit.compile_unit import Source
from gpugraph.graph.nodes.runtime_graph import Node


def _sources(node: Node) -> list[Source]:
    return [(edge.src, edge.src_output) for edge in node.input_edges()]


def _added(
    replacing: Replacing,
    node: Node,
    op_type: str,
    sources: Sequence[Source],
    shape: TensorShape,
    dtype: DType,
    **attrs: Any,
) -> Source:
    """Return the output of an additional op that the replacement of `node` reads."""
    added = replacing.unit.add_op(
        *(op_type, node, sources), attrs=attrs, output_types=[dtype], suffix=op_type, shapes=[shape]
    )
    return added, 0


def _expand_convolution(replacing: Replacing, node: Node) -> None:
    unit, attrs, dtype = replacing.unit, node.attrs, node.output_types[0].base_dtype
    source, *sizes, paddings, filters = _sources(node)
    values = [known_value(unit, edge) for edge in node.input_edges()[1:-1]]
    shape = unit.shapes[source[0].id][source[1]]
    result = unit.shapes[node.id][0]
    if any(value is None for value in values) or not (
        shape.is_fully_defined() and result.is_fully_defined() and result.num_elements()
    ):
        return
    images: list[Any] = list(shape.sizes or ())
    if sizes:
        if dtype is not float32:
            return  # the resized images would be rounded
        images[1:3] = values[0].tolist()
    edges = values[-1].tolist()
    most = [size - (attrs["mode"] in (b"REFLECT", "REFLECT")) for size in images]
    if any(not 0 <= pad <= size for pads, size in zip(edges, most) for pad in pads):
        return
    if any(edges[0] + edges[3]):  # the op pads heights and widths only
        return
    replacing.lines.append(f"{node.name}: {node.type} as separate ops")
    if sizes:
        aligns = {"align_corners": attrs["resize_align_corners"], "half_pixel_centers": False}
        inputs = [source, *sizes]
        source = _added(
            replacing, node, "ResizeBilinear", inputs, TensorShape(images), dtype, T=dtype, **aligns
        )
    padded = TensorShape([size + sum(pads) for size, pads in zip(images, edges)])
    mirrored = {"T": dtype, "Tpaddings": int32, "mode": attrs["mode"]}
    source = _added(replacing, node, "MirrorPad", [source, paddings], padded, dtype, **mirrored)
    kept = {"T": dtype, "strides": attrs["strides"], "padding": attrs["padding"]}
    others = {"use_cudnn_on_gpu": True, "explicit_paddings": [], "data_format": "NHWC"}
    replacing.put(node, "Conv2D", {**kept, **others, "dilations": [1] * 4}, [source, filters])


def _expand_contrast(replacing: Replacing, node: Node) -> None:
    source, factor, low, high = _sources(node)
    shape, dtype = replacing.unit.shapes[node.id][0], node.attrs["T"]
    if not shape.is_fully_defined():
        return
    replacing.lines.append(f"{node.name}: {node.type} as separate ops")
    if dtype is not float32:
        casts = {"SrcT": dtype, "DstT": float32, "Truncate": False}
        source = _added(replacing, node, "Cast", [source], shape, float32, **casts)
    inputs = [source, factor]
    source = _added(replacing, node, "AdjustContrastv2", inputs, shape, float32, T=float32)
    above = _added(replacing, node, "Greater", [source, high], shape, boolean, T=float32)
    inputs = [above, high, source]
    source = _added(replacing, node, "SelectV2", inputs, shape, float32, T=float32)
    below = _added(replacing, node, "Less", [source, low], shape, boolean, T=float32)
    replacing.put(node, "SelectV2", {"T": float32}, [below, low, source])


EXPANSIONS: Mapping[str, Callable[[Replacing, Node], None]] = {
    "FusedPadConv2D": _expand_convolution,
    "FusedResizeAndPadConv2D": _expand_convolution,
    "AdjustContrast": _expand_contrast,
}
"""By op type, a function that replaces a node of this type."""
