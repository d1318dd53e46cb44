"""Ops that compute gradients of unary functions, mostly from the output y of the function.

Each op takes two tensors of the same shape, mostly y and dy. Each op itself has a gradient, so that
second derivatives exist. Few of the ops can write their output over an input, because most NumPy
kernels read an input after their first write to the output.

For complex numbers the gradient is dy times the conjugate of the derivative. Most of the ops
conjugate y themselves, as TensorFlow's ops do. `TanhGrad` and `SigmoidGrad` receive the conjugate
of y instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX, FLOATING, DType
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.elementwise.arithmetic_functions import infer_one_shape
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_functions import INEXACT
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.op_declaration import op, raw_ops


def _gradient_op(
    name: str,
    function: Callable[..., Any],
    expression: str,
    grad: Any,
    doc: str,
    alias: Mapping[int, int] | None = None,
    of_conjugate: bool = True,
    inputs: str = "y: T, dy: T",
    output: str = "z: T",
    types: Sequence[DType] = INEXACT,
) -> None:
    op(
        name,
        inputs=inputs,
        outputs=output,
        attrs={"T": types},
        infer=infer_one_shape,
        alias=alias,
        cpu=Call(function),
        elementwise=expression,
        grad=grad,
        doc=doc,
    )
    for device in ("CPU", "GPU") if of_conjugate else ():
        add_kernel(name, device, _of_conjugate(function), types={"T": COMPLEX}, priority=1)


def _of_conjugate(function: Callable[..., Any]) -> Call:
    """Return a NumPy kernel that calls `function(conj(y), dy, out)`."""

    def make(context: KernelContext, y: Any, dy: Any, out: Any) -> Callable[[], Any]:
        conjugate = context.scratch(context.input_shapes[0], context.input_types[0].base_dtype)
        compute = partial(function, conjugate, dy, out)

        def run() -> None:
            np.conjugate(y, out=conjugate)
            compute()

        return run

    return Call(make=make)


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


def _zero_where_dy_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function(y, dy, out)` to write 0 where dy is 0.

    TensorFlow also writes 0 there, even where y is 0, infinite or NaN.
    """

    def compute(y: Any, dy: Any, out: Any) -> None:
        is_zero = dy == 0
        function(y, dy, out)
        if is_zero.any():
            np.copyto(out, 0, where=is_zero)

    return compute


@_zero_where_dy_is
def _sqrt_grad(y: Any, dy: Any, out: Any) -> None:
    np.multiply(dy, 0.5, out=out)
    np.divide(out, y, out=out)


def _sqrt_grad_gradient(op: Any, dz: Any) -> list[Any]:
    slope = raw_ops.RealDiv(dz, op.inputs[0])
    return [raw_ops.Neg(raw_ops.Mul(conj(slope), op.outputs[0])), raw_ops.Mul(slope, 0.5)]


_gradient_op(
    "SqrtGrad",
    _sqrt_grad,
    "y == (T)0 ? (T)0 : rounded((T)0.5 * y) / x",
    _sqrt_grad_gradient,
    "dy / (2 y): the gradient of y = sqrt(x).",
)


@_zero_where_dy_is
def _rsqrt_grad(y: Any, dy: Any, out: Any) -> None:
    np.multiply(dy, y, out=out)
    np.multiply(out, -0.5, out=out)
    np.multiply(out, y, out=out)
    np.multiply(out, y, out=out)


_gradient_op(
    "RsqrtGrad",
    _rsqrt_grad,
    "y == (T)0 ? (T)0 : rounded(rounded((T)-0.5 * rounded(y * x)) * x) * x",
    _by_both(
        "RsqrtGrad", _parts, lambda y, both: raw_ops.Mul(raw_ops.Mul(both, raw_ops.Square(y)), -1.5)
    ),
    "-dy y y y / 2: the gradient of y = 1 / sqrt(x).",
)


@_zero_where_dy_is
def _reciprocal_grad(y: Any, dy: Any, out: Any) -> None:
    np.multiply(y, y, out=out)
    np.multiply(out, dy, out=out)
    np.negative(out, out=out)


def _minus_two_y(y: Any, both: Any) -> Any:
    return raw_ops.Mul(raw_ops.Mul(both, y), -2)


for _name in ("ReciprocalGrad", "InvGrad"):
    _gradient_op(
        _name,
        _reciprocal_grad,
        "y == (T)0 ? (T)0 : -rounded(x * x) * y",
        _by_both("ReciprocalGrad", _parts, _minus_two_y),
        "-dy y y: the gradient of y = 1 / x.",
    )


def _tanh_grad(y: Any, dy: Any, out: Any) -> None:
    np.multiply(y, y, out=out)
    np.subtract(1, out, out=out)
    np.multiply(out, dy, out=out)


_gradient_op(
    "TanhGrad",
    _tanh_grad,
    "y * rounded((T)1 - rounded(x * x))",
    _by_both("TanhGrad", _holomorphic_parts, _minus_two_y),
    "dy (1 - y y): the gradient of y = tanh(x).",
    of_conjugate=False,
)


def _sigmoid_grad(y: Any, dy: Any, out: Any) -> None:
    np.subtract(1, y, out=out)
    np.multiply(out, y, out=out)
    np.multiply(out, dy, out=out)


_gradient_op(
    "SigmoidGrad",
    _sigmoid_grad,
    "y * rounded(x * rounded((T)1 - x))",
    _by_both(
        "SigmoidGrad",
        _holomorphic_parts,
        lambda y, both: raw_ops.Mul(both, raw_ops.Sub(1, raw_ops.Mul(y, 2))),
    ),
    "dy y (1 - y): the gradient of y = sigmoid(x).",
    of_conjugate=False,
)


def _softplus_grad(gradients: Any, features: Any, out: Any) -> None:
    np.negative(features, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(gradients, out, out=out)


def _softplus_grad_gradient(op: Any, dz: Any) -> list[Any]:
    dy, x = op.inputs
    slope = raw_ops.SigmoidGrad(raw_ops.Sigmoid(x), raw_ops.Mul(dz, dy))
    return [raw_ops.SoftplusGrad(dz, x), slope]


_gradient_op(
    "SoftplusGrad",
    _softplus_grad,
    "x / rounded((T)1 + rounded(exp(-y)))",
    _softplus_grad_gradient,
    "gradients / (1 + exp(-features)): the gradient of softplus(features).",
    of_conjugate=False,
    inputs="gradients: T, features: T",
    output="backprops: T",
    types=FLOATING,
)
