"""The activation functions of the relu family and elu, and the ops that compute their gradients.

As in TensorFlow, the gradient is a product with 0 or 1, not a selection. If the output has an
infinite gradient where the activation is 0, the result is therefore NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, REAL, DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, Signature
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.kernel_registry import add_kernel
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
    kernel: Call,
    expression: str,
    grad: Callable[[Any, Any], Any],
    doc: str,
    types: Sequence[DType] = FLOATING,
    alias: Mapping[int, int] | None = None,
) -> FeaturesFunction:
    """Declare an activation op and return its public function.

    Args:
      kernel: the NumPy kernel.
      expression: a C expression for one element of the output, in terms of `x`.
      grad: the gradient function.
      alias: for each output, the input whose memory it may use.
    """
    declared = op(
        name, **_FORWARD, attrs={"T": types}, alias=alias, cpu=kernel, elementwise=expression,
        grad=grad, doc=doc,
    )  # fmt: skip
    function: FeaturesFunction = public_function(declared)
    return function


def activation_gradient(
    name: str,
    source: str,
    kernel: Call,
    expression: str,
    grad: Callable[[Any, Any], list[Any]],
    doc: str,
    types: Sequence[DType] = FLOATING,
    alias: Mapping[int, int] | None = None,
) -> None:
    """Declare the gradient op of an activation.

    Args:
      source: the name of the second input. It is `features`, the activation's input, or `outputs`,
        the activation's result.
    """
    op(
        name, inputs=f"gradients: T, {source}: T", **_BACKWARD, attrs={"T": types}, alias=alias,
        cpu=kernel, elementwise=expression, grad=grad, doc=doc,
    )  # fmt: skip


def _relu_grad_back(op: Any, ddy: Any) -> list[Any]:
    """Return the gradients of ReluGrad or Relu6Grad. The gradient with respect to `features` is
    0.
    """
    features = op.inputs[1]
    return [getattr(raw_ops, op.type)(ddy, features), raw_ops.ZerosLike(features)]


def exponential_grad_back(op: Any, ddy: Any) -> list[Any]:
    """Return the gradients of an op such as EluGrad.

    Where `outputs` are negative, the op multiplies by `outputs` plus a constant.
    """
    dy, outputs = op.inputs
    zeros = raw_ops.ZerosLike(outputs)
    negative = raw_ops.Less(outputs, zeros)
    back = getattr(raw_ops, op.type)(ddy, outputs)
    return [back, raw_ops.Select(negative, raw_ops.Mul(ddy, dy), zeros)]


# -- relu


def _relu(features: Any, out: Any) -> None:
    np.maximum(features, 0, out=out)


def _bind_relu_grad(context: KernelContext, dy: Any, features: Any, out: Any) -> Callable[[], Any]:
    alive = context.scratch(features.shape, dtypes.bool)

    def run() -> None:
        np.greater(features, 0, out=alive)
        np.multiply(dy, alive, out=out)

    return run


relu = activation(
    "Relu", Call(_relu), "x <= (T)0 ? (T)0 : x", lambda op, dy: raw_ops.ReluGrad(dy, op.outputs[0]),
    "max(features, 0), elementwise, for real dtypes.", REAL, {0: 0},
)  # fmt: skip
activation_gradient(
    "ReluGrad", "features", Call(make=_bind_relu_grad), "x * (T)(y > (T)0)", _relu_grad_back,
    "gradients where features > 0, else 0", REAL, {0: 0},
)  # fmt: skip


# -- relu6


def _relu6(features: Any, out: Any) -> None:
    np.maximum(features, 0, out=out)
    np.minimum(out, 6, out=out)


def _bind_relu6_grad(context: KernelContext, dy: Any, features: Any, out: Any) -> Callable[[], Any]:
    alive = context.scratch(features.shape, dtypes.bool)
    below = context.scratch(features.shape, dtypes.bool)

    def run() -> None:
        np.greater(features, 0, out=alive)
        np.less(features, 6, out=below)
        np.logical_and(alive, below, out=alive)
        np.multiply(dy, alive, out=out)

    return run


relu6 = activation(
    "Relu6", Call(_relu6), "x <= (T)0 ? (T)0 : (x > (T)6 ? (T)6 : x)",
    lambda op, dy: raw_ops.Relu6Grad(dy, op.outputs[0]),
    "min(max(features, 0), 6), elementwise, for real dtypes.", REAL, {0: 0},
)  # fmt: skip
activation_gradient(
    "Relu6Grad", "features", Call(make=_bind_relu6_grad), "x * (T)(y > (T)0 && y < (T)6)",
    _relu_grad_back, "gradients where 0 < features < 6, else 0", REAL, {0: 0},
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
        return _bind_leaky_of_any_alpha(context, features, out)

    def run() -> None:
        np.multiply(features, alpha, out=out)
        np.maximum(features, out, out=out)

    return run


def _bind_leaky_of_any_alpha(context: KernelContext, features: Any, out: Any) -> Callable[[], Any]:
    alpha, alive = context.attrs["alpha"], context.scratch(features.shape, dtypes.bool)

    def run() -> None:
        np.greater(features, 0, out=alive)
        np.multiply(features, alpha, out=out)
        np.copyto(out, features, where=alive)

    return run


def _bind_leaky_grad(context: KernelContext, dy: Any, features: Any, out: Any) -> Callable[[], Any]:
    alpha = dy.dtype.type(context.attrs["alpha"])
    alive = context.scratch(features.shape, dtypes.bool)
    slope = context.scratch(features.shape, context.input_types[0].base_dtype)

    def run() -> None:
        np.greater(features, 0, out=alive)
        np.maximum(alive, alpha, out=slope)
        np.multiply(dy, slope, out=out)

    def run_any_alpha() -> None:
        np.greater(features, 0, out=alive)
        np.multiply(dy, alpha, out=out)
        np.copyto(out, dy, where=alive)

    return run if 0 <= alpha <= 1 else run_any_alpha


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
    doc="`features` where positive, otherwise alpha * features.",
)

op(
    "LeakyReluGrad",
    inputs="gradients: T, features: T",
    **_BACKWARD,
    attrs={"alpha": Attr("float", 0.2), "T": FLOATING},
    **numpy_kernels(Call(make=_bind_leaky_grad), decomposition(_leaky_slope)),
    grad=lambda op, ddy: [
        raw_ops.LeakyReluGrad(ddy, op.inputs[1], alpha=op.attrs["alpha"]),
        raw_ops.ZerosLike(op.inputs[1]),
    ],
    doc="`gradients` where features > 0, otherwise alpha * gradients.",
)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Return `features` where they are positive, and alpha * features elsewhere. Ints are converted
    to float32.

    >>> session.run(tf.nn.leaky_relu([-1.0, 1.0]))
    array([-0.2,  1. ], dtype=float32)
    """
    source = convert_to_tensor(features, name="features")
    if source.dtype.is_integer:
        source = raw_ops.Cast(source, DstT=dtypes.float32)
    return _leaky_relu(source, alpha=float(alpha), name=name)


