"""The position of the largest or smallest element along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Signature, Source
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.reductions.axis_launches import Axis, best_place


def _infer(context: InferContext) -> Sequence[TensorShape]:
    sizes, value = context.shapes[0].sizes, context.value(1)
    if sizes is None:
        return [UNKNOWN]
    if len(sizes) <= 1:
        return [TensorShape.of(())]
    if value is None:
        return [TensorShape.of((None,) * (len(sizes) - 1))]
    axis = normalize_axis(value, len(sizes), "Dimension")
    return [TensorShape.of(sizes[:axis] + sizes[axis + 1 :])]


def _searching(find: Any, worst: float) -> Call:
    """`find` along an axis; NaNs lose against all numbers, as in TensorFlow."""

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        view, axis = _view(context, x)
        target = out.reshape((view.shape[0], view.shape[2]))
        found = context.scratch(target.shape, dtypes.int64)
        chosen = _Chosen(view, found) if view.dtype.kind == "f" else None

        def run() -> None:
            find(view, axis, found)
            if chosen is not None and chosen.has_nan():
                find(np.where(np.isnan(view), view.dtype.type(worst), view), axis, found)
            np.copyto(target, found, casting="same_kind")

        return run

    return Call(make=make)


def _view(context: KernelContext, x: Any) -> tuple[Any, int]:
    """x as (before, axis, after), and 1; InvalidArgumentError where there is nothing to find."""
    sizes = context.input_shapes[0]
    try:
        axis = normalize_axis(context.value(1), len(sizes), "Dimension")
    except ValueError as error:
        raise invalid_argument(str(error)) from error
    if sizes[axis] == 0:
        raise invalid_argument(f"Reduction axis {axis} is empty in shape {sizes}")
    return x.reshape((prod(sizes[:axis]), sizes[axis], prod(sizes[axis + 1 :]))), 1


class _Chosen:
    """The elements that were found: they have a NaN where, and only where, x has one."""

    def __init__(self, view: Any, found: Any) -> None:
        before, size, after = view.shape
        self.flat = view.reshape(-1)
        self.found = found
        self.stride = after
        rows = np.arange(before)[:, None] * (size * after)
        self.base = rows + np.arange(after)[None, :]

    def has_nan(self) -> bool:
        positions = self.found * self.stride
        positions += self.base
        return bool(np.isnan(self.flat[positions]).any())


def _launch(most: bool, signature: Signature) -> list[Launch]:
    sizes = signature.input_shapes[0]
    axis = Axis.of(sizes, normalize_axis(signature.value(1), len(sizes), "Dimension"))
    dtype, out_type = signature.input_types[0], signature.output_types[0]
    return best_place(Arg(0), Arg(1), axis, dtype, out_type, most)


def _declare(name: str, cpu: Call, what: str) -> OpFunction:
    return op(
        name,
        inputs="input: T, dimension: Tidx",
        outputs="output: output_type",
        attrs={
            "T": (*REAL, dtypes.bool),
            "Tidx": (dtypes.int32, dtypes.int64),
            "output_type": dtypes.int64,
        },
        infer=_infer,
        host=[1],
        cpu=cpu,
        gpu=Source("argmax_argmin.cu", partial(_launch, what == "largest"), cpu),
        grad=NO_GRADIENT,
        doc=f"The index of the {what} element, the first of equals, along the axis `dimension`.",
    )


_arg_max = _declare("ArgMax", _searching(np.argmax, -np.inf), "largest")
_arg_min = _declare("ArgMin", _searching(np.argmin, np.inf), "smallest")


def _axis(axis: Any, dimension: Any) -> Any:
    if axis is not None and dimension is not None:
        raise ValueError("Cannot specify both 'axis' and 'dimension'.")
    found = dimension if axis is None else axis
    return 0 if found is None else found


def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the largest element along `axis` (0 by default), the first of equals.

    The result has the shape of `input` without `axis`. NaNs count as smallest. ValueError for an
    axis that `input` hasn't; InvalidArgumentError in a run where it has size 0.
    """
    where = _axis(axis, dimension)
    return _arg_max(input, where, output_type=output_type, name=name)


def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """The index of the smallest element along `axis` (0 by default); see `argmax`."""
    where = _axis(axis, dimension)
    return _arg_min(input, where, output_type=output_type, name=name)
