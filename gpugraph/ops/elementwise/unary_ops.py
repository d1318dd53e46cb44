"""Functions of each element by itself, and their gradients.

The ops that compute gradients (`SqrtGrad`, `TanhGrad`, ...) are in `unary_gradients`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, FLOATING, INTEGRAL, REAL, DType
from gpugraph.kernel import Call, Elementwise, KernelContext
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.error_function import erf_into
from gpugraph.ops.framework.kernel_registry import register_kernel
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import same_shape

SIGNED = (*FLOATING, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
"""Real types that have negative values."""
INEXACT = FLOATING + COMPLEX
"""Floating point and complex types."""


def unary(
    name: str,
    function: Callable[..., Any] | Call,
    text: str,
    grad: Any,
    doc: str,
    types: Sequence[DType] = INEXACT,
    output: str = "y: T",
) -> OpFunction:
    """Declares a function of each element; `text` says it in C, `doc` in words."""
    return op(
        name,
        inputs="x: T",
        outputs=output,
        attrs={"T": types},
        infer=same_shape(0),
        alias={0: 0} if output == "y: T" else {},
        cpu=function if isinstance(function, Call) else Call(function),
        elementwise=text,
        grad=grad,
        doc=f"{doc}, elementwise.",
    )


def _from_output(grad_op: str) -> Callable[[Any, Any], Any]:
    """The gradient that the op `grad_op` computes from the output."""
    return lambda op, dy: getattr(raw_ops, grad_op)(op.outputs[0], dy)


def _from_conjugate(grad_op: str) -> Callable[[Any, Any], Any]:
    """The gradient that the op `grad_op` computes from the output's conjugate."""
    return lambda op, dy: getattr(raw_ops, grad_op)(conj(op.outputs[0]), dy)


def _x(op: Any) -> Any:
    return conj(op.inputs[0])


# -- sign, powers and roots

negate = unary("Neg", np.negative, "-x", lambda op, dy: raw_ops.Neg(dy), "-x", SIGNED + COMPLEX)
absolute = unary(
    "Abs",
    np.absolute,
    "fabs(x)",
    lambda op, dy: raw_ops.Mul(dy, raw_ops.Sign(op.inputs[0])),
    "|x|",
    SIGNED,
)
register_kernel(
    "Abs",
    "GPU",
    Elementwise("x < (T)0 ? -x : x", Call(np.absolute)),
    types={"T": INTEGRAL},
    priority=1,
)
unary(
    "Sign",
    np.sign,
    "x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x",
    lambda op, dy: raw_ops.ZerosLike(op.inputs[0]),
    "-1, 0 or 1 as x is negative, zero or positive; x / |x| for complex numbers",
    SIGNED + COMPLEX,
)
unary(
    "Square",
    np.square,
    "x * x",
    lambda op, dy: raw_ops.Mul(dy, raw_ops.Mul(_x(op), 2)),
    "x x",
    REAL + COMPLEX,
)
unary("Sqrt", np.sqrt, "sqrt(x)", _from_output("SqrtGrad"), "The square root of x")


def _rsqrt(x: Any, out: Any) -> None:
    np.sqrt(x, out=out)
    np.reciprocal(out, out=out)


unary("Rsqrt", _rsqrt, "(T)1 / sqrt(x)", _from_output("RsqrtGrad"), "1 / sqrt(x)")
for _name in ("Reciprocal", "Inv"):
    unary(_name, np.reciprocal, "(T)1 / x", _from_output(f"{_name}Grad"), "1 / x")


# -- exponentials and logarithms


def _expm1_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Mul(dy, raw_ops.Exp(_x(op)))


def _log1p_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.AddV2(_x(op), 1))


unary(
    "Exp", np.exp, "exp(x)", lambda op, dy: raw_ops.Mul(dy, conj(op.outputs[0])), "e to the power x"
)
unary("Expm1", np.expm1, "expm1(x)", _expm1_gradient, "exp(x) - 1, precise near 0")
unary(
    "Log",
    np.log,
    "log(x)",
    lambda op, dy: raw_ops.RealDiv(dy, _x(op)),
    "The natural logarithm of x",
)
unary("Log1p", np.log1p, "log1p(x)", _log1p_gradient, "log(1 + x), precise near 0")