# -- elu


def _bind_elu(context: KernelContext, features: Any, out: Any) -> Callable[[], Any]:
    is_other = context.scratch(features.shape, dtypes.bool)

    def run() -> None:
        np.less(features, 0, out=is_other)
        np.logical_not(is_other, out=is_other)
        np.minimum(features, 0, out=out)
        np.exp(out, out=out)
        np.subtract(out, 1, out=out)
        np.copyto(out, features, where=is_other)

    return run


def _bind_elu_grad(context: KernelContext, dy: Any, outputs: Any, out: Any) -> Callable[[], Any]:
    slope = context.scratch(outputs.shape, context.input_types[1].base_dtype)

    def run() -> None:
        np.fmin(outputs, 0, out=slope)  # fmin gives 0 for NaN, which does not count as negative
        np.add(slope, 1, out=slope)
        np.multiply(dy, slope, out=out)

    return run


elu = activation(
    "Elu", Call(make=_bind_elu), "x < (T)0 ? rounded(exp(x)) - (T)1 : x",
    lambda op, dy: raw_ops.EluGrad(dy, op.outputs[0]),
    "`features` where positive, else exp(features) - 1, elementwise, for floats.",
)  # fmt: skip
activation_gradient(
    "EluGrad", "outputs", Call(make=_bind_elu_grad), "x * rounded((y < (T)0 ? y : (T)0) + (T)1)",
    exponential_grad_back, "gradients where outputs >= 0, else gradients * (outputs + 1)",
    alias={0: 0},
)  # fmt: skip
