"""Sums, means, products, maxima, minima and other reductions along axes, and their gradients.

The axes are read on the host when a kernel is bound. In each run, a kernel is one NumPy reduction
over a view of the input. Adjacent axes are merged in the view if all of them, or none of them, are
reduced. float16 is accumulated in float32. The result of a reduction over no elements is the
neutral element, or NaN for a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, INTEGRAL, NUMERIC, REAL, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Decomposition, KernelContext, OpMemory, Reduction, Signature
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.numpy_derivation.numpy_terms import LARGER, SMALLER
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import UNKNOWN, scalar
from gpugraph.ops.reductions.reduction_gradients import (
    chosen_gradient,
    mean_gradient,
    norm_gradient,
    prod_gradient,
    sum_gradient,
)

INDEX = (dtypes.int32, dtypes.int64)


def reduced_axes(value: Any, rank: int) -> frozenset[int]:
    """Return the axes in a scalar or vector as a set of non-negative numbers. Raises a Misfit if an
    axis is outside [-rank, rank).
    """
    axes = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else np.ravel(value).tolist()
    wrong = [axis for axis in axes if not -rank <= axis < rank]
    if wrong:
        words = f"{wrong[0]} for input with {rank} dimension"
        raise Misfit(
            f"Invalid reduction dimension {words}s.", f"Invalid reduction dimension ({words}(s)"
        )
    return frozenset([axis % rank for axis in axes])


def _infer(context: InferContext) -> Sequence[TensorShape]:
    shape, axes_shape = context.shapes
    if context.is_building and axes_shape.sizes is not None and len(axes_shape.sizes) > 1:
        raise ValueError(
            f"Shape must be at most rank 1 but is rank {len(axes_shape.sizes)}: the reduction axes"
        )
    keep = context.attrs["keep_dims"]
    sizes, value = shape.sizes, context.value(1)
    if sizes is None:
        return [UNKNOWN]
    if value is None:
        return [TensorShape.of((None,) * len(sizes)) if keep else UNKNOWN]
    axes = reduced_axes(value, len(sizes))
    if keep:
        return [TensorShape.of(tuple([1 if i in axes else n for i, n in enumerate(sizes)]))]
    return [TensorShape.of(tuple([n for i, n in enumerate(sizes) if i not in axes]))]


# -- kernels


def _grouped(context: KernelContext, x: Any, out: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Return (view of x, the axes of this view to reduce, view of out). The views have as few axes
    as possible.
    """
    sizes = context.input_shapes[0]
    try:
        axes = reduced_axes(context.value(1), len(sizes))
    except ValueError as error:
        raise invalid_argument(str(error)) from error
    shape, reduced, kept = _merged(tuple(sizes), axes)
    return x.reshape(shape), reduced, out.reshape(kept)


