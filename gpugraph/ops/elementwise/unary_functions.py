"""Unary elementwise functions, under TensorFlow's names, and their gradients.

All functions raise TypeError if the op does not support the dtype. NaN and infinity follow IEEE
754. Functions that are 0 at 0 also accept and return a SparseTensor. The ops that compute gradients
(`SqrtGrad`, `TanhGrad`, ...) are in `unary_gradients`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import COMPLEX, FLOATING, INTEGRAL, REAL, DType
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, Elementwise, OpMemory
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.complex_parts import complex_abs
from gpugraph.ops.elementwise.error_function import erf_into
from gpugraph.ops.framework.composite_tensors import of_values
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.numpy_derivation.numpy_terms import numpy_elementwise
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import FeaturesFunction, UnaryFunction, public_function
from gpugraph.ops.framework.shape_functions import IN_PLACE, same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

SIGNED = (*FLOATING, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
"""Real dtypes that can represent negative numbers."""
INEXACT = FLOATING + COMPLEX
"""Floating point and complex dtypes."""


def unary(
    op_type: str,
    function: Callable[..., Any] | None,
    expression: str,
    grad: Any,
    doc: str,
    types: Sequence[DType] = INEXACT,
    *,
    name: str = "",
    output: str = "y: T",
    sparse: bool = False,
) -> UnaryFunction:
    """Declare an elementwise op of one input. Return its public function.

    Args:
      function: the NumPy kernel, by default derived from `expression`.
      expression: a C expression of `x` for one element.
      doc: a description in words.
      grad: the gradient function.
      types: the allowed dtypes of x.
      name, sparse: see `public_function`.
    """
    declared = op(
        op_type,
        inputs="x: T",
        outputs=output,
        attrs={"T": types},
        infer=same_shape(0),
        memory=OpMemory(alias={0: 0} if output == "y: T" else {}),
        cpu=numpy_elementwise(expression) if function is None else Call(function),
        elementwise=expression,
        grad=grad,
        doc=f"{doc}, elementwise.",
    )
    return public_function(declared, name, sparse)


def _from_output(grad_op: str) -> Callable[[Any, Any], Any]:
    """Return a gradient function that applies the op `grad_op` to the output y and dy."""
    return lambda op, dy: getattr(raw_ops, grad_op)(op.outputs[0], dy)


def _from_conjugate(grad_op: str) -> Callable[[Any, Any], Any]:
    """Return a gradient function that applies the op `grad_op` to conj(y) and dy, where y is the
    output.
    """
    return lambda op, dy: getattr(raw_ops, grad_op)(conj(op.outputs[0]), dy)


def from_slope(slope: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a gradient function that computes dy * slope(conj(x))."""
    return lambda op, dy: raw_ops.Mul(dy, slope(conj(op.inputs[0])))


# -- sign, powers and roots

negative = unary(
    "Neg",
    np.negative,
    "-x",
    lambda op, dy: raw_ops.Neg(dy),
    "-x",
    SIGNED + COMPLEX,
    name="negative",
    sparse=True,
)
absolute = unary(
    "Abs",
    np.absolute,
    "fabs(x)",
    lambda op, dy: raw_ops.Mul(dy, raw_ops.Sign(op.inputs[0])),
    "|x|, of real numbers",
    SIGNED,
    name="absolute",
)
add_kernel(
    "Abs",
    "GPU",
    Elementwise("x < (T)0 ? -x : x", Call(np.absolute)),
    types={"T": INTEGRAL},
    priority=1,
)


@of_values
def abs(x: Any, name: str | None = None) -> Tensor:
    """Return |x|, elementwise. For complex numbers, the result is real.

    >>> session.run(tf.abs([-1.5, 2.0]))
    array([1.5, 2. ], dtype=float32)
    """
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if tensor._dtype.is_complex:
        return complex_abs(tensor, name or "Abs")
    return absolute(tensor, name=name)


sign = unary(
    "Sign",
    np.sign,
    "x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? (T)0 : x",
    lambda op, dy: raw_ops.ZerosLike(op.inputs[0]),
    "-1, 0 or 1 as x is negative, zero or positive; x / |x| of complex numbers",
    SIGNED + COMPLEX,
    sparse=True,
)
square = unary(
    "Square",
    np.square,
    "x * x",
    from_slope(lambda x: raw_ops.Mul(x, 2)),
    "x * x",
    REAL + COMPLEX,
    sparse=True,
)
sqrt = unary(
    "Sqrt",
    np.sqrt,
    "sqrt(x)",
    _from_output("SqrtGrad"),
    "The square root of x, NaN of negative numbers",
    sparse=True,
)


rsqrt = unary("Rsqrt", None, "(T)1 / rounded(sqrt(x))", _from_output("RsqrtGrad"), "1 / sqrt(x)")
reciprocal, _inv = (
    unary(op_type, np.reciprocal, "(T)1 / x", _from_output(f"{op_type}Grad"), "1 / x")
    for op_type in ("Reciprocal", "Inv")
)