# -- trigonometry


def _cos_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.Mul(dy, raw_ops.Neg(raw_ops.Sin(_x(op))))


def _tan_gradient(op: Any, dy: Any) -> Any:
    """dy / cos(x)^2."""
    return raw_ops.Mul(dy, raw_ops.Square(raw_ops.Reciprocal(raw_ops.Cos(_x(op)))))


unary("Sin", np.sin, "sin(x)", lambda op, dy: raw_ops.Mul(dy, raw_ops.Cos(_x(op))), "sin(x)")
unary("Cos", np.cos, "cos(x)", _cos_gradient, "cos(x)")
unary("Tan", np.tan, "tan(x)", _tan_gradient, "tan(x)")


# -- what neural networks bend with


def _sigmoid(x: Any, out: Any) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def _softplus(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    """max(x, 0) + log1p(exp(-|x|)): nothing overflows."""
    tail = context.scratch(context.output_shapes[0], context.output_types[0])

    def run() -> None:
        np.absolute(x, out=tail)
        np.negative(tail, out=tail)
        np.exp(tail, out=tail)
        np.log1p(tail, out=tail)
        np.maximum(x, 0, out=out)
        np.add(out, tail, out=out)

    return run


def _erf_gradient(op: Any, dy: Any) -> Any:
    slope = raw_ops.Exp(raw_ops.Neg(raw_ops.Square(op.inputs[0])))
    return raw_ops.Mul(dy, raw_ops.Mul(slope, 2 / math.sqrt(math.pi)))


unary("Tanh", np.tanh, "tanh(x)", _from_conjugate("TanhGrad"), "tanh(x)")
unary(
    "Sigmoid",
    _sigmoid,
    "(T)1 / ((T)1 + exp(-x))",
    _from_conjugate("SigmoidGrad"),
    "1 / (1 + exp(-x))",
)
op(
    "Softplus",
    inputs="features: T",
    outputs="activations: T",
    attrs={"T": FLOATING},
    infer=same_shape(0),
    alias={0: 0},
    cpu=Call(make=_softplus),
    elementwise="fmax(x, (T)0) + log1p(exp(-fabs(x)))",
    grad=lambda op, dy: raw_ops.SoftplusGrad(dy, op.inputs[0]),
    doc="log(exp(features) + 1), elementwise.",
)
unary("Erf", erf_into, "erf(x)", _erf_gradient, "The error function of x", FLOATING)


# -- rounding


def _round(x: Any, out: Any) -> None:
    if out.dtype.kind in "iu":
        np.copyto(out, x)
    else:
        np.rint(x, out=out)


unary("Floor", np.floor, "floor(x)", NO_GRADIENT, "x rounded down", FLOATING)
unary("Ceil", np.ceil, "ceil(x)", NO_GRADIENT, "x rounded up", FLOATING)
unary("Rint", np.rint, "rint(x)", NO_GRADIENT, "x rounded to the next even integer", FLOATING)
unary(
    "Round",
    _round,
    "rint(x)",
    NO_GRADIENT,
    "x rounded to the next integer, halves to the even one",
    SIGNED + COMPLEX,
)
register_kernel("Round", "GPU", Elementwise("x", Call(_round)), types={"T": INTEGRAL}, priority=1)


# -- kinds of numbers

for _name, _function, _text, _doc in (
    ("IsNan", np.isnan, "x != x", "Whether x is NaN"),
    ("IsInf", np.isinf, "isinf(x)", "Whether x is positive or negative infinity"),
    ("IsFinite", np.isfinite, "isfinite(x)", "Whether x is neither infinite nor NaN"),
):
    unary(_name, _function, _text, NO_GRADIENT, _doc, FLOATING, "y: bool")
