"""The activation functions selu, softsign, swish and crelu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.relu_and_elu import (
    activation,
    activation_gradient,
    exponential_grad_back,
    relu,
)

_SCALE = 1.0507009873554804934193349852946
_ALPHA = 1.7580993408473768599402175208123
"""Constants of selu: the slope for positive inputs is `_SCALE`, the limit for very negative inputs
-`_ALPHA` (Klambauer et al. 2017).
"""
_SLOPE, _LIMIT = f"rounded((T){_SCALE})", f"rounded((T){_ALPHA})"


# -- selu


def _bind_selu(context: KernelContext, features: Any, out: Any) -> Callable[[], Any]:
    scale, alpha = (features.dtype.type(value) for value in (_SCALE, _ALPHA))
    is_other = context.scratch(features.shape, dtypes.bool)

    def run() -> None:
        np.less(features, 0, out=is_other)
        np.logical_not(is_other, out=is_other)
        np.minimum(features, 0, out=out)
        np.exp(out, out=out)
        np.subtract(out, 1, out=out)
        np.multiply(out, alpha, out=out)
        np.multiply(features, scale, out=out, where=is_other)

    return run


def _bind_selu_grad(context: KernelContext, dy: Any, outputs: Any, out: Any) -> Callable[[], Any]:
    scale, alpha = (outputs.dtype.type(value) for value in (_SCALE, _ALPHA))
    slope = context.scratch(outputs.shape, context.input_types[1].base_dtype)
    below = context.scratch(outputs.shape, dtypes.bool)

    def run() -> None:
        slope.fill(scale)
        np.less(outputs, 0, out=below)
        np.add(outputs, alpha, out=slope, where=below)
        np.multiply(dy, slope, out=out)

    return run


selu = activation(
    "Selu", Call(make=_bind_selu),
    f"x < (T)0 ? {_LIMIT} * rounded(rounded(exp(x)) - (T)1) : {_SLOPE} * x",
    lambda op, dy: raw_ops.SeluGrad(dy, op.outputs[0]),
    "scale * features where positive, else scale * alpha * (exp(features) - 1), for floats.",
)  # fmt: skip
activation_gradient(
    "SeluGrad", "outputs", Call(make=_bind_selu_grad),
    f"y < (T)0 ? x * rounded(y + {_LIMIT}) : x * {_SLOPE}", exponential_grad_back,
    "gradients * (outputs + scale * alpha) where outputs are negative, else times scale",
)  # fmt: skip


# -- softsign


def _bind_softsign(context: KernelContext, features: Any, out: Any) -> Callable[[], Any]:
    divisor = context.scratch(features.shape, context.input_types[0].base_dtype)

    def run() -> None:
        np.abs(features, out=divisor)
        np.add(divisor, 1, out=divisor)
        np.divide(features, divisor, out=out)

    return run


def _bind_softsign_grad(
    context: KernelContext, dy: Any, features: Any, out: Any
) -> Callable[[], Any]:
    divisor = context.scratch(features.shape, context.input_types[0].base_dtype)

    def run() -> None:
        np.abs(features, out=divisor)
        np.add(divisor, 1, out=divisor)
        np.multiply(divisor, divisor, out=divisor)
        np.divide(dy, divisor, out=out)

    return run


def _softsign_grad_back(op: Any, ddy: Any) -> list[Any]:
    dy, features = op.inputs
    first = raw_ops.SoftsignGrad(ddy, features)
    size = raw_ops.Abs(features)
    bent = raw_ops.RealDiv(raw_ops.Sign(features), raw_ops.Add(size, raw_ops.OnesLike(size)))
    product = raw_ops.Mul(raw_ops.Mul(first, dy), bent)
    return [first, raw_ops.Neg(raw_ops.Add(product, product))]


softsign = activation(
    "Softsign", Call(make=_bind_softsign), "x / rounded((T)1 + fabs(x))",
    lambda op, dy: raw_ops.SoftsignGrad(dy, op.inputs[0]),
    "features / (|features| + 1), elementwise, for floats.",
)  # fmt: skip
activation_gradient(
    "SoftsignGrad", "features", Call(make=_bind_softsign_grad),
    "x / rounded(rounded((T)1 + fabs(y)) * rounded((T)1 + fabs(y)))", _softsign_grad_back,
    "gradients / (|features| + 1) ** 2",
)  # fmt: skip


# -- compositions


def swish(features: Any) -> Tensor:
    """Return features * sigmoid(features), elementwise, for floats."""
    source = convert_to_tensor(features, name="features")
    return raw_ops.Mul(source, raw_ops.Sigmoid(source), name="swish")


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Concatenate relu of `features` and of -`features` along `axis`.

    >>> session.run(tf.nn.crelu([1.0, -2.0]))
    array([1., 0., 0., 2.], dtype=float32)
    """
    with op_scope(name, "CRelu", features) as scope:
        source = convert_to_tensor(features, name="features")
        return relu(concat([source, -source], axis, name=scope))
