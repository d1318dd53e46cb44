"""Quotients and remainders. Some ops return exact quotients, some round quotients down or towards
zero, and some return 0 where the divisor is 0.

On the host, division of integers by zero raises InvalidArgumentError. Kernels on a GPU can't raise
errors, so on a GPU the quotient is 0. The only quotient of integers that overflows is the lowest
number divided by -1. On a GPU, the result is the lowest number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, FLOATING, INTEGRAL, NUMERIC, REAL, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, Elementwise, KernelContext
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.arithmetic_functions import binary
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import BinaryFunction
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair

Division = Callable[[Any, Any, Any], Any]


def _raising(divide: Division) -> Division:
    """Wrap the integer division `divide` so that a zero divisor raises InvalidArgumentError."""

    def run(x: Any, y: Any, out: Any) -> None:
        try:
            with np.errstate(divide="raise"):
                divide(x, y, out)
        except FloatingPointError as error:
            raise invalid_argument("Integer division by zero") from error

    return run


def _by_kind(floating: Division, integral: Callable[..., Division]) -> Call:
    """Return a NumPy kernel that divides floats with `floating`. It divides integers with the
    function that `integral(context)` returns.
    """

    def make(context: KernelContext, x: Any, y: Any, out: Any) -> Callable[[], Any]:
        if not context.output_types[0].is_integer:
            return partial(floating, x, y, out)
        return partial(_raising(integral(context)), x, y, out)

    return Call(make=make)


def _rounded_by(round: Any) -> Division:
    """Return a division function for floats that applies the ufunc `round` to the quotient."""

    def divide(x: Any, y: Any, out: Any) -> None:
        np.divide(x, y, out=out)
        round(out, out=out)

    return divide


def _truncate_integers(context: KernelContext) -> Division:
    """Return a division function for integers that rounds towards zero.

    x minus the remainder of x / y is a multiple of y, so the floor division of this difference by y
    is exact.
    """
    multiple = context.scratch(context.output_shapes[0], context.output_types[0])

    def divide(x: Any, y: Any, out: Any) -> None:
        np.fmod(x, y, out=multiple)
        np.subtract(x, multiple, out=multiple)
        np.floor_divide(multiple, y, out=out)

    return divide


_UNSAFE = "y == (T)0 ? (T)0 : y == (T)-1 && (T)-1 < (T)0"
_TRUNCATED = f"{_UNSAFE} ? (T)0 - x : x / y"
_FLOORED = f"{_UNSAFE} ? (T)0 - x : x / y - (x % y != (T)0 && (x < (T)0) != (y < (T)0))"
_REMAINDER = f"{_UNSAFE} ? (T)0 : x % y"
_MODULUS = f"{_UNSAFE} ? (T)0 : x % y + (x % y != (T)0 && (x < (T)0) != (y < (T)0) ? y : (T)0)"


def _gradient_by(divide: str) -> Callable[[Any, Any], list[Any]]:
    """Return the gradient function of a quotient z. The gradient is dz / y for x, and dz (-x / y /
    y) for y.

    The gradients do not read z itself, because a run may feed a different value for z.

    Args:
      divide: the op type that computes the divisions in the gradients.
    """

    def gradient(op: Any, dz: Any) -> list[Any]:
        over = getattr(raw_ops, divide)
        x, y = conj(op.inputs[0]), conj(op.inputs[1])
        y_grad = raw_ops.Mul(dz, over(over(raw_ops.Neg(x), y), y))
        return unbroadcast_pair(op, over(dz, y), y_grad)

    return gradient


realdiv = binary(
    "RealDiv",
    "realdiv",
    attrs={"T": FLOATING + COMPLEX},
    cpu=Call(np.true_divide),
    elementwise="x / y",
    grad=_gradient_by("RealDiv"),
    doc="x / y, elementwise, with broadcasting, for floating-point or complex numbers.",
)


def _division(
    op_type: str,
    call: Call,
    expressions: tuple[str, str],
    doc: str,
    name: str = "",
    types: Sequence[DType] = REAL,
    grad: Any = NO_GRADIENT,
) -> BinaryFunction:
    """Declare a quotient or remainder op. Return its public function.

    Args:
      expressions: two C expressions for one element, the first for floats and the second for
        integers. The second is used on GPUs only.
    """
    floating, integral = expressions
    function = binary(
        op_type, name, attrs={"T": types}, cpu=call, elementwise=floating, grad=grad, doc=doc
    )
    kernel = Elementwise(integral, call)
    add_kernel(op_type, "GPU", kernel, types={"T": INTEGRAL}, priority=1)
    return function


def _remainder_gradient(quotient: str) -> Callable[[Any, Any], list[Any]]:
    """Return the gradient function of a remainder. The gradient is dz for x, and -dz times the
    quotient for y.

    Args:
      quotient: the op type that computes the quotient.
    """

    def gradient(op: Any, dz: Any) -> list[Any]:
        quotients = getattr(raw_ops, quotient)(*op.inputs)
        return unbroadcast_pair(op, dz, raw_ops.Mul(dz, raw_ops.Neg(quotients)))

    return gradient


_division(
    "Div",
    _by_kind(np.true_divide, _truncate_integers),
    ("x / y", _TRUNCATED),
    "x / y, elementwise; of integers the quotient without its fraction.",
    types=NUMERIC,
    grad=_gradient_by("RealDiv"),
)
truncatediv = _division(
    "TruncateDiv",
    _by_kind(_rounded_by(np.trunc), _truncate_integers)._replace(direct=True),
    ("trunc(stored(x / y))", _TRUNCATED),
    "x / y, elementwise, rounded towards zero.",
    "truncatediv",
)
# `direct`: the quotient in bfloat16 is rounded to bfloat16 before it is rounded down.
floor_div = _division(
    "FloorDiv",
    _by_kind(_rounded_by(np.floor), lambda _: np.floor_divide)._replace(direct=True),
    ("floor(stored(x / y))", _FLOORED),
    "x / y, elementwise, rounded down; InvalidArgumentError for an integer by 0.",
)
floormod = _division(
    "FloorMod",
    _by_kind(np.remainder, lambda _: np.remainder),
    (
        "fmod(x, y) == (T)0 ? (y < (T)0 ? -(T)0 : (T)0) : "
        "(fmod(x, y) < (T)0) != (y < (T)0) ? fmod(x, y) + y : fmod(x, y)",
        _MODULUS,
    ),
    "x - y floor(x / y), elementwise: the remainder with the sign of y.",
    "floormod",
    grad=_remainder_gradient("FloorDiv"),
)
truncatemod = _division(
    "TruncateMod",
    _by_kind(np.fmod, lambda _: np.fmod),
    ("fmod(x, y)", _REMAINDER),
    "x - y trunc(x / y), elementwise: the remainder with the sign of x.",
    "truncatemod",
    grad=_remainder_gradient("TruncateDiv"),
)


div_no_nan = binary(
    "DivNoNan",
    attrs={"T": FLOATING + COMPLEX},
    elementwise="y == (T)0 ? (T)0 : x / y",
    grad=_gradient_by("DivNoNan"),
    doc="x / y, elementwise, and 0 where y is 0.",
)

mod = floormod


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y rounded down, elementwise, in the dtype of the operands. This is Python's
    `//`.
    """
    return floor_div(x, y, name=name or "floordiv")


