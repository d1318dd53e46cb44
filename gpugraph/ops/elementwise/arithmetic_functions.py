"""Arithmetic on two tensors, which are broadcast as in NumPy. The functions have TensorFlow's names
and gradients.

An operand that is not a tensor is converted to the dtype of the other operand. All functions raise
TypeError if the dtypes differ or are not supported, and ValueError if the shapes cannot be
broadcast. Quotients and remainders are in `division`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from gpugraph.base.dtypes import (
    COMPLEX,
    FLOATING,
    INTEGRAL,
    NUMERIC,
    REAL,
    DType,
    float16,
    int32,
    int64,
    string,
    variant,
)
from gpugraph.base.errors import invalid_argument
from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, OpMemory, Signature
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.kernel_registry import HostOnly, add_kernel
from gpugraph.ops.framework.numpy_derivation.numpy_terms import numpy_elementwise
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import BinaryFunction, public_function
from gpugraph.ops.framework.shape_functions import broadcast
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast_pair

BINARY: dict[str, Any] = {
    "inputs": "x: T, y: T",
    "outputs": "z: T",
    "infer": broadcast,
    "memory": OpMemory(alias={0: 0}),
}
"""Keywords of `op` that are common to binary elementwise ops whose operands have one dtype."""


def binary(op_type: str, name: str = "", **declaration: Any) -> BinaryFunction:
    """Declare an op of two inputs, with the defaults in `BINARY`. Return its public function.

    The function is called `name` and takes (x, y, name=None). By default, the NumPy kernel is
    derived from the expression `elementwise`.

    Args:
      declaration: keyword arguments of `op`.
    """
    if "cpu" not in declaration:
        declaration["cpu"] = numpy_elementwise(declaration["elementwise"])
    return public_function(op(op_type, **{**BINARY, **declaration}), name)


_ADDITION: dict[str, Any] = {
    "cpu": Call(np.add),
    "elementwise": "x + y",
    "grad": lambda op, dz: unbroadcast_pair(op, dz, dz),
}

add = binary(
    "Add",
    **_ADDITION,
    attrs={"T": (*NUMERIC, string)},
    doc="x + y, elementwise, with broadcasting. Strings are concatenated.",
)
add_kernel("Add", "GPU", HostOnly("strings live on the host"), types={"T": (string,)}, priority=1)

_add_v2 = binary(
    "AddV2", **_ADDITION, attrs={"T": NUMERIC}, commutative=True, doc="x + y, elementwise."
)

subtract = binary(
    "Sub",
    "subtract",
    attrs={"T": NUMERIC},
    cpu=Call(np.subtract),
    elementwise="x - y",
    grad=lambda op, dz: unbroadcast_pair(op, dz, raw_ops.Neg(dz)),
    doc="x - y, elementwise, with broadcasting.",
)


def _mul_gradient(op: Any, dz: Any) -> list[Any]:
    x, y = op.inputs
    return unbroadcast_pair(op, raw_ops.Mul(dz, conj(y)), raw_ops.Mul(conj(x), dz))


multiply = binary(
    "Mul",
    "multiply",
    attrs={"T": NUMERIC},
    commutative=True,
    cpu=Call(np.multiply),
    elementwise="x * y",
    grad=_mul_gradient,
    doc="x * y, elementwise, with broadcasting.",
)


def _squared_difference_gradient(op: Any, dz: Any) -> list[Any]:
    x, y = op.inputs
    x_grad = raw_ops.Mul(dz, raw_ops.Mul(raw_ops.Sub(x, y), 2))
    return unbroadcast_pair(op, x_grad, raw_ops.Neg(x_grad))


_squared_difference_op = binary(
    "SquaredDifference",
    attrs={"T": (*FLOATING, int32, int64)},
    commutative=True,
    elementwise="rounded(x - y) * rounded(x - y)",
    grad=_squared_difference_gradient,
    doc="(x - y)(x - y), elementwise.",
)


def _is_complex(part: Any) -> bool:
    """Return whether any leaf of a nested structure is complex. A leaf is a tensor, variable,
    number or array.
    """
    for leaf in flatten(part):
        dtype = getattr(leaf, "dtype", None)
        if dtype.is_complex if isinstance(dtype, DType) else np.iscomplexobj(leaf):
            return True
    return False


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return (x - y)(x - y), elementwise. For complex numbers, return |x - y|².

    >>> session.run(tf.squared_difference([1.0, 2.0], [4.0, 2.0]))
    array([9., 0.], dtype=float32)
    """
    if not any(map(_is_complex, (x, y))):
        return _squared_difference_op(x, y, name=name)
    with op_scope(name, "SquaredDifference", x, y) as scope:
        difference: Tensor = raw_ops.Sub(x, y)
        product: Tensor = raw_ops.Mul(conj(difference), difference, name=scope)
        return product


def _chosen_gradient(compare: str) -> Callable[..., list[Any]]:
    """Return the gradient function of Maximum or Minimum.

    If `compare(x, y)` is true, which includes equal elements, the gradient of x is dz. Otherwise
    the gradient of y is dz.
    """

    def gradient(op: Any, dz: Any) -> list[Any]:
        x, y = op.inputs
        mine = getattr(raw_ops, compare)(x, y)
        zeros = raw_ops.ZerosLike(dz)
        x_grad = raw_ops.Select(mine, dz, zeros)
        return unbroadcast_pair(op, x_grad, raw_ops.Select(mine, zeros, dz))

    return gradient


