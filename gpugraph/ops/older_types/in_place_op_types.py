"""InplaceUpdate, InplaceAdd, InplaceSub and TensorStridedSliceUpdate, which change rows or a slice
of x.

TensorFlow's kernels write into the memory of their input x. Here the result is a separate tensor,
unless the op is the only reader of x. DeepCopy and Empty create tensors that these ops change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import copy_array, ints
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import from_value, of_rank, same_shape
from gpugraph.ops.framework.unbroadcasting import unbroadcast
from gpugraph.ops.indexing import row_sources
from gpugraph.ops.indexing.slice_spec import numpy_index
from gpugraph.ops.older_types.numpy_op import numpy_op


def _infer_rows(context: InferContext) -> Sequence[TensorShape]:
    x, i, v = context.shapes
    of_rank(i, 1, "i")
    if x.sizes is None or v.sizes is None:
        return [x]
    if len(x.sizes) != len(v.sizes):
        raise Misfit(f"x and v shape doesn't match (ranks differ): {x} vs. {v}", shapes=[x])
    if not x[1:].is_compatible_with(v[1:]):
        raise Misfit(f"x and v shape doesn't match in all but the first: {x} vs. {v}", shapes=[x])
    if None not in (i[0].value, v.sizes[0]) and i[0].value != v.sizes[0]:
        raise Misfit(f"i and x shape doesn't match at index 0: {i} vs. {v}", shapes=[x])
    return [x]


def _bind_rows(change: Any) -> Callable[..., Callable[[], Any]]:
    def bind(_: KernelContext, x: Any, i: Any, v: Any, y: Any) -> Callable[[], Any]:
        def run() -> None:
            if i.size and not len(x):
                raise invalid_argument(f"There is no row to change, but i is {i.tolist()}")
            np.copyto(y, x)
            for row, value in zip(i.tolist(), v, strict=True):
                index = row % len(y)  # wraps negative rows as TensorFlow's kernel does
                y[index] = value if change is None else change(y[index], value)

        return run

    return bind


for _name, _change, _rule, _what in (
    ("InplaceUpdate", None, row_sources.SET, "replaced by"),
    ("InplaceAdd", np.add, row_sources.ADD, "added to by"),
    ("InplaceSub", np.subtract, row_sources.SUB, "less"),
):
    numpy_op(
        _name, "x: T, i: int32, v: T -> y: T", {"T": ALL if _change is None else NUMERIC},
        _infer_rows,
        Call(make=_bind_rows(_change)),
        f"x with its rows at `i` {_what} the rows of `v`, in order.", memory=OpMemory(alias={0: 0}),
        native=row_sources.scattered_in_tensor(_rule, by_coordinates=False),
    )  # fmt: skip

numpy_op(
    "DeepCopy", "x: T -> y: T", {"T": ALL}, same_shape(0),
    Call(copy_array), "A copy of x in separate memory.", stateful=True,
)  # fmt: skip


def _fill_empty(out: Any) -> None:
    out.fill(zero_of(out.dtype))


numpy_op(
    "Empty", "shape: int32 -> output: dtype", {"dtype": ALL, "init": Attr("bool", False)},
    from_value(0),
    Call(_fill_empty), "A tensor of this shape; its elements are 0, even without `init`.",
    memory=OpMemory(host_inputs=[0]), stateful=True,
)  # fmt: skip


# -- a slice replaced

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _bind_slice(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    source, value, out = arrays  # the bounds are read on the host
    bounds = [ints(context.value(index)) for index in (1, 2, 3)]
    index = numpy_index(context.attrs, source.shape, *bounds)
    chosen = out[index]
    if np.broadcast_shapes(chosen.shape, value.shape) != chosen.shape:
        raise invalid_argument(
            f"A value of shape {shape_text(value.shape)} does not fit the slice of shape "
            f"{shape_text(chosen.shape)}"
        )

    def run() -> None:
        np.copyto(out, source)
        out[index] = value

    return run


def _slice_back(op: Any, dy: Any) -> list[Any]:
    _, begin, end, strides, value = op.inputs
    attrs = attrs_of(op, _MASKS)
    selected = raw_ops.StridedSlice(dy, begin, end, strides, **attrs)
    zeros = raw_ops.ZerosLike(value)
    kept = raw_ops.TensorStridedSliceUpdate(dy, begin, end, strides, zeros, **attrs)
    return [kept, None, None, None, unbroadcast(selected, value, selected)]


numpy_op(
    "TensorStridedSliceUpdate",
    "input: T, begin: Index, end: Index, strides: Index, value: T -> output: T",
    {"T": ALL, "Index": INDEX, **{mask: Attr("int", 0) for mask in _MASKS}}, same_shape(0),
    Call(make=_bind_slice),
    "The input with the elements that StridedSlice takes replaced by `value`.", _slice_back,
    memory=OpMemory(host_inputs=[1, 2, 3]),
)  # fmt: skip
