"""Comparisons, boolean logic, and selection between two tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, REAL, bool as boolean, string
from gpugraph.base.shapes import TensorShape, broadcast_shapes, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import SEPARATE, Call, KernelContext, OpMemory, Signature
from gpugraph.ops.elementwise.arithmetic_functions import binary
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_registry import HostOnly, add_kernel
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.public_function import BinaryFunction, UnaryFunction, public_function
from gpugraph.ops.framework.shape_functions import IN_PLACE, SCALAR, UNKNOWN, broadcast
from gpugraph.ops.framework.unbroadcasting import unbroadcast

# -- comparisons


def _predicate(op_type: str, expression: str, doc: str, **declaration: Any) -> BinaryFunction:
    """Declare a broadcasting op of two tensors with a bool output and without a gradient.

    Args:
      expression: a C expression for one element of the output, in terms of `x` and `y`.
      declaration: additional keyword arguments of `op`.
    """
    return binary(
        op_type,
        **{"inputs": "x: T, y: T", "outputs": "z: bool", "memory": SEPARATE, **declaration},
        elementwise=expression,
        grad=NO_GRADIENT,
        doc=f"{doc}, elementwise: a bool tensor of the broadcast shape.",
    )


def _comparison(op_type: str, function: Callable[..., Any], expression: str) -> BinaryFunction:
    doc = f"Whether {expression}"
    return _predicate(op_type, expression, doc, attrs={"T": REAL}, cpu=Call(function))


less = _comparison("Less", np.less, "x < y")
less_equal = _comparison("LessEqual", np.less_equal, "x <= y")
greater = _comparison("Greater", np.greater, "x > y")
greater_equal = _comparison("GreaterEqual", np.greater_equal, "x >= y")


def _infer_equal(context: InferContext) -> Sequence[TensorShape]:
    """Infer the shape to which the inputs broadcast.

    If the shapes are incompatible and the attr incompatible_shape_error is false, the op returns a
    scalar instead of raising an error.
    """
    x, y = context.shapes
    if context.attrs["incompatible_shape_error"]:
        return [broadcast_shapes(x, y)]
    try:
        shape = broadcast_shapes(x, y)
    except ValueError:
        return [SCALAR]
    return [shape if x.is_fully_defined() and y.is_fully_defined() else UNKNOWN]


def _compare_or(function: Any, otherwise: bool) -> Call:
    """Return a kernel that calls `function`, or that fills the output with `otherwise` if the
    shapes are incompatible.

    The attr incompatible_shape_error determines whether incompatible shapes are allowed.
    """

    def make(context: KernelContext, x: Any, y: Any, out: Any) -> Callable[[], Any]:
        try:
            broadcast_shapes(*map(TensorShape.of, context.input_shapes))
        except ValueError:
            return partial(out.fill, otherwise)
        return partial(function, x, y, out)

    return Call(make=make)


def _equality(op_type: str, function: Any, expression: str, otherwise: bool) -> BinaryFunction:
    function_of_op = _predicate(
        op_type,
        expression,
        f"Whether {expression}",
        attrs={"T": (*NUMERIC, boolean, string), "incompatible_shape_error": Attr("bool", True)},
        infer=_infer_equal,
        commutative=True,
        cpu=_compare_or(function, otherwise),
    )
    host_only = HostOnly("strings live on the host")
    add_kernel(op_type, "GPU", host_only, types={"T": (string,)}, priority=1)
    return function_of_op


equal = _equality("Equal", np.equal, "x == y", False)
not_equal = _equality("NotEqual", np.not_equal, "x != y", True)


# -- logic


def _logical(
    op_type: str, function: Callable[..., Any], expression: str, doc: str
) -> BinaryFunction:
    inputs = {"inputs": "x: bool, y: bool", "memory": OpMemory(alias={0: 0})}
    return _predicate(op_type, expression, doc, **inputs, commutative=True, cpu=Call(function))


logical_and = _logical("LogicalAnd", np.logical_and, "x & y", "x and y, of bool tensors")
logical_or = _logical("LogicalOr", np.logical_or, "x | y", "x or y, of bool tensors")
logical_not: UnaryFunction = public_function(
    op(
        "LogicalNot",
        inputs="x: bool",
        outputs="y: bool",
        **IN_PLACE,
        cpu=Call(np.logical_not),
        elementwise="!x",
        grad=NO_GRADIENT,
        doc="The negation of a bool tensor, elementwise.",
    )
)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Return the exclusive or of bool tensors, elementwise."""
    not_both = logical_not(logical_and(x, y))
    return logical_and(logical_or(x, y), not_both, name=name)


