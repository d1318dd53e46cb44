"""Bitwise operations on integers.

As in TensorFlow, shift counts are clamped to [0, number of bits - 1]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import INTEGRAL
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.arithmetic_functions import binary
from gpugraph.ops.elementwise.unary_functions import unary
from gpugraph.ops.framework.op_declaration import NO_GRADIENT
from gpugraph.ops.framework.public_function import BinaryFunction


def _bitwise(
    op_type: str, function: Callable[..., Any], expression: str, doc: str
) -> BinaryFunction:
    return binary(
        op_type,
        attrs={"T": INTEGRAL},
        commutative=op_type.startswith("Bitwise"),
        cpu=Call(function),
        elementwise=expression,
        grad=NO_GRADIENT,
        doc=f"{doc}, elementwise, with broadcasting.",
    )


def _shifting(ufunc: Any) -> Callable[..., Any]:
    def run(x: Any, y: Any, out: Any) -> None:
        ufunc(x, np.clip(y, 0, 8 * y.dtype.itemsize - 1), out)

    return run


_WIDTH = "(y < (T)0 ? (T)0 : y > (T)(8 * sizeof(T) - 1) ? (T)(8 * sizeof(T) - 1) : y)"

bitwise_and = _bitwise("BitwiseAnd", np.bitwise_and, "x & y", "The bits that both integers have")
bitwise_or = _bitwise("BitwiseOr", np.bitwise_or, "x | y", "The bits that either integer has")
bitwise_xor = _bitwise("BitwiseXor", np.bitwise_xor, "x ^ y", "The bits in which integers differ")
left_shift = _bitwise(
    "LeftShift",
    _shifting(np.left_shift),
    f"x << {_WIDTH}",
    "x shifted left by y bits, y clamped to [0, bits of x)",
)
right_shift = _bitwise(
    "RightShift",
    _shifting(np.right_shift),
    f"x >> {_WIDTH}",
    "x shifted right by y bits, with its sign, y clamped to [0, bits of x)",
)
invert = unary("Invert", np.invert, "~x", NO_GRADIENT, "Integers with all bits inverted", INTEGRAL)
