"""Ops that compute gradients of unary functions, mostly from the output y of the function.

Each op takes two tensors of the same shape, mostly y and dy. Each op itself has a gradient, so that
second derivatives exist. Only a few of the ops can write their output over an input, because most
NumPy kernels read an input after their first write to the output.

For complex numbers, the gradient is dy times the conjugate of the derivative. Most of the ops
conjugate y themselves, as TensorFlow's ops do. `TanhGrad` and `SigmoidGrad` receive the conjugate
of y instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import COMPLEX, FLOATING, DType
from gpugraph.ops.elementwise.arithmetic_functions import infer_one_shape
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_functions import INEXACT
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.numpy_derivation.numpy_terms import numpy_elementwise, numpy_kernel
from gpugraph.ops.framework.op_declaration import op, raw_ops


def _gradient_op(
    name: str,
    expression: str,
    grad: Any,
    doc: str,
    of_conjugate: bool = True,
    inputs: str = "y: T, dy: T",
    output: str = "z: T",
    types: Sequence[DType] = INEXACT,
) -> None:
    """Declare the gradient op of an elementwise op.

    Args:
      of_conjugate: whether the expression is evaluated for conj(y) instead of y. This has an effect
        only if y is complex.
    """
    op(
        name,
        inputs=inputs,
        outputs=output,
        attrs={"T": types},
        infer=infer_one_shape,
        cpu=numpy_elementwise(expression),
        elementwise=expression,
        grad=grad,
        doc=doc,
    )
    if of_conjugate:
        kernel = numpy_kernel(lambda _, y, dy: [y.apply("conj(x)").apply(expression, dy)])
        for device in ("CPU", "GPU"):
            add_kernel(name, device, kernel, types={"T": COMPLEX}, priority=1)


def _parts(op: Any, dz: Any) -> tuple[Any, Any]:
    """Return conj(y) and conj(dz) dy.

    The gradient for y is the second tensor times a function of the first.
    """
    y, dy = op.inputs
    return conj(y), raw_ops.Mul(conj(dz), dy)


def _holomorphic_parts(op: Any, dz: Any) -> tuple[Any, Any]:
    """Return conj(y) and dz conj(dy).

    The gradient for y is the second tensor times a function of the first.
    """
    y, dy = op.inputs
    return conj(y), raw_ops.Mul(dz, conj(dy))


def _by_both(
    op_type: str, parts: Callable[[Any, Any], tuple[Any, Any]], by_y: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], list[Any]]:
    """Return the gradient function of the op `op_type`, which is linear in dy.

    The gradient for dy is the op itself, applied to the first tensor of `parts` and dz.

    Args:
      parts: a function that computes two tensors from (op, dz).
      by_y: a function that computes the gradient for y from these two tensors.
    """

    def gradient(op: Any, dz: Any) -> list[Any]:
        y, both = parts(op, dz)
        return [by_y(y, both), getattr(raw_ops, op_type)(y, dz)]

    return gradient


def _sqrt_grad_gradient(op: Any, dz: Any) -> list[Any]:
    slope = raw_ops.RealDiv(dz, op.inputs[0])
    return [raw_ops.Neg(raw_ops.Mul(conj(slope), op.outputs[0])), raw_ops.Mul(slope, 0.5)]


_gradient_op(
    "SqrtGrad",
    "y == (T)0 ? (T)0 : rounded((T)0.5 * y) / x",
    _sqrt_grad_gradient,
    "dy / (2 y): the gradient of y = sqrt(x).",
)


_gradient_op(
    "RsqrtGrad",
    "y == (T)0 ? (T)0 : rounded(rounded((T)-0.5 * rounded(y * x)) * x) * x",
    _by_both(
        "RsqrtGrad", _parts, lambda y, both: raw_ops.Mul(raw_ops.Mul(both, raw_ops.Square(y)), -1.5)
    ),
    "-dy y y y / 2: the gradient of y = 1 / sqrt(x).",
)


def _minus_two_y(y: Any, both: Any) -> Any:
    return raw_ops.Mul(raw_ops.Mul(both, y), -2)


for _name in ("ReciprocalGrad", "InvGrad"):
    _gradient_op(
        _name,
        "y == (T)0 ? (T)0 : -rounded(x * x) * y",
        _by_both("ReciprocalGrad", _parts, _minus_two_y),
        "-dy y y: the gradient of y = 1 / x.",
    )


_gradient_op(
    "TanhGrad",
    "y * rounded((T)1 - rounded(x * x))",
    _by_both("TanhGrad", _holomorphic_parts, _minus_two_y),
    "dy (1 - y y): the gradient of y = tanh(x).",
    of_conjugate=False,
)


_gradient_op(
    "SigmoidGrad",
    "y * rounded(x * rounded((T)1 - x))",
    _by_both(
        "SigmoidGrad",
        _holomorphic_parts,
        lambda y, both: raw_ops.Mul(both, raw_ops.Sub(1, raw_ops.Mul(y, 2))),
    ),
    "dy y (1 - y): the gradient of y = sigmoid(x).",
    of_conjugate=False,
)


def _softplus_grad_gradient(op: Any, dz: Any) -> list[Any]:
    dy, x = op.inputs
    slope = raw_ops.SigmoidGrad(raw_ops.Sigmoid(x), raw_ops.Mul(dz, dy))
    return [raw_ops.SoftplusGrad(dz, x), slope]


_gradient_op(
    "SoftplusGrad",
    "x / rounded((T)1 + rounded(exp(-y)))",
    _softplus_grad_gradient,
    "gradients / (1 + exp(-features)): the gradient of softplus(features).",
    inputs="gradients: T, features: T",
    output="backprops: T",
    types=FLOATING,
    of_conjugate=False,
)
