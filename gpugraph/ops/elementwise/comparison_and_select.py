"""Comparisons, the logic of booleans, and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, REAL, bool as boolean, string
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Signature
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_registry import HostOnly, register_kernel
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, broadcast, same_shape
from gpugraph.ops.framework.unbroadcasting import unbroadcast

# -- comparisons


def _comparison(name: str, function: Callable[..., Any], text: str) -> OpFunction:
    return op(
        name,
        inputs="x: T, y: T",
        outputs="z: bool",
        attrs={"T": REAL},
        infer=broadcast,
        cpu=Call(function),
        elementwise=text,
        grad=NO_GRADIENT,
        doc=f"Whether {text}, elementwise.",
    )


_less = _comparison("Less", np.less, "x < y")
_less_equal = _comparison("LessEqual", np.less_equal, "x <= y")
_greater = _comparison("Greater", np.greater, "x > y")
_greater_equal = _comparison("GreaterEqual", np.greater_equal, "x >= y")


def _infer_equal(context: InferContext) -> Sequence[TensorShape]:
    """As `broadcast`; shapes that don't fit give a scalar where the attr says they may."""
    x, y = context.shapes
    if context.attrs["incompatible_shape_error"]:
        return [broadcast_shapes(x, y)]
    try:
        shape = broadcast_shapes(x, y)
    except ValueError:
        return [SCALAR]
    return [shape if x.is_fully_defined() and y.is_fully_defined() else UNKNOWN]


def _compare_or(function: Any, otherwise: bool) -> Call:
    """`function`, or `otherwise` where the shapes don't fit."""

    def make(context: KernelContext, x: Any, y: Any, out: Any) -> Callable[[], Any]:
        try:
            broadcast_shapes(*map(TensorShape.of, context.input_shapes))
        except ValueError:
            return partial(out.fill, otherwise)
        return partial(function, x, y, out)

    return Call(make=make)


_STRINGS = HostOnly("strings live on the host")


def _equality(name: str, function: Any, text: str, otherwise: bool) -> OpFunction:
    made = op(
        name,
        inputs="x: T, y: T",
        outputs="z: bool",
        attrs={"T": (*NUMERIC, boolean, string), "incompatible_shape_error": Attr("bool", True)},
        infer=_infer_equal,
        commutative=True,
        cpu=_compare_or(function, otherwise),
        elementwise=text,
        grad=NO_GRADIENT,
        doc=f"Whether {text}, elementwise.",
    )
    register_kernel(name, "GPU", _STRINGS, types={"T": (string,)}, priority=1)
    return made


_equal = _equality("Equal", np.equal, "x == y", False)
_not_equal = _equality("NotEqual", np.not_equal, "x != y", True)


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x == y, elementwise: a bool tensor of the broadcast shape."""
    return _equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x != y, elementwise: a bool tensor of the broadcast shape."""
    return _not_equal(x, y, name=name)


def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x < y, elementwise: a bool tensor of the broadcast shape."""
    return _less(x, y, name=name)


def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x <= y, elementwise: a bool tensor of the broadcast shape."""
    return _less_equal(x, y, name=name)


def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x > y, elementwise: a bool tensor of the broadcast shape."""
    return _greater(x, y, name=name)


def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x >= y, elementwise: a bool tensor of the broadcast shape."""
    return _greater_equal(x, y, name=name)


# -- logic


def _logical(name: str, function: Callable[..., Any], text: str) -> OpFunction:
    return op(
        name,
        inputs="x: bool, y: bool",
        outputs="z: bool",
        infer=broadcast,
        alias={0: 0},
        commutative=True,
        cpu=Call(function),
        elementwise=text,
        grad=NO_GRADIENT,
        doc=f"{text}, elementwise.",
    )


_logical_and = _logical("LogicalAnd", np.logical_and, "x && y")
_logical_or = _logical("LogicalOr", np.logical_or, "x || y")
_logical_not = op(
    "LogicalNot",
    inputs="x: bool",
    outputs="y: bool",
    infer=same_shape(0),
    alias={0: 0},
    cpu=Call(np.logical_not),
    elementwise="!x",
    grad=NO_GRADIENT,
    doc="!x, elementwise.",
)


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x and y, elementwise, of bool tensors."""
    return _logical_and(x, y, name=name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x or y, elementwise, of bool tensors."""
    return _logical_or(x, y, name=name)


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Not x, elementwise, of a bool tensor."""
    return _logical_not(x, name=name)


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Either x or y, but not both, elementwise, of bool tensors."""
    both = _logical_not(_logical_and(x, y))
    return _logical_and(_logical_or(x, y), both, name=name)


# -- choice


def _infer_select(context: InferContext) -> Sequence[TensorShape]:
    condition, chosen, other = context.shapes
    shape = chosen.merge_with(other)
    sizes, known = shape.sizes, condition.sizes
    if known is None or known == ():
        return [shape]
    if sizes is None:
        return [condition if len(known) > 1 else UNKNOWN]
    if len(known) == len(sizes):
        return [shape.merge_with(condition)]
    if len(known) != 1 or not sizes:
        raise ValueError(f"The condition {condition} must be a scalar, a vector, or of {shape}")
    first = TensorShape.of(sizes[:1]).merge_with(condition)
    return [first.concatenate(TensorShape.of(sizes[1:]))]


def _select(context: KernelContext, condition: Any, x: Any, y: Any, out: Any) -> Callable[[], Any]:
    """Copies y, and x where the condition holds; a vector chooses along the first axis."""
    rank, given = len(context.output_shapes[0]), len(context.input_shapes[0])
    if given == 1 and rank > 1:
        condition = condition.reshape((-1,) + (1,) * (rank - 1))

    def choose() -> None:
        np.copyto(out, y)
        np.copyto(out, x, where=condition)

    return choose


def _chosen(_: Signature, condition: Term, x: Term, y: Term) -> list[Term]:
    if len(condition.shape) == 1:
        condition = condition.expanded((*condition.shape, *(1,) * (len(x.shape) - 1)))
    return [condition.text("x ? y : z", x, y, dtype=x.dtype)]


_select_op = op(
    "Select",
    inputs="condition: bool, t: T, e: T",
    outputs="output: T",
    attrs={"T": ALL},
    infer=_infer_select,
    alias={0: 2},
    cpu=Call(make=_select),
    elementwise="x ? y : z",
    native=decomposition(_chosen),
    grad=lambda op, dy: _select_gradient(op, dy),
    doc="t where the condition holds, else e; a vector condition chooses along the first axis.",
)


def _select_gradient(op: Any, dy: Any) -> list[Any]:
    condition = op.inputs[0]
    zeros = raw_ops.ZerosLike(dy)
    return [None, raw_ops.Select(condition, dy, zeros), raw_ops.Select(condition, zeros, dy)]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`x` where `condition` holds, else `y`; without both, the indices where it holds.

    `x` and `y` have one shape and dtype; `condition` has their shape, is a scalar, or is a vector
    that chooses along their first axis. ValueError when only one of both is given.
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
    inputs="condition: bool, t: T, e: T",
    outputs="output: T",
    attrs={"T": ALL},
    infer=broadcast,
    cpu=Call(_choose),
    elementwise="x ? y : z",
    grad=_choice_gradient,
    doc="t where the condition holds, else e, of shapes that broadcast.",
)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`x` where `condition` holds, else `y`, of shapes that broadcast; without both, as `where`.

    ValueError when only one of both is given, or shapes do not fit.
    """
    if x is None or y is None:
        return where(condition, x, y, name)
    return _choice_op(condition, x, y, name=name)
