"""Integers bit by bit. Shifts by less than 0, or by all bits and more, are as TensorFlow's:
by 0, and by one bit less than there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import INTEGRAL
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.arithmetic_ops import BINARY
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import same_shape


def _declare(name: str, function: Callable[..., Any], text: str, doc: str, **more: Any) -> Any:
    return op(
        name,
        **BINARY,
        attrs={"T": INTEGRAL},
        cpu=Call(function),
        elementwise=text,
        grad=NO_GRADIENT,
        doc=f"{doc}, elementwise.",
        **more,
    )


def _shifting(ufunc: Any) -> Callable[..., Any]:
    def run(x: Any, y: Any, out: Any) -> None:
        ufunc(x, np.clip(y, 0, 8 * y.dtype.itemsize - 1), out)

    return run


_WIDTH = "(y < (T)0 ? (T)0 : y > (T)(8 * sizeof(T) - 1) ? (T)(8 * sizeof(T) - 1) : y)"

_and = _declare(
    "BitwiseAnd", np.bitwise_and, "x & y", "The bits that x and y have", commutative=True
)
_or = _declare("BitwiseOr", np.bitwise_or, "x | y", "The bits that x or y has", commutative=True)
_xor = _declare(
    "BitwiseXor", np.bitwise_xor, "x ^ y", "The bits in which x and y differ", commutative=True
)
_left = _declare("LeftShift", _shifting(np.left_shift), f"x << {_WIDTH}", "x moved left by y bits")
_right = _declare(
    "RightShift", _shifting(np.right_shift), f"x >> {_WIDTH}", "x moved right by y bits"
)
_invert = op(
    "Invert",
    inputs="x: T",
    outputs="y: T",
    attrs={"T": INTEGRAL},
    infer=same_shape(0),
    alias={0: 0},
    cpu=Call(np.invert),
    elementwise="~x",
    grad=NO_GRADIENT,
    doc="All bits of x the other way, elementwise.",
)


def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that both integers have, elementwise, of shapes that broadcast."""
    return _and(x, y, name=name)


def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that either integer has, elementwise, of shapes that broadcast."""
    return _or(x, y, name=name)


def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits in which two integers differ, elementwise, of shapes that broadcast."""
    return _xor(x, y, name=name)


def invert(x: Any, name: str | None = None) -> Tensor:
    """Integers with all bits the other way, elementwise."""
    return _invert(x, name=name)


def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x moved left by y bits, elementwise; y counts as within [0, bits of x)."""
    return _left(x, y, name=name)


def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x moved right by y bits, elementwise, with its sign; y counts as within [0, bits of x)."""
    return _right(x, y, name=name)
