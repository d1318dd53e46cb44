"""The activation functions selu, softsign, swish and crelu."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
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


selu = activation(
    "Selu", None,
    f"x < (T)0 ? {_LIMIT} * rounded(rounded(exp(x)) - (T)1) : {_SLOPE} * x",
    lambda op, dy: raw_ops.SeluGrad(dy, op.outputs[0]),
    "scale * features where positive, else scale * alpha * (exp(features) - 1), for floats.",
)  # fmt: skip
activation_gradient(
    "SeluGrad", "outputs", None,
    f"y < (T)0 ? x * rounded(y + {_LIMIT}) : x * {_SLOPE}", exponential_grad_back,
    "gradients * (outputs + scale * alpha) where outputs are negative, else times scale",
)  # fmt: skip


# -- softsign


def _softsign_grad_back(op: Any, ddy: Any) -> list[Any]:
    dy, features = op.inputs
    first = raw_ops.SoftsignGrad(ddy, features)
    size = raw_ops.Abs(features)
    bent = raw_ops.RealDiv(raw_ops.Sign(features), raw_ops.Add(size, raw_ops.OnesLike(size)))
    product = raw_ops.Mul(raw_ops.Mul(first, dy), bent)
    return [first, raw_ops.Neg(raw_ops.Add(product, product))]


softsign = activation(
    "Softsign", None, "x / rounded((T)1 + fabs(x))",
    lambda op, dy: raw_ops.SoftsignGrad(dy, op.inputs[0]),
    "features / (|features| + 1), elementwise, for floats.",
)  # fmt: skip
activation_gradient(
    "SoftsignGrad", "features", None,
    "x / rounded(rounded((T)1 + fabs(y)) * rounded((T)1 + fabs(y)))", _softsign_grad_back,
    "gradients / (|features| + 1) ** 2",
)  # fmt: skip


# -- compositions


def swish(features: Any) -> Tensor:
    """Return features * sigmoid(features), elementwise, for floats."""
    source = convert_to_tensor(features, name="features")
    return raw_ops.Mul(source, raw_ops.Sigmoid(source), name="swish")


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Concatenate relu(features) and relu(-features) along `axis`.

    >>> session.run(tf.nn.crelu([1.0, -2.0]))
    array([1., 0., 0., 2.], dtype=float32)
    """
    with op_scope(name, "CRelu", features) as scope:
        source = convert_to_tensor(features, name="features")
        return relu(concat([source, -source], axis, name=scope))
