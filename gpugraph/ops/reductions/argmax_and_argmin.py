"""ArgMax and ArgMin, which return the index of the largest or smallest element along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import cleandoc
from math import prod
from typing import Any, Protocol

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.named_function import named
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import (
    Arg,
    Call,
    KernelContext,
    Launch,
    OpMemory,
    Reduction,
    RowSource,
    Signature,
)
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import cuda_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_signatures import example_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.reductions.axis_launches import AxisView, best_position
from gpugraph.ops.reductions.reduction_ops import INTEGER_MIN, MAX, MIN


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
    """Return a NumPy kernel that calls `find`, which is np.argmax or np.argmin, along an axis.

    As in TensorFlow, a NaN is chosen only if there are no numbers. For this purpose, NaN is
    replaced by `worst`, an infinity.
    """

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        view, axis = _view(context, x)
        target = out.reshape((view.shape[0], view.shape[2]))
        indices = context.scratch(target.shape, dtypes.int64)
        chosen = _Chosen(view, indices) if view.dtype.kind == "f" else None

        def run() -> None:
            find(view, axis, indices)
            if chosen is not None and chosen.has_nan():
                find(np.where(np.isnan(view), view.dtype.type(worst), view), axis, indices)
            np.copyto(target, indices, casting="same_kind")

        return run

    return Call(make=make)


def _view(context: KernelContext, x: Any) -> tuple[Any, int]:
    """Return x reshaped to (before, axis, after), and the number of the axis in this shape, which
    is 1.

    Raises InvalidArgumentError if the axis has no elements or is out of range.
    """
    sizes = context.input_shapes[0]
    try:
        axis = normalize_axis(context.value(1), len(sizes), "Dimension")
    except ValueError as error:
        raise invalid_argument(str(error)) from error
    if sizes[axis] == 0:
        raise invalid_argument(f"Reduction axis {axis} is empty in shape {shape_text(sizes)}")
    return x.reshape((prod(sizes[:axis]), sizes[axis], prod(sizes[axis + 1 :]))), 1


class _Chosen:
    """The elements at the indices that NumPy found, which are used to detect NaNs.

    NumPy's functions choose a NaN whenever a row has one. So the chosen elements tell which rows
    contain NaN.
    """

    def __init__(self, view: Any, indices: Any) -> None:
        before, size, after = view.shape
        self.flat = view.reshape(-1)
        self.indices = indices
        self.stride = after
        rows = np.arange(before)[:, None] * (size * after)
        self.base = rows + np.arange(after)[None, :]

    def has_nan(self) -> bool:
        positions = self.indices * self.stride
        positions += self.base
        return bool(np.isnan(self.flat[positions]).any())


def _launch(is_largest: bool, signature: Signature) -> list[Launch]:
    sizes = signature.input_shapes[0]
    axis = AxisView.of(sizes, normalize_axis(signature.value(1), len(sizes), "Dimension"))
    dtype, out_type = signature.input_types[0], signature.output_types[0]
    return best_position(Arg(0), Arg(1), axis, dtype, out_type, is_largest)


def _position_terms(best: Reduction, worst: str, signature: Signature, x: Term) -> list[Term]:
    """Return a term for the smallest position along the last axis at which x has its largest or
    smallest value.

    Raises NotImplementedError if the axis is not the last, or if the dtype is not supported.

    Args:
      best: the reduction that returns the largest or smallest value.
      worst: the C expression of the number that replaces NaN.
    """
    axis = normalize_axis(signature.value(1), len(x.shape), "Dimension")
    if axis != len(x.shape) - 1 or not x.dtype.is_floating or not 0 < x.shape[axis] < 2**31:
        raise NotImplementedError("it is not along the last axis of floating-point numbers")
    numbers = x.apply(f"x != x ? (T)({worst}) : x")
    places = x.index(x.shape[axis], dtypes.int32)
    is_best = numbers.apply("x == y", numbers.reduced(best, [axis]), dtype=dtypes.bool)
    candidates = is_best.apply("x ? y : 0x7fffffff", places, dtype=dtypes.int32)
    position = candidates.reduced(INTEGER_MIN, [axis])
    return [position.apply("x", dtype=signature.output_types[0])]


def _positions_of(is_largest: bool) -> RowSource:
    """Return the native kernel for reductions along an axis that is not the last."""

    def parameters(signature: Signature) -> list[int]:
        sizes = signature.input_shapes[0]
        axis = normalize_axis(signature.value(1), len(sizes), "Dimension")
        inner = prod(sizes[axis + 1 :])
        if inner == 1 or sizes[axis] >= 2**31:
            raise NotImplementedError("it is along the last axis")
        wide = int(signature.output_types[0].size == 8)
        return [prod(sizes[:axis]), sizes[axis], inner, int(is_largest), wide]

    return RowSource("host_best_position.h", "gg_best_position", parameters)


class ArgFunction(Protocol):
    """The type of the functions `argmax` and `argmin`."""

    def __call__(
        self,
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = dtypes.int64,
    ) -> Tensor:
        """Return the index of the largest (`argmax`) or smallest (`argmin`) element along `axis`,
        by default 0. The dtype of the result is `output_type`.

        Args:
          dimension: an older name of `axis`.
        """


def _declare(op_type: str, cpu: Call, element: str, best: Reduction, worst: str) -> ArgFunction:
    op_function = op(
        op_type,
        inputs="input: T, dimension: scalar Tidx",
        outputs="output: output_type",
        attrs={
            "T": (*REAL, dtypes.bool),
            "Tidx": (dtypes.int32, dtypes.int64),
            "output_type": Attr("type", dtypes.int64, allowed=(dtypes.int32, dtypes.int64)),
        },
        infer=_infer,
        memory=OpMemory(host_inputs=[1]),
        **cuda_kernels("argmax_argmin.cu", partial(_launch, element == "largest"), cpu),
        native=decomposition(
            partial(_position_terms, best, worst), _positions_of(element == "largest")
        ),
        grad=NO_GRADIENT,
        doc=f"The index of the {element} element along `dimension`. If several are "
        "equal, it is the lowest index.",
    )

    doc = f"""Return the index of the {element} element along `axis` (0 by default).

    Ties go to the lower index. The result has the shape of `input` without `axis`. NaNs
    lose to numbers. Raises ValueError for an axis that `input` does not have; a run raises
    InvalidArgumentError if it has size 0. `dimension` is an older name of `axis`.
    """

    @named(op_type.lower(), cleandoc(doc) + example_of(op_type))
    def public(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = dtypes.int64,
    ) -> Tensor:
        if axis is not None and dimension is not None:
            raise ValueError("Cannot specify both 'axis' and 'dimension'.")
        along = dimension if axis is None else axis
        return op_function(input, 0 if along is None else along, output_type=output_type, name=name)

    return public


argmax = _declare("ArgMax", _searching(np.argmax, -np.inf), "largest", MAX, "-1.0 / 0.0")
argmin = _declare("ArgMin", _searching(np.argmin, np.inf), "smallest", MIN, "1.0 / 0.0")


def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Return the index of the largest element along `dimension`. This is an older name of
    `argmax`.
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Return the index of the smallest element along `dimension`. This is an older name of
    `argmin`.
    """
    return argmin(input, dimension, name, output_type=output_type)
