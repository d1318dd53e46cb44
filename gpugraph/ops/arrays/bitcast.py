"""Bitcast, which reinterprets the bits of a tensor as another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import NUMERIC, QUANTIZED, as_dtype
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Signature
from gpugraph.ops.framework.kernel_helpers import cuda_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.row_update_launches import copy_elements
from gpugraph.ops.framework.shape_functions import UNKNOWN


def _infer_bitcast(context: InferContext) -> Sequence[TensorShape]:
    source, target = context.attrs["T"].size, context.attrs["type"].size
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    if source == target:
        return [context.shapes[0]]
    if source > target:
        return [TensorShape.of((*sizes, source // target))]
    ratio = target // source
    if not sizes or sizes[-1] not in (None, ratio):
        shape = context.shapes[0]
        raise ValueError(f"Cannot bitcast: the last size of {shape_text(shape)} must be {ratio}")
    return [TensorShape.of(sizes[:-1])]


def _bind_bitcast(_: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    return partial(np.copyto, out.reshape(-1).view(np.uint8), source.reshape(-1).view(np.uint8))


def _launch_bitcast(signature: Signature) -> list[Launch]:
    """Return a launch that copies the bits as elements of the larger of the two dtypes."""
    source, target = signature.input_types[0], signature.output_types[0]
    if source.size > target.size:
        return [copy_elements(Arg(0), Arg(1), prod(signature.input_shapes[0]), source)]
    return [copy_elements(Arg(0), Arg(1), prod(signature.output_shapes[0]), target)]


_BITS = (*NUMERIC, *QUANTIZED)
_CALL = Call(make=_bind_bitcast, direct=True)
_bitcast = op(
    "Bitcast",
    inputs="input: T",
    outputs="output: type",
    attrs={"T": _BITS, "type": _BITS},
    infer=_infer_bitcast,
    **cuda_kernels("row_gather_and_put.cu", _launch_bitcast, _CALL),
    grad=NO_GRADIENT,
    doc=(
        "The bits of the input as elements of another dtype. If the new dtype is smaller, the "
        "output has an additional last axis. If it is larger, the last axis of the input is "
        "removed."
    ),
)


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """Reinterpret the bits of `input` as elements of another dtype.

    If the new dtype is smaller, the result has an additional last axis. If it is larger, the last
    axis of `input` is removed. Raises ValueError if the size of this axis is not the ratio of the
    two dtypes' sizes.
    """
    return _bitcast(input, type=as_dtype(type), name=name)
