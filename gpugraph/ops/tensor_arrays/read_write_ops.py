"""The ops on TensorArrays. A handle refers to elements that a run writes and reads one by one.

    handle, flow = TensorArrayV3(size)
    flow = TensorArrayWriteV3(handle, index, value, flow)
    value = TensorArrayReadV3(handle, index, flow)

The handle, which is in host memory, refers to an `ElementArray`, which lives as long as the run.
The flow is a scalar that orders the ops. It is always 0. The sizes of elements are often known only
in a run. In this case, shape inference reads them from the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, of_rank, scalar
from gpugraph.ops.tensor_arrays.container_ops import (
    HANDLE_SHAPE,
    ContainerAccess,
    Run,
    closing_op,
    container_op,
    element_kind,
    infer_scalar,
    writing_op,
)
from gpugraph.ops.tensor_arrays.element_array import ElementArray, Rules
from gpugraph.ops.tensor_arrays.gradient_arrays import read_gradient, write_gradient


def container(context: InferContext) -> ElementArray | None:
    """Return the TensorArray to which input 0, a handle, refers, or None if shapes are not being
    inferred in a run.
    """
    handle = context.value(0)
    return None if handle is None else handle.item(0)


# -- the array


def _infer_array(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "TensorArray size")
    return [HANDLE_SHAPE, SCALAR]


def _bind_array(context: KernelContext, size: Any, handle: Any, flow: Any) -> Run:
    attrs, allocate = context.attrs, context.allocate
    name, dtype = attrs["tensor_array_name"] or context.name, attrs["dtype"]
    rules = Rules(
        attrs["element_shape"],
        attrs["dynamic_size"],
        attrs["clear_after_read"],
        attrs["identical_element_shapes"],
    )

    def make() -> None:
        count = size.item()
        if count < 0:
            raise invalid_argument(f"TensorArray {name}: Size should be >= 0, but it is {count}.")
        array = ElementArray(name, dtype, count, allocate, rules)
        context.keep(array)
        handle.fill(array)
        flow[...] = 0

    return make


container_op(
    "TensorArrayV3",
    _bind_array,
    inputs="size: int32",
    outputs="handle: resource, flow: float32",
    attrs={
        "dtype": ALL,
        "element_shape": Attr("shape", UNKNOWN),
        "dynamic_size": Attr("bool", False),
        "clear_after_read": Attr("bool", True),
        "identical_element_shapes": Attr("bool", False),
        "tensor_array_name": Attr("string", ""),
    },
    infer=_infer_array,
    memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
    doc="A new array of `size` elements that are written one by one. It lives as long as the run.",
)


def _infer_gradient(context: InferContext) -> Sequence[TensorShape]:
    if len(context.shapes) > 2:
        of_rank(context.shapes[2], 1, "shape_to_prepend")
    return [HANDLE_SHAPE, SCALAR]


def _bind_gradient(context: KernelContext, handle: Any, flow_in: Any, *arrays: Any) -> Run:
    *prepended, grad_handle, flow_out = arrays
    source = context.attrs["source"]
    flow = None if flow_out is flow_in else flow_out

    def make(grad_handle: Any, kind: Any, index: Any, flow: Any) -> Run:
        def find() -> None:
            sizes = tuple(prepended[0].tolist()) if prepended else ()
            grad_handle.fill(handle.item(0).gradient(source, sizes))
            if flow is not None:
                flow[...] = 0

        return find

    if prepended:
        return make(grad_handle, None, None, flow)
    return ContainerAccess(make, "find", handle, grad_handle, None, None, flow)


_GRADIENT = (
    "The array of the gradients of an array's elements for the backward pass `source`, which the "
    "first op creates. Repeated writes to one element are added up."
)
_GRADIENT_INPUTS = "handle: resource, flow_in: float32"
for _type, _inputs, _host, _doc in (
    ("TensorArrayGradV3", _GRADIENT_INPUTS, (0,), _GRADIENT),
    (
        "TensorArrayGradWithShape",
        f"{_GRADIENT_INPUTS}, shape_to_prepend: int32",
        (0, 2),
        f"{_GRADIENT} Their shapes begin with `shape_to_prepend`.",
    ),
):
    container_op(
        _type,
        _bind_gradient,
        inputs=_inputs,
        outputs="grad_handle: resource, flow_out: float32",
        attrs={"source": Attr("string", required=True)},
        infer=_infer_gradient,
        memory=OpMemory(view={1: 1}, host_inputs=_host, host_outputs=(0,)),
        doc=_doc,
    )


# -- one element


writing_op(
    "TensorArrayWriteV3",
    "index: int32, value: T",
    lambda array, index, value, kind: array.write(index.item(), value, kind),
    2,
    is_element=True,
    infer=infer_scalar(1, "index"),
    grad=write_gradient,
    doc=(
        "Writes `value` as element `index`. Raises InvalidArgumentError if the index is out of "
        "range, if the element was written or read before, or if the dtype or shape does not fit."
    ),
)


def _infer_read(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "index")
    array = container(context)
    if array is None:
        return [UNKNOWN]
    return [TensorShape.of(array.shape_at(context.value(1).item()))]


def _bind_read(context: KernelContext, handle: Any, index: Any, flow_in: Any, value: Any) -> Run:
    del flow_in
    kind = element_kind(context.output_shapes[0], context.output_types[0])

    def make(value: Any, kind: Any, index: Any, copy: Any) -> Run:
        return lambda: handle.item(0).read(index.item(), value, kind)

    return ContainerAccess(make, "take", handle, value, kind, index)


container_op(
    "TensorArrayReadV3",
    _bind_read,
    inputs="handle: resource, index: int32, flow_in: float32",
    outputs="value: dtype",
    attrs={"dtype": ALL},
    infer=_infer_read,
    memory=OpMemory(host_inputs=(0, 1)),
    grad=read_gradient,
    doc=(
        "Element `index`. If it was not written but its shape is known, zeros. Raises "
        "InvalidArgumentError if the index is out of range, or if an earlier read has cleared the "
        "element."
    ),
)


# -- the whole array


def _bind_size(context: KernelContext, handle: Any, flow_in: Any, size: Any) -> Run:
    del context, flow_in
    return lambda: size.fill(handle.item(0).size())


container_op(
    "TensorArraySizeV3",
    _bind_size,
    inputs="handle: resource, flow_in: float32",
    outputs="size: int32",
    infer=scalar,
    memory=OpMemory(host_inputs=(0,), host_outputs=(0,)),
    doc="The number of elements, including elements that were not written.",
)


closing_op("TensorArrayCloseV3", "an array")
