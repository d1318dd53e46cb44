"""Ranges of numbers, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.bfloat16 import finfo
from gpugraph.base.dtypes import FLOATING, NUMERIC, DType, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import Size, whole
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import (
    Arg,
    Builder,
    Call,
    Decomposition,
    KernelContext,
    Launch,
    OpMemory,
    RowSource,
    Signature,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.formula_terms import Term
from gpugraph.ops.framework.kernel_helpers import cuda_kernels, numpy_kernels
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import is_old_scalar, of_rank, same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.axis_launches import AxisView, running

# -- range


def _infer_range(context: InferContext) -> Sequence[TensorShape]:
    for index, what in enumerate(("start", "limit", "delta")):
        if not is_old_scalar(context, index):
            of_rank(context.shapes[index], 0, f"The {what} of a range")
    values = [context.value(index) for index in (0, 1, 2)]
    if any(value is None for value in values):
        return [TensorShape.of((None,))]
    return [TensorShape.of((_length(*[value.reshape(())[()] for value in values]),))]


def _length(start: Any, limit: Any, delta: Any) -> int:
    """Return the number of elements of a range. Raises ValueError if `delta` leads away from
    `limit` or is 0.
    """
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if start > limit and delta > 0:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if start < limit and delta < 0:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, (int, np.integer, Size)):
        return -((whole(start) - whole(limit)) // whole(delta))
    if not np.isfinite((limit - start) / delta):
        raise ValueError(f"Requires finite numbers, not a range of {start}, {limit}, {delta}")
    return int(np.ceil(abs((limit - start) / delta)))


def _count_up(context: KernelContext, out: Any) -> Callable[[], Any]:
    start, _, delta = (context.value(index).reshape(())[()] for index in (0, 1, 2))
    numbers = np.arange(out.shape[0], dtype=out.dtype) * delta + start
    return partial(np.copyto, out, numbers)


_RANKED = (dtypes.int32, dtypes.int64, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def _counted(builder: Builder, signature: Signature, _: Sequence[int]) -> list[int]:
    dtype = signature.output_types[0]
    start, _, delta = (signature.value(index).reshape(())[()] for index in (0, 1, 2))
    numbers = Term(builder, builder.index(signature.output_shapes[0][0], dtype))
    return [(numbers * delta + start).value]


_range = op(
    "Range",
    inputs="start: Tidx, limit: Tidx, delta: Tidx",
    outputs="output: Tidx",
    attrs={"Tidx": _RANKED},
    infer=_infer_range,
    memory=OpMemory(host_inputs=[0, 1, 2]),
    **numpy_kernels(Call(make=_count_up)),
    native=Decomposition(_counted),
    grad=NO_GRADIENT,
    doc="The numbers start, start + delta, start + 2 delta, ..., up to but not including limit.",
)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """Return the vector start, start + delta, start + 2 delta, ..., up to but not including
    `limit`.

    `range(n)` starts at 0. If `dtype` is None, the result has the dtype of an argument, namely the
    last one of these: int32, int64, bfloat16, float32, float64. Raises ValueError if delta is 0 or
    leads away from the limit.

    >>> session.run(tf.range(2, 10, 3))
    array([2, 5, 8], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    arguments = (start, limit, delta)
    wanted = as_dtype(dtype) if dtype is not None else _widest(arguments)
    with op_scope(name, "range", *arguments) as scope:
        parts = [
            cast(value, wanted)
            if dtype is None and _has_dtype(value)
            else convert_to_tensor(value, wanted, part)
            for value, part in zip(arguments, ("start", "limit", "delta"), strict=True)
        ]
        return _range(*parts, name=scope)


def _has_dtype(value: Any) -> bool:
    return isinstance(getattr(value, "dtype", None), DType)


def _widest(values: Sequence[Any]) -> DType:
    """Return, among the dtypes of the values, the one that comes last in `_RANKED`. Raises
    TypeError if a dtype is not in `_RANKED`.
    """
    types = [
        value.dtype.base_dtype if _has_dtype(value) else as_dtype(constant_array(value))
        for value in values
    ]
    for dtype in types:
        if dtype not in _RANKED:
            raise TypeError(f"There is no range of {dtype.name}")
    return max(types, key=_RANKED.index)


# -- running sums and products


def _no_sum(_: Any) -> Any:
    """Return -inf, which is the logarithm of the sum of no elements."""
    return -np.inf


def _scan_axis(value: Any, rank: int) -> int:
    axis = int(value)
    if not -rank <= axis < rank:
        raise invalid_argument(
            f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}"
        )
    return axis % rank