_EXACT: dict[DType, DType] = {
    **dict.fromkeys((dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16), dtypes.float32),
    **dict.fromkeys((dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64), dtypes.float64),
}
"""By integer dtype, the dtype to which `truediv` casts."""


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, elementwise. This is Python's `/`.

    Integers are first cast: 8-bit and 16-bit integers to float32, 32-bit and 64-bit integers to
    float64.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x._dtype not in _EXACT:
        _check_same(x, y)
        return realdiv(x, y, name=name or "truediv")
    with op_scope(name, "truediv", x, y) as scope:
        left, right = _pair(x, y, is_hint=True)
        exact = _EXACT.get(left.dtype.base_dtype)
        if exact is not None:
            left, right = cast(left, exact), cast(right, exact)
        return realdiv(left, right, name=scope)


def _pair(x: Any, y: Any, is_hint: bool = False) -> tuple[Tensor, Tensor]:
    """Convert x and y to tensors of the same dtype. This is the dtype of x if x has a dtype,
    otherwise the dtype of y.

    Raises TypeError if the dtypes still differ.

    Args:
      is_hint: whether a Python value y that does not fit the dtype keeps its default dtype instead.
    """
    known = getattr(x, "dtype", None)
    if not isinstance(known, DType):
        known = getattr(y, "dtype", None)
    wanted = known.base_dtype if isinstance(known, DType) else None
    left = convert_to_tensor(x, wanted if not isinstance(x, Tensor) else None, "x")
    plain = not isinstance(getattr(y, "dtype", None), DType)
    dtype = left.dtype.base_dtype if plain else None
    right = convert_to_tensor(y, None if is_hint else dtype, "y", dtype)
    _check_same(left, right)
    return left, right


def _check_same(x: Tensor, y: Tensor) -> None:
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r} ({x.name}, {y.name})"
        )


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, elementwise. See `truediv` for the dtypes.

    >>> session.run(tf.divide([1, 2], [2, 2]))
    array([0.5, 1. ])
    """
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x / y, elementwise, in the dtype of the operands. Quotients of integers are rounded
    down.
    """
    with op_scope(name, "div", x, y) as scope:
        left, right = _pair(x, y)
        function = floor_div if left.dtype.is_integer else realdiv
        return function(left, right, name=scope)
