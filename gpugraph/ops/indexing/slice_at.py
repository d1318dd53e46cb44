"""`_SliceAt`: the slices of a tensor at one index of an axis, as `x[i]` or `x[:, t]` in a loop. If
the index is known only in the run, a rewrite replaces a StridedSlice by this op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import item_size
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import UNKNOWN

MOVED = (*(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.bool),)
"""The dtypes of tensors that `_SliceAt` takes."""


def _infer(context: InferContext) -> Sequence[TensorShape]:
    shape, axis = context.shapes[0].sizes, context.attrs["axis"]
    return [UNKNOWN if shape is None else TensorShape.of((*shape[:axis], *shape[axis + 1 :]))]


def _bind(context: KernelContext, x: Any, begin: Any, out: Any) -> Callable[[], None]:
    axis = context.attrs["axis"]

    def run() -> None:
        index = int(begin[axis])
        if not -x.shape[axis] <= index < x.shape[axis]:
            raise ValueError(f"slice index {index} of dimension {axis} out of bounds.")
        np.copyto(out, np.take(x, index, axis))

    return run


def _parameters(signature: Signature) -> list[int]:
    (shape, begin), axis = signature.input_shapes[:2], signature.attrs["axis"]
    item = item_size(signature.input_types[0])
    wide = int(signature.input_types[1].size == 8)
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    return [outer, shape[axis], inner * item, axis, wide, begin[0], item]


op(
    "_SliceAt",
    inputs="input: T, begin: Index",
    outputs="output: T",
    attrs={"T": MOVED, "Index": INDEX, "axis": Attr("int", required=True, minimum=0)},
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=HostOnly("it is used in sessions without GPUs"),
    native=RowSource("host_slice_at.h", "gg_slice_at", _parameters, None),
    grad=NO_GRADIENT,
    doc="The slice of the input at the index begin[axis] of one axis.",
)
