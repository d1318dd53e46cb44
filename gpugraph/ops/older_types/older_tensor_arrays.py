"""TensorArray ops of graphs from before TensorFlow 1.0. In these graphs, the op that creates an
array has no flow as an output.

The flow is a dummy float that orders the ops on an array. As in version 3 of these ops, the handles
are resources here, and the kernels of version 3 are used. If an op has the same inputs as in
version 3, its op type is in `renamed_op_types`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, of_rank
from gpugraph.ops.older_types.numpy_op import like
from gpugraph.ops.tensor_arrays.container_ops import HANDLE_SHAPE, Run, container_op, element_kind
from gpugraph.ops.tensor_arrays.many_elements import gather, gathered_shape, scatter
from gpugraph.ops.tensor_arrays.read_write_ops import container

_ARRAY = like("TensorArrayV3", identical_element_shapes=False)
_GRADIENT = like("TensorArrayGradV3")


def _infer_array(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "TensorArray size")
    return [HANDLE_SHAPE]


def _bind_array(context: KernelContext, size: Any, handle: Any) -> Run:
    return _ARRAY(context, size, handle, np.zeros((), np.float32))


def _bind_gradient(context: KernelContext, handle: Any, flow_in: Any, grad_handle: Any) -> Run:
    zero = np.zeros((), np.float32)
    return _GRADIENT(context, handle, flow_in, grad_handle, zero)


def _all_indices(count: int) -> Any:
    return np.arange(count, dtype=np.int32)


def _infer_pack(context: InferContext) -> Sequence[TensorShape]:
    declared, array = context.attrs["element_shape"], container(context)
    if array is not None:
        return [TensorShape.of(gathered_shape(array, _all_indices(array.size()), declared))]
    return [UNKNOWN if declared.sizes is None else TensorShape.of((None, *declared.sizes))]


def _bind_pack(context: KernelContext, handle: Any, flow_in: Any, value: Any) -> Run:
    del flow_in
    kind = element_kind(context.output_shapes[0][1:], context.output_types[0])

    def run() -> None:
        array = handle.item(0)
        gather(array, _all_indices(array.size()), value, kind)

    return run


def _bind_unpack(
    context: KernelContext, handle: Any, value: Any, flow_in: Any, flow_out: Any
) -> Run:
    del flow_in
    kind = element_kind(context.input_shapes[1][1:], context.input_types[1])

    def run() -> None:
        scatter(handle.item(0), _all_indices(len(value)), value, kind)
        flow_out[...] = 0

    return run


_SHAPE = {"element_shape": Attr("shape", UNKNOWN)}
_RULES = {
    "dynamic_size": Attr("bool", False),
    "clear_after_read": Attr("bool", True),
    "tensor_array_name": Attr("string", ""),
}
for _version in ("", "V2"):
    container_op(
        f"TensorArray{_version}",
        _bind_array,
        inputs="size: int32",
        outputs="handle: resource",
        attrs={"dtype": ALL, **(_SHAPE | _RULES if _version else _RULES | _SHAPE)},
        infer=_infer_array,
        memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
        doc="A new array of `size` elements that are written one by one.",
    )
    container_op(
        f"TensorArrayGrad{_version}",
        _bind_gradient,
        inputs="handle: resource, flow_in: float32",
        outputs="grad_handle: resource",
        attrs={"source": Attr("string", required=True)},
        infer=lambda context: [HANDLE_SHAPE],
        memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
        doc=(
            "The array of the gradients of an array's elements, for the backward pass called "
            "`source`."
        ),
    )
container_op(
    "TensorArrayPack",
    _bind_pack,
    inputs="handle: resource, flow_in: float32",
    outputs="value: dtype",
    attrs={"dtype": ALL, **_SHAPE},
    infer=_infer_pack,
    doc="All elements of the array, stacked along a new first axis.",
)
container_op(
    "TensorArrayUnpack",
    _bind_unpack,
    inputs="handle: resource, value: T, flow_in: float32",
    outputs="flow_out: float32",
    attrs={"T": ALL},
    infer=lambda context: [SCALAR],
    doc="Writes the slices of `value` along its first axis as the elements of the array.",
)
