"""The activation functions of the relu family and elu, and the ops that compute their gradients.

As in TensorFlow, the gradient is dy multiplied by 0 or 1, not a selection. So if dy is infinite
where the activation is 0, the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, REAL, DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import SEPARATE, Call, Elementwise, KernelContext, OpMemory, Signature
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.numpy_derivation.numpy_terms import numpy_elementwise, numpy_kernel
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.public_function import FeaturesFunction, public_function
from gpugraph.ops.framework.shape_functions import same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _infer_backprop(context: InferContext) -> list[TensorShape]:
    return [context.shapes[0].merge_with(context.shapes[1])]


_FORWARD: dict[str, Any] = {
    "inputs": "features: T",
    "outputs": "activations: T",
    "infer": same_shape(0),
}
"""The arguments of `op` that are the same for all activations."""
_BACKWARD: dict[str, Any] = {"outputs": "backprops: T", "infer": _infer_backprop}
"""The arguments of `op` that all gradients of activations share."""


def activation(
    name: str,
    kernel: Call | None,
    expression: str,
    grad: Callable[[Any, Any], Any],
    doc: str,
    types: Sequence[DType] = FLOATING,
    memory: OpMemory = SEPARATE,
) -> FeaturesFunction:
    """Declare an activation op and return its public function.

    Args:
      kernel: the NumPy kernel, by default derived from `expression`.
      expression: a C expression of `x` for one element.
      grad: the gradient function.
      memory: the op's use of memory.
    """
    declared = op(
        name, **_FORWARD, attrs={"T": types}, memory=memory,
        cpu=kernel or numpy_elementwise(expression), elementwise=expression, grad=grad, doc=doc,
    )  # fmt: skip
    function: FeaturesFunction = public_function(declared)
    return function


def activation_gradient(
    name: str,
    source: str,
    kernel: Call | None,
    expression: str,
    grad: Callable[[Any, Any], list[Any]],
    doc: str,
    types: Sequence[DType] = FLOATING,
    memory: OpMemory = SEPARATE,
) -> None:
    """Declare the gradient op of an activation.

    Args:
      source: the name of the second input. It is `features`, the activation's input, or `outputs`,
        the activation's result.
    """
    op(
        name, inputs=f"gradients: T, {source}: T", **_BACKWARD, attrs={"T": types}, memory=memory,
        cpu=kernel or numpy_elementwise(expression), elementwise=expression, grad=grad, doc=doc,
    )  # fmt: skip


def _relu_grad_back(op: Any, ddy: Any) -> list[Any]:
    """Return the gradients of ReluGrad or Relu6Grad. The gradient with respect to `features` is
    0.
    """
    features = op.inputs[1]
    return [getattr(raw_ops, op.type)(ddy, features), raw_ops.ZerosLike(features)]


def exponential_grad_back(op: Any, ddy: Any) -> list[Any]:
    """Return the gradients of an op such as EluGrad.

    Where `outputs` are negative, the op multiplies `gradients` by `outputs` plus a constant.
    """
    dy, outputs = op.inputs
    zeros = raw_ops.ZerosLike(outputs)
    negative = raw_ops.Less(outputs, zeros)
    back = getattr(raw_ops, op.type)(ddy, outputs)
    return [back, raw_ops.Select(negative, raw_ops.Mul(ddy, dy), zeros)]


# -- relu


def _relu(features: Any, out: Any) -> None:
    np.maximum(features, 0, out=out)


relu = activation(
    "Relu", Call(_relu), "x <= (T)0 ? (T)0 : x", lambda op, dy: raw_ops.ReluGrad(dy, op.outputs[0]),
    "max(features, 0), elementwise, for real dtypes.", REAL, OpMemory(alias={0: 0}),
)  # fmt: skip
activation_gradient(
    "ReluGrad", "features", None, "x * (T)(y > (T)0)", _relu_grad_back,
    "gradients where features > 0, else 0", REAL, OpMemory(alias={0: 0}),
)  # fmt: skip


# -- relu6


def _relu6(features: Any, out: Any) -> None:
    np.maximum(features, 0, out=out)
    np.minimum(out, 6, out=out)


relu6 = activation(
    "Relu6", Call(_relu6), "x <= (T)0 ? (T)0 : (x > (T)6 ? (T)6 : x)",
    lambda op, dy: raw_ops.Relu6Grad(dy, op.outputs[0]),
    "min(max(features, 0), 6), elementwise, for real dtypes.", REAL, OpMemory(alias={0: 0}),
)  # fmt: skip
activation_gradient(
    "Relu6Grad", "features", None, "x * (T)(y > (T)0) * (T)(y < (T)6)",
    _relu_grad_back, "gradients where 0 < features < 6, else 0", REAL, OpMemory(alias={0: 0}),
)  # fmt: skip


for _name, _kernel, _expression in (
    ("Relu", _relu, "x < (T)0 ? (T)0 : x"),
    ("Relu6", _relu6, "x < (T)0 ? (T)0 : (x > (T)6 ? (T)6 : x)"),
):  # In float16, NumPy's maximum returns -0 for -0, but the expressions of other dtypes return 0.
    add_kernel(
        _name, "GPU", Elementwise(_expression, Call(_kernel)), types={"T": [dtypes.float16]},
        priority=1,
    )  # fmt: skip


# -- leaky relu


def _bind_leaky(context: KernelContext, features: Any, out: Any) -> Callable[[], Any]:
    alpha = context.attrs["alpha"]
    if not 0 < alpha <= 1:
        return numpy_kernel(_leaky).bind(context, [features, out])

    def run() -> None:  # the maximum takes a third of the time of a choice
        np.multiply(features, alpha, out=out)
        np.maximum(features, out, out=out)

    return run


def _leaky(signature: Signature, features: Term) -> list[Term]:
    return [features.apply("x > (T)0 ? x : y", features * signature.attrs["alpha"])]


def _leaky_slope(signature: Signature, dy: Term, features: Term) -> list[Term]:
    return [dy.apply("y > (T)0 ? x : x * z", features, signature.attrs["alpha"])]


_leaky_relu = op(
    "LeakyRelu",
    **_FORWARD,
    attrs={"alpha": Attr("float", 0.2), "T": FLOATING},
    **numpy_kernels(Call(make=_bind_leaky), decomposition(_leaky)),
    grad=lambda op, dy: raw_ops.LeakyReluGrad(dy, op.inputs[0], alpha=op.attrs["alpha"]),
    doc="`features` where they are positive, otherwise alpha * features.",
)

op(
    "LeakyReluGrad",
    inputs="gradients: T, features: T",
    **_BACKWARD,
    attrs={"alpha": Attr("float", 0.2), "T": FLOATING},
    **numpy_kernels(numpy_kernel(_leaky_slope), decomposition(_leaky_slope)),
    grad=lambda op, ddy: [
        raw_ops.LeakyReluGrad(ddy, op.inputs[1], alpha=op.attrs["alpha"]),
        raw_ops.ZerosLike(op.inputs[1]),
    ],
    doc="`gradients` where features > 0, otherwise alpha * gradients.",
)


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """Return `features` where they are positive, and alpha * features elsewhere. Integers become
    float32.

    A tensor `alpha` multiplies the features that are not positive, with broadcasting.

    >>> session.run(tf.nn.leaky_relu([-1.0, 1.0]))
    array([-0.2,  1. ], dtype=float32)
    """
    source = convert_to_tensor(features, name="features")
    if source.dtype.is_integer:
        source = raw_ops.Cast(source, DstT=dtypes.float32)
    if isinstance(alpha, (int, float, np.generic, np.ndarray)):
        return _leaky_relu(source, alpha=float(alpha), name=name)
    with source.graph.name_scope(name or "LeakyRelu") as scope:
        slope = convert_to_tensor(alpha, source.dtype)
        return raw_ops.Maximum(source, raw_ops.Mul(slope, source), name=scope)


# -- elu


elu = activation(
    "Elu", None, "x < (T)0 ? rounded(exp(x)) - (T)1 : x",
    lambda op, dy: raw_ops.EluGrad(dy, op.outputs[0]),
    "`features` where positive, else exp(features) - 1, elementwise, for floats.",
)  # fmt: skip
activation_gradient(
    "EluGrad", "outputs", None, "x * rounded((y < (T)0 ? y : (T)0) + (T)1)",
    exponential_grad_back, "gradients where outputs >= 0, else gradients * (outputs + 1)",
    memory=OpMemory(alias={0: 0}),
)  # fmt: skip