def _running(ufunc: Any, start: Any) -> Call:
    """Return the NumPy kernel that computes running values of `ufunc`.

    Args:
      start: a function that receives a dtype and returns the first element of the result if the op
        is exclusive.
    """

    def make(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
        axis = _scan_axis(context.value(1), len(context.input_shapes[0]))
        source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
        if context.attrs["reverse"]:
            source, target = source[::-1], target[::-1]
        is_exclusive = context.attrs["exclusive"]
        first, rest = target[:1], target[1:]
        totals = rest if is_exclusive else target

        def run() -> None:
            if is_exclusive:
                first.fill(start(target.dtype))
            ufunc.accumulate(source[:-1] if is_exclusive else source, 0, target.dtype, totals)
            if ufunc is not np.multiply and not totals[:1].all():
                np.add(
                    totals, 0, totals
                )  # adding 0 turns -0 into 0: a sum that starts with 0 is never -0

        return run

    return Call(make=make)


def _launch(combine: str, start: str, signature: Signature) -> list[Launch]:
    sizes, attrs = signature.input_shapes[0], signature.attrs
    axis = AxisView.of(sizes, _scan_axis(signature.value(1), len(sizes)))
    options = attrs["reverse"], attrs["exclusive"]
    return running(Arg(0), Arg(1), axis, signature.input_types[0], combine, start, *options)


def _native(multiplies: bool) -> RowSource:
    """Return the native kernel for running sums, or for running products if `multiplies` is
    true.
    """

    def parameters(signature: Signature) -> list[int]:
        sizes, attrs = signature.input_shapes[0], signature.attrs
        axis = _scan_axis(signature.value(1), len(sizes))
        around = prod(sizes[:axis]), sizes[axis], prod(sizes[axis + 1 :])
        return [*around, int(multiplies), int(attrs["exclusive"]), int(attrs["reverse"])]

    return RowSource("host_running.h", "gg_running", parameters)


_SUM_OF_LOGS = (
    "((a) == (b) ? (a) + (gg_value)0.69314718055994530942 : (a) > (b) ? "
    "(a) + (gg_value)log1p(exp((b) - (a))) : (b) + (gg_value)log1p(exp((a) - (b))))"
)


def _identity(ufunc: Any) -> Any:
    return lambda _: ufunc.identity


def _declare(
    name: str,
    kernel: Call,
    on_gpu: tuple[str, str],
    grad: Any,
    quantity: str,
    types: Sequence[DType] = NUMERIC,
    native: RowSource | None = None,
) -> OpFunction:
    """Declare an op that computes running values.

    Args:
      on_gpu: two C expressions. The first combines the values `a` and `b`, and the second is the
        neutral element.
      quantity: the name of the running values for the documentation, such as "sum".
    """
    return op(
        name,
        inputs="x: T, axis: scalar Tidx",
        outputs="out: T",
        attrs={
            "exclusive": Attr("bool", False),
            "reverse": Attr("bool", False),
            "T": types,
            "Tidx": (dtypes.int32, dtypes.int64),
        },
        infer=same_shape(0),
        memory=OpMemory(host_inputs=[1]),
        **cuda_kernels("scan.cu", partial(_launch, *on_gpu), kernel),
        native=native,
        grad=grad,
        doc=f"The running {quantity} along an axis; exclusive: excludes the element itself; "
        "reverse: from the end.",
    )


def _cumsum_gradient(op: Any, dy: Any) -> list[Any]:
    attrs = op.attrs
    return [
        _cumsum(dy, op.inputs[1], exclusive=attrs["exclusive"], reverse=not attrs["reverse"]),
        None,
    ]


def _cumprod_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient, which is the running sum of y dy in the opposite direction, divided by
    x. It is NaN where x is 0.
    """
    x, axis = op.inputs
    attrs = op.attrs
    product = _cumprod(x, axis, exclusive=attrs["exclusive"], reverse=attrs["reverse"])
    total = _cumsum(
        raw_ops.Mul(conj(product), dy),
        axis,
        exclusive=attrs["exclusive"],
        reverse=not attrs["reverse"],
    )
    return [raw_ops.RealDiv(total, conj(x)), None]


def _cumulative_logsumexp_gradient(op: Any, dy: Any) -> list[Any]:
    """Return the gradient, which is exp(x) times the running sum of dy exp(-y) in the opposite
    direction.

    The sum is computed from logarithms, separately for positive and negative dy.
    """
    x, axis = op.inputs
    attrs = {"exclusive": op.attrs["exclusive"], "reverse": not op.attrs["reverse"]}
    zeros = raw_ops.ZerosLike(dy)
    lowest = finfo(dy.dtype.base_dtype.as_numpy_dtype).min
    lowest_values = raw_ops.Fill(raw_ops.Shape(dy), lowest)

    def part(size: Any) -> Any:
        logs = raw_ops.SelectV2(raw_ops.Greater(size, zeros), raw_ops.Log(size), lowest_values)
        total = _cumulative_logsumexp(raw_ops.Sub(logs, op.outputs[0]), axis, **attrs)
        return raw_ops.Exp(raw_ops.AddV2(total, x))

    return [raw_ops.Sub(part(dy), part(raw_ops.Neg(dy))), None]


_cumsum = _declare(
    "Cumsum",
    _running(np.add, _identity(np.add)),
    ("((a) + (b))", "0"),
    _cumsum_gradient,
    "sum",
    native=_native(False),
)
_cumprod = _declare(
    "Cumprod",
    _running(np.multiply, _identity(np.multiply)),
    ("((a) * (b))", "1"),
    _cumprod_gradient,
    "product",
    native=_native(True),
)
_cumulative_logsumexp = _declare(
    "CumulativeLogsumexp",
    _running(np.logaddexp, _no_sum),
    (_SUM_OF_LOGS, "(-INFINITY)"),
    _cumulative_logsumexp_gradient,
    "logarithm of the sum of exponentials",
    FLOATING,
)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return running sums along `axis`: [a, a + b, a + b + c] for [a, b, c].

    Args:
      exclusive: whether each sum excludes the element at the same position, which gives [0, a, a +
        b].
      reverse: whether sums run from the end, which gives [a + b + c, b + c, c].

    >>> session.run(tf.cumsum([1, 2, 3]))
    array([1, 3, 6], dtype=int32)
    """
    return _cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return running products along `axis`. See `cumsum` for the arguments.

    If `exclusive` is true, the first product is 1.
    """
    return _cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return running log(sum(exp(x))) along `axis`, without overflow. See `cumsum` for the
    arguments.

    If `exclusive` is true, the first result is -inf.
    """
    return _cumulative_logsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=name)