@lru_cache(1024)
def _merged(
    sizes: tuple[int, ...], axes: frozenset[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Merge neighbouring axes if all of them, or none of them, are reduced.

    Return the merged sizes, the numbers of the merged axes to reduce, and the sizes of the kept
    axes.
    """
    groups = [
        (reduced, prod(sizes[axis] for axis in members))
        for reduced, members in groupby(range(len(sizes)), axes.__contains__)
    ]
    return (
        tuple([size for _, size in groups]),
        tuple([i for i, (reduced, _) in enumerate(groups) if reduced]),
        tuple([size for reduced, size in groups if not reduced]),
    )


def _count(view: Any, axes: tuple[int, ...]) -> int:
    return prod(view.shape[axis] for axis in axes)


def _accumulator(context: KernelContext, target: Any) -> Any:
    """Return an array in which to accumulate: `target`, or a float32 scratch array if `target` is
    float16.
    """
    if target.dtype != np.float16:
        return target
    return context.scratch(target.shape, dtypes.float32)


def _adding(ufunc: Any) -> Call:
    """Return a NumPy kernel that computes a sum or a product with `ufunc`."""

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        view, axes, target = _grouped(context, x, out)
        if not axes:  # NumPy would turn -0.0 into 0.0
            return partial(np.copyto, target, view)
        buffer = _accumulator(context, target)
        reduce = partial(ufunc.reduce, view, axes, buffer.dtype, buffer)
        if buffer is target:
            return reduce

        def run() -> None:
            reduce()
            np.copyto(target, buffer, casting="same_kind")

        return run

    return Call(make=make)


def _mean(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    view, axes, target = _grouped(context, x, out)
    if not axes:
        return partial(np.copyto, target, view)
    count = _count(view, axes)
    if target.dtype.kind in "iu":
        return _integer_mean(context, view, axes, target, count)
    buffer = _accumulator(context, target)
    divisor = buffer.dtype.type(count)
    reduce = partial(np.add.reduce, view, axes, buffer.dtype, buffer)
    divide = partial(np.true_divide, buffer, divisor, out=target, casting="same_kind")

    def run() -> None:
        reduce()
        divide()

    return run


def _integer_mean(
    context: KernelContext, view: Any, axes: tuple[int, ...], target: Any, count: int
) -> Callable[[], Any]:
    """Bind a sum in 64 bits and its division by `count`, which is rounded towards 0. If `count` is
    0, the result is 0.
    """
    if count == 0:
        return partial(target.fill, 0)
    wide = dtypes.uint64 if target.dtype.kind == "u" else dtypes.int64
    total = context.scratch(target.shape, wide)
    rest = context.scratch(target.shape, wide)
    divisor = total.dtype.type(count)

    def run() -> None:
        np.add.reduce(view, axes, total.dtype, total)
        np.fmod(total, divisor, out=rest)
        np.subtract(total, rest, out=total)
        np.floor_divide(total, divisor, out=target, casting="unsafe")

    return run


def _limit(dtype: Any, lowest: bool) -> Any:
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


def _extreme(ufunc: Any, lowest: bool) -> Call:
    """Return a NumPy kernel that computes a maximum or minimum with `ufunc`.

    Args:
      lowest: whether the result over no elements is the lowest number. Otherwise it is the highest
        number.
    """

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        view, axes, target = _grouped(context, x, out)
        if _count(view, axes) == 0:
            return partial(target.fill, _limit(target.dtype, lowest))
        return partial(ufunc.reduce, view, axes, None, target)

    return Call(make=make)


def _logic(ufunc: Any) -> Call:
    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        view, axes, target = _grouped(context, x, out)
        return partial(ufunc.reduce, view, axes, None, target)

    return Call(make=make)


# -- declarations


def _reduction(
    op_type: str,
    types: Sequence[DType],
    gpu: Reduction | Call,
    grad: Any,
    doc: str,
    native: Decomposition | None = None,
) -> OpFunction:
    """Declare a reduction op for the dtypes in `types`. If `types` is empty, the op reduces bools.

    Args:
      gpu: the op's GPU kernel, which contains the NumPy kernel.
      native: the op's decomposition, unless `gpu` is a decomposition.
    """
    element, element_attr = ("T", {"T": types}) if types else ("bool", {})
    return op(
        op_type,
        inputs=f"input: {element}, reduction_indices: Tidx",
        outputs=f"output: {element}",
        attrs={"keep_dims": Attr("bool", False), **element_attr, "Tidx": INDEX},
        infer=_infer,
        memory=OpMemory(host_inputs=[1]),
        cpu=gpu if isinstance(gpu, Call) else gpu.host,
        gpu=gpu,
        native=native,
        grad=grad,
        doc=f"{doc} along the axes `axis`. If `keep_dims` is true, they are kept with size 1.",
    )


_LOWEST = "(T)-1 > (T)0 ? (T)0 : (T)(1ull << (8 * sizeof(T) - 1))"
_HIGHEST = "(T)-1 > (T)0 ? (T)-1 : (T)((1ull << (8 * sizeof(T) - 1)) - 1)"

_SUM = _adding(np.add)
_MEAN = Call(make=_mean)
_MAX = _extreme(np.maximum, lowest=True)
_MIN = _extreme(np.minimum, lowest=False)

SUM = Reduction("(T)0", "a + b", _SUM)
MAX, MIN = (Reduction("(T)(-1.0 / 0.0)", LARGER, _MAX), Reduction("(T)(1.0 / 0.0)", SMALLER, _MIN))
"""The maximum and minimum of floating point numbers."""

INTEGER_MIN = Reduction(_HIGHEST, SMALLER, _MIN)

sum_op = _reduction("Sum", NUMERIC, SUM, sum_gradient, "The sum")
mean_op = _reduction(
    "Mean",
    NUMERIC,
    Reduction("(T)0", "a + b", _MEAN, finish="a / (T)n"),
    mean_gradient,
    "The mean, truncated for integers,",
)
add_kernel("Mean", "GPU", _MEAN, types={"T": INTEGRAL}, priority=1)
prod_op = _reduction(
    "Prod", NUMERIC, Reduction("(T)1", "a * b", _adding(np.multiply)), prod_gradient, "The product"
)
max_op = _reduction("Max", REAL, MAX, chosen_gradient, "The largest element")
add_kernel("Max", "GPU", Reduction(_LOWEST, LARGER, _MAX), types={"T": INTEGRAL}, priority=1)
min_op = _reduction("Min", REAL, MIN, chosen_gradient, "The smallest element")
add_kernel("Min", "GPU", INTEGER_MIN, types={"T": INTEGRAL}, priority=1)


_AND = Reduction("(T)1", "a && b", _logic(np.logical_and))
_OR = Reduction("(T)0", "a || b", _logic(np.logical_or))
all_op = _reduction("All", (), _AND, NO_GRADIENT, "Whether all elements are True")
any_op = _reduction("Any", (), _OR, NO_GRADIENT, "Whether any element is True")


def _half_of_squares(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    flat = x.reshape(-1)
    if flat.dtype != np.float16:

        def run() -> None:
            out[...] = np.dot(flat, flat) / 2

        return run
    wide = context.scratch(flat.shape, dtypes.float32)

    def run_wide() -> None:
        np.copyto(wide, flat)
        out[...] = np.dot(wide, wide) / 2

    return run_wide


_L2 = Call(make=_half_of_squares)
op(
    "L2Loss",
    inputs="t: T",
    outputs="output: T",
    attrs={"T": FLOATING},
    infer=scalar,
    cpu=_L2,
    gpu=Reduction("(T)0", "a + b", _L2, map="x * x", finish="a * (T)0.5"),
    grad=lambda op, dy: raw_ops.Mul(op.inputs[0], dy),
    doc="Half the sum of the squares of all elements.",
)


def _norm(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    """Bind the l2 norm. The squares and their sum are computed in double precision."""
    view, axes, target = _grouped(context, x, out)
    whole = target.dtype.kind in "iu"

    def run() -> None:
        if view.dtype.kind == "c":
            squares = np.square(np.abs(view.astype(np.complex128)))
        else:
            squares = np.square(view, dtype=np.float64)
        norm = np.sqrt(squares.sum(axis=axes))
        np.copyto(target, np.floor(norm) if whole else norm, casting="unsafe")

    return run


def _norm_terms(signature: Signature, x: Term) -> list[Term]:
    axes = sorted(reduced_axes(signature.value(1), len(x.shape)))
    squares = x.apply("(double)x * (double)x", dtype=dtypes.float64)
    root = "floor(sqrt(x))" if x.dtype.is_integer else "sqrt(x)"
    return [squares.reduced(SUM, axes).apply(root, dtype=x.dtype)]


_reduction(
    "EuclideanNorm",
    REAL,
    Call(make=_norm),
    norm_gradient,
    "The root of the sum of squares",
    decomposition(_norm_terms),
)