# -- exponentials and logarithms


def _log1p_gradient(op: Any, dy: Any) -> Any:
    return raw_ops.RealDiv(dy, raw_ops.AddV2(conj(op.inputs[0]), 1))


exp = unary(
    "Exp", np.exp, "exp(x)", lambda op, dy: raw_ops.Mul(dy, conj(op.outputs[0])), "e to the power x"
)
expm1 = unary("Expm1", np.expm1, "expm1(x)", from_slope(raw_ops.Exp), "exp(x) - 1, precise near 0")
log = unary(
    "Log",
    np.log,
    "log(x)",
    lambda op, dy: raw_ops.RealDiv(dy, conj(op.inputs[0])),
    "The natural logarithm of x, -inf of 0, NaN of negative numbers",
)
log1p = unary("Log1p", np.log1p, "log1p(x)", _log1p_gradient, "log(1 + x), precise near 0")


# -- trigonometry


def _tan_slope(x: Any) -> Any:
    """Return 1 / cos(x)^2, the derivative of tan(x)."""
    return raw_ops.Square(raw_ops.Reciprocal(raw_ops.Cos(x)))


sin = unary("Sin", np.sin, "sin(x)", from_slope(lambda x: raw_ops.Cos(x)), "sin(x)", sparse=True)
cos = unary("Cos", np.cos, "cos(x)", from_slope(lambda x: raw_ops.Neg(raw_ops.Sin(x))), "cos(x)")
tan = unary("Tan", np.tan, "tan(x)", from_slope(_tan_slope), "tan(x)", sparse=True)


# -- activations


def _erf_slope(x: Any) -> Any:
    return raw_ops.Mul(raw_ops.Exp(raw_ops.Neg(raw_ops.Square(x))), 2 / math.sqrt(math.pi))


tanh = unary("Tanh", np.tanh, "tanh(x)", _from_conjugate("TanhGrad"), "tanh(x)", sparse=True)
sigmoid = unary(
    "Sigmoid",
    None,
    "(T)1 / rounded((T)1 + rounded(exp(-x)))",
    _from_conjugate("SigmoidGrad"),
    "1 / (1 + exp(-x))",
)
_SOFTPLUS = "fmax(x, (T)0) + rounded(log1p(rounded(exp(-fabs(x)))))"
softplus: FeaturesFunction = public_function(
    op(
        "Softplus",
        inputs="features: T",
        outputs="activations: T",
        attrs={"T": FLOATING},
        **IN_PLACE,
        cpu=numpy_elementwise(_SOFTPLUS),
        elementwise=_SOFTPLUS,
        grad=lambda op, dy: raw_ops.SoftplusGrad(dy, op.inputs[0]),
        doc="log(exp(features) + 1), elementwise, without overflow.",
    )
)
erf = unary(
    "Erf", erf_into, "erf(x)", from_slope(_erf_slope), "The error function", FLOATING, sparse=True
)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Return log(1 / (1 + exp(-x))), elementwise, without overflow."""
    with op_scope(name, "LogSigmoid", x) as scope:
        tensor = convert_to_tensor(x, name="x")
        return raw_ops.Neg(raw_ops.Softplus(raw_ops.Neg(tensor)), name=scope)


# -- rounding


def _round(x: Any, out: Any) -> None:
    if out.dtype.kind in "iu":
        np.copyto(out, x)
    else:
        np.rint(x, out=out)


_NEAREST = "x rounded to the nearest integer, halves to the even one"

floor = unary("Floor", np.floor, "floor(x)", NO_GRADIENT, "x rounded down", FLOATING)
ceil = unary("Ceil", np.ceil, "ceil(x)", NO_GRADIENT, "x rounded up", FLOATING)
rint = unary("Rint", np.rint, "rint(x)", NO_GRADIENT, _NEAREST, FLOATING)
_round_op = unary("Round", _round, "rint(x)", NO_GRADIENT, _NEAREST, SIGNED + COMPLEX)
add_kernel("Round", "GPU", Elementwise("x", Call(_round)), types={"T": INTEGRAL}, priority=1)


def round(x: Any, name: str | None = None) -> Tensor:
    """Round x to the nearest integers. Halves are rounded to the nearest even integer. A tensor of
    integers is returned unchanged.

    >>> session.run(tf.round([0.5, 1.5, 2.4]))
    array([0., 2., 2.], dtype=float32)
    """
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    return tensor if tensor._dtype.is_integer else _round_op(tensor, name=name)


# -- kinds of numbers

is_nan, is_inf, is_finite = (
    unary(op_type, function, expression, NO_GRADIENT, doc, FLOATING, output="y: bool")
    for op_type, function, expression, doc in (
        ("IsNan", np.isnan, "x != x", "Whether x is NaN"),
        ("IsInf", np.isinf, "isinf(x)", "Whether x is positive or negative infinity"),
        ("IsFinite", np.isfinite, "isfinite(x)", "Whether x is neither infinite nor NaN"),
    )
)