def _by_name(ufunc: Any) -> Call:
    """Return a NumPy kernel for `ufunc`, whose output must be passed as a keyword argument."""
    return Call(make=lambda context, x, y, out: partial(ufunc, x, y, out=out))


def _extreme(op_type: str, ufunc: Any, relation: str, compare: str, which: str) -> BinaryFunction:
    function = binary(
        op_type,
        attrs={"T": REAL},
        cpu=_by_name(ufunc),
        elementwise=f"(x {relation} y) + (x != x) > 0 ? x : y",
        grad=_chosen_gradient(compare),
        doc=f"The {which} of x and y, elementwise; NaN where either is NaN.",
    )
    of_half = Elementwise(f"(x {relation}= y) + (x != x) > 0 ? x : y", _by_name(ufunc))
    add_kernel(
        op_type, "GPU", of_half, types={"T": [float16]}, priority=1
    )  # of +0 and -0, x is returned
    return function


maximum = _extreme("Maximum", np.maximum, ">", "GreaterEqual", "larger")
minimum = _extreme("Minimum", np.minimum, "<", "LessEqual", "smaller")

_POWERS = {1.0: np.positive, 2.0: np.square}


def _power(x: Any, y: Any, out: Any) -> None:
    if y.ndim == 0:
        known = _POWERS.get(y[()])
        if known is not None:
            known(x, out=out)
            return
    try:
        np.power(x, y, out=out)
    except ValueError as error:
        raise invalid_argument("Integers to negative integer powers are not allowed") from error


def _pow_gradient(op: Any, dz: Any) -> list[Any]:
    """Return the gradient of x, which is dz y x^(y-1), and the gradient of y, which is dz z log(x).

    The logarithm is replaced by 0 where x <= 0. For complex numbers, it is replaced by 0 where x is
    0.
    """
    x, y, z = conj(op.inputs[0]), conj(op.inputs[1]), conj(op.outputs[0])
    zeros = raw_ops.ZerosLike(x)
    there = raw_ops.NotEqual if x.dtype.is_complex else raw_ops.Greater
    mask = there(x, zeros)
    safe = raw_ops.Select(mask, x, raw_ops.OnesLike(x))
    log_x = raw_ops.Select(mask, raw_ops.Log(safe), zeros)
    x_grad = raw_ops.Mul(raw_ops.Mul(dz, y), raw_ops.Pow(x, raw_ops.Sub(y, 1)))
    return unbroadcast_pair(op, x_grad, raw_ops.Mul(raw_ops.Mul(dz, z), log_x))


pow = binary(
    "Pow",
    attrs={"T": (*FLOATING, *INTEGRAL, *COMPLEX)},
    cpu=Call(_power),
    elementwise="pow(x, y)",
    grad=_pow_gradient,
    doc=(
        "x to the power y, elementwise. Raises InvalidArgumentError if an integer is raised to a "
        "negative power."
    ),
)
add_kernel("Pow", "GPU", Call(_power), types={"T": INTEGRAL}, priority=1)


def infer_one_shape(context: InferContext) -> Sequence[TensorShape]:
    """Merge the static shapes of all inputs into one shape. A size of the result is known if it is
    known in any of the shapes. Raises ValueError if the shapes are incompatible.
    """
    shape = context.shapes[0]
    for other in context.shapes[1:]:
        shape = shape.merge_with(other)
    return [shape]


def _sum_all(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *terms, out = arrays
    if len(terms) == 1:
        return partial(np.copyto, out, terms[0])
    if len(terms) == 2:
        return partial(np.add, terms[0], terms[1], out)
    total, (first, second, *rest) = out, terms
    if any(
        np.may_share_memory(term, out) for term in rest
    ):  # the output is the memory of a term that is read later
        total = context.scratch(context.output_shapes[0], context.output_types[0])

    def run() -> None:
        np.add(first, second, total)
        for term in rest:
            np.add(total, term, total)
        if total is not out:
            np.copyto(out, total)

    return run


def sum_in_order(_: Signature, *terms: Term) -> list[Term]:
    """Return the formula that adds terms from the first to the last."""
    return [reduce(operator.add, terms)]


_add_n = op(
    "AddN",
    inputs="inputs: N*T",
    outputs="sum: T",
    attrs={"T": (*NUMERIC, variant)},
    infer=infer_one_shape,
    memory=OpMemory(alias={0: 0}),
    commutative=True,
    **numpy_kernels(Call(make=_sum_all)),
    native=decomposition(sum_in_order),
    grad=lambda op, dy: [dy] * len(op.inputs),
    doc="The elementwise sum of N tensors of the same shape.",
)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the elementwise sum of the tensors in the list `inputs`, which have the same shape and
    dtype.

    A single tensor is returned unchanged. Raises ValueError if the list is empty or the shapes
    differ.

    >>> session.run(tf.add_n([[1, 2], [3, 4], [5, 6]]))
    array([ 9, 12], dtype=int32)
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("add_n takes a list of at least one tensor of the same dtype and shape")
    tensors = convert_n_to_tensor(inputs)
    if len(tensors) == 1:
        return raw_ops.Identity(tensors[0], name=name) if name else tensors[0]
    return _add_n(tensors, name=name)
