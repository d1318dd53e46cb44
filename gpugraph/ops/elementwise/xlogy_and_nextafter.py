"""Products and quotients that are 0 where one operand is 0 (`xlogy` and others), and nextafter."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, FLOATING
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import SEPARATE, Call, OpMemory
from gpugraph.ops.elementwise.arithmetic_functions import BINARY, binary
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.element_launches import special_pair_source
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import BinaryFunction, public_function
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair


def _is_nonzero(x: Any) -> Any:
    """Return 1 where x is not 0, and 0 where it is."""
    return raw_ops.Cast(raw_ops.NotEqual(x, raw_ops.ZerosLike(x)), DstT=x.dtype.base_dtype)


def _log_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient for x, which is dz log(y), or 0 where x is 0, and the gradient for y,
    which is dz x / y.

    For Xlog1py, y + 1 replaces y in these formulas.
    """
    x, y = (conj(tensor) for tensor in op.inputs)
    slope = getattr(raw_ops, op.type)(_is_nonzero(x), y)
    by_y = raw_ops.Xdivy(x, y if op.type == "Xlogy" else raw_ops.AddV2(y, 1))
    return unbroadcast_pair(op, raw_ops.Mul(dz, slope), raw_ops.Mul(dz, by_y))


def _xdivy_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient for x, which is dz / y, or 0 where x is 0, and the gradient for y, which
    is -dz x / (y y).
    """
    x, y = (conj(tensor) for tensor in op.inputs)
    slope = raw_ops.Xdivy(raw_ops.Neg(x), raw_ops.Square(y))
    return unbroadcast_pair(
        op, raw_ops.Mul(dz, raw_ops.Xdivy(_is_nonzero(x), y)), raw_ops.Mul(dz, slope)
    )


def _mul_no_nan_gradient(op: Any, dz: Any) -> list[Any]:
    x, y = (conj(tensor) for tensor in op.inputs)
    return unbroadcast_pair(op, raw_ops.MulNoNan(dz, y), raw_ops.MulNoNan(x, dz))


_INEXACT = {"T": FLOATING + COMPLEX}


def _times_log(op_type: str, log: str, doc: str) -> BinaryFunction:
    """Declare the op x * log(y), in which `log` is the passed function."""
    return binary(
        op_type,
        attrs=_INEXACT,
        memory=SEPARATE,
        elementwise=f"x == (T)0 ? (T)0 : x * rounded({log}(y))",
        grad=_log_gradient,
        doc=doc,
    )


xlogy = _times_log("Xlogy", "log", "x log(y), elementwise, and 0 where x is 0, whatever y is.")
_xlog1py = _times_log(
    "Xlog1py", "log1p", "x log(1 + y), elementwise, precise for small y, and 0 where x is 0."
)
xdivy = binary(
    "Xdivy",
    attrs=_INEXACT,
    elementwise="x == (T)0 ? (T)0 : x / y",
    grad=_xdivy_gradient,
    doc="x / y, elementwise, and 0 where x is 0, even if y is 0.",
)
multiply_no_nan = binary(
    "MulNoNan",
    "multiply_no_nan",
    attrs=_INEXACT,
    elementwise="y == (T)0 ? (T)0 : x * y",
    grad=_mul_no_nan_gradient,
    doc="x y, elementwise, and 0 where y is 0, even if x is infinite or NaN.",
)


class NextAfterFunction(Protocol):
    """The type of `nextafter`: a function of two tensors, `x1` and `x2`."""

    def __call__(self, x1: Any, x2: Any, name: str | None = None) -> Tensor:
        """Return the next number after `x1` in the direction of `x2`, elementwise."""


nextafter: NextAfterFunction = public_function(
    op(
        "NextAfter",
        inputs="x1: T, x2: T",
        outputs="output: T",
        infer=BINARY["infer"],
        memory=OpMemory(alias={0: 0}),
        attrs={"T": (dtypes.float32, dtypes.float64)},
        cpu=Call(np.nextafter),
        gpu=special_pair_source("gg_next", Call(np.nextafter)),
        grad=lambda op, dz: unbroadcast_pair(op, dz, raw_ops.ZerosLike(dz)),
        doc=(
            "The next number after x1 in the direction of x2, elementwise, for float32 or float64."
        ),
    ),
    "nextafter",
)


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return x log(1 + y), elementwise. The result is precise for small y. It is 0 where x is 0,
    for any y.
    """
    with op_scope(name, "xlog1py", x, y):
        return _xlog1py(x, y)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """Return 1 / x, elementwise, and 0 where x is 0. Raises TypeError if the dtype is an integer
    dtype.
    """
    with op_scope(name, "reciprocal_no_nan", x) as scope:
        source = convert_to_tensor(x, name="x")
        one = constant(1, dtype=source.dtype.base_dtype, name="one")
        return raw_ops.DivNoNan(one, source, name=scope)
