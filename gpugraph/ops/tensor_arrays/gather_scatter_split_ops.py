"""Ops on many elements of a TensorArray at once: gather, scatter, concat and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, of_rank
from gpugraph.ops.tensor_arrays.container_ops import Run, container_op, element_kind, writing_op
from gpugraph.ops.tensor_arrays.gradient_arrays import (
    concat_gradient,
    gather_gradient,
    scatter_gradient,
    split_gradient,
)
from gpugraph.ops.tensor_arrays.many_elements import (
    concat,
    concat_shapes,
    gather,
    gathered_shape,
    scatter,
    split,
)
from gpugraph.ops.tensor_arrays.read_write_ops import container


def _infer_gather(context: InferContext) -> Sequence[TensorShape]:
    (count,) = of_rank(context.shapes[1], 1, "indices")
    declared = context.attrs["element_shape"]
    array = container(context)
    if array is not None:
        return [TensorShape.of(gathered_shape(array, context.value(1), declared))]
    if declared.sizes is None:
        return [UNKNOWN]
    return [TensorShape.of((count, *declared.sizes))]


def _bind_gather(
    context: KernelContext, handle: Any, indices: Any, flow_in: Any, value: Any
) -> Run:
    del flow_in
    kind = element_kind(context.output_shapes[0][1:], context.output_types[0])
    return lambda: gather(handle.item(0), indices, value, kind)


container_op(
    "TensorArrayGatherV3",
    _bind_gather,
    inputs="handle: resource, indices: int32, flow_in: float32",
    outputs="value: dtype",
    attrs={"dtype": ALL, "element_shape": Attr("shape", UNKNOWN)},
    infer=_infer_gather,
    memory=OpMemory(host_inputs=(0, 1)),
    grad=gather_gradient,
    doc=("The elements `indices`, which must have the same shape, stacked along a new first axis."),
)


def _infer_scatter(context: InferContext) -> Sequence[TensorShape]:
    (count,) = of_rank(context.shapes[1], 1, "indices")
    sizes = context.shapes[2].sizes
    if sizes == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: value")
    if count is not None and sizes and sizes[0] not in (None, count):
        raise ValueError(
            f"There are {count} indices for values of shape {shape_text(context.shapes[2])}"
        )
    return [SCALAR]


writing_op(
    "TensorArrayScatterV3",
    "indices: int32, value: T",
    lambda array, indices, value, kind: scatter(array, indices, value, (kind[0][1:], kind[1])),
    2,
    infer=_infer_scatter,
    grad=scatter_gradient,
    doc="Writes the slices of `value` along its first axis as the elements `indices`.",
)


def _infer_concat(context: InferContext) -> Sequence[TensorShape]:
    declared = context.attrs["element_shape_except0"]
    array = container(context)
    if array is not None:
        value, lengths = concat_shapes(array, declared)
        return [TensorShape.of(value), TensorShape.of(lengths)]
    shape = UNKNOWN if declared.sizes is None else TensorShape.of((None, *declared.sizes))
    return [shape, TensorShape.of((None,))]


def _bind_concat(
    context: KernelContext, handle: Any, flow_in: Any, value: Any, lengths: Any
) -> Run:
    del flow_in
    kind = element_kind(context.output_shapes[0], context.output_types[0])
    return lambda: concat(handle.item(0), value, lengths, kind)


container_op(
    "TensorArrayConcatV3",
    _bind_concat,
    inputs="handle: resource, flow_in: float32",
    outputs="value: dtype, lengths: int64",
    attrs={"dtype": ALL, "element_shape_except0": Attr("shape", UNKNOWN)},
    infer=_infer_concat,
    memory=OpMemory(host_inputs=(0,), host_outputs=(1,)),
    grad=concat_gradient,
    doc=("All elements, joined along their first axis, and their sizes along this axis."),
)


def _infer_split(context: InferContext) -> Sequence[TensorShape]:
    if context.shapes[1].sizes == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: value")
    of_rank(context.shapes[2], 1, "lengths")
    return [SCALAR]


writing_op(
    "TensorArraySplitV3",
    "value: T, lengths: int64",
    split,
    1,
    infer=_infer_split,
    grad=split_gradient,
    doc=(
        "Writes parts of `value` as the elements 0, 1, ... The parts have the given lengths along "
        "the first axis."
    ),
)