# -- choice


def _infer_select(context: InferContext) -> Sequence[TensorShape]:
    condition, chosen, other = context.shapes
    shape = chosen.merge_with(other)
    sizes, known = shape.sizes, condition.sizes
    if known is None or known == ():
        return [shape]
    if sizes is None:
        return [UNKNOWN]
    if len(known) == len(sizes):
        merged = shape.merge_with(condition)
        return [shape if len(known) == 1 else merged]
    if len(known) != 1 or not sizes:
        raise ValueError(
            f"The condition {shape_text(condition)} must be a scalar, a vector, or of "
            f"{shape_text(shape)}"
        )
    TensorShape.of(sizes[:1]).merge_with(condition)
    return [shape]  # TensorFlow does not refine the shape by the condition's length


def _select(context: KernelContext, condition: Any, x: Any, y: Any, out: Any) -> Callable[[], Any]:
    """Bind a kernel that copies y to the output, and then copies x where the condition is true.

    A vector condition selects slices along the first axis.
    """
    rank, condition_rank = len(context.output_shapes[0]), len(context.input_shapes[0])
    if condition_rank == 1 and rank > 1:
        condition = condition.reshape((-1,) + (1,) * (rank - 1))

    def choose() -> None:
        np.copyto(out, y)
        np.copyto(out, x, where=condition)

    return choose


def _chosen(_: Signature, condition: Term, x: Term, y: Term) -> list[Term]:
    if len(condition.shape) == 1:
        condition = condition.expanded((*condition.shape, *(1,) * (len(x.shape) - 1)))
    return [condition.apply("x ? y : z", x, y, dtype=x.dtype)]


_CHOICE: dict[str, Any] = {
    "inputs": "condition: bool, t: T, e: T",
    "outputs": "output: T",
    "attrs": {"T": ALL},
    "elementwise": "x ? y : z",
}

_select_op = op(
    "Select",
    **_CHOICE,
    infer=_infer_select,
    memory=OpMemory(alias={0: 2}),
    cpu=Call(make=_select),
    native=decomposition(_chosen),
    grad=lambda op, dy: _select_gradient(op, dy),
    doc=(
        "x where the condition is true, otherwise y. A vector condition selects slices along the "
        "first axis."
    ),
)


def _select_gradient(op: Any, dy: Any) -> list[Any]:
    condition = op.inputs[0]
    zeros = raw_ops.ZerosLike(dy)
    return [None, raw_ops.Select(condition, dy, zeros), raw_ops.Select(condition, zeros, dy)]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return `x` where `condition` is true, and `y` elsewhere. If `x` and `y` are None, return the
    indices of true elements.

    The indices are an int64 matrix. Each row has the coordinates of one true element.

    `x` and `y` must have the same shape and dtype. `condition` has the same shape, is a scalar, or
    is a vector that selects slices along the first axis. Raises ValueError if only one of `x` and
    `y` is passed.

    >>> session.run(tf.where([True, False], [1, 2], [3, 4]))
    array([1, 4], dtype=int32)
    """
    if x is None and y is None:
        return raw_ops.Where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return _select_op(condition, x, y, name=name)


def _choose(condition: Any, x: Any, y: Any, out: Any) -> None:
    np.copyto(out, y)
    np.copyto(out, x, where=condition)


def _choice_gradient(op: Any, dy: Any) -> list[Any]:
    condition, x, y = op.inputs
    zeros, whole = raw_ops.ZerosLike(dy), op.outputs[0]
    return [
        None,
        unbroadcast(raw_ops.SelectV2(condition, dy, zeros), x, whole),
        unbroadcast(raw_ops.SelectV2(condition, zeros, dy), y, whole),
    ]


_choice_op = op(
    "SelectV2",
    **_CHOICE,
    infer=broadcast,
    cpu=Call(_choose),
    grad=_choice_gradient,
    doc=(
        "t where the condition is true, otherwise e. All three tensors are broadcast to a common "
        "shape."
    ),
)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Return `x` where `condition` is true, and `y` elsewhere. The three tensors are broadcast to a
    common shape.

    If `x` and `y` are None, return the same indices as `where`. Raises ValueError if only one of
    `x` and `y` is passed, or if shapes are incompatible.
    """
    if x is None or y is None:
        return where(condition, x, y, name)
    return _choice_op(condition, x, y, name=name)
