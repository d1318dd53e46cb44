"""ApproximateEqual and ClipByValue, which compute comparisons as a single op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import NUMERIC, REAL
from gpugraph.base.misfit import Misfit, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Signature
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import same_shape
from gpugraph.ops.framework.unbroadcasting import unbroadcast
from gpugraph.ops.older_types.numpy_op import numpy_op


def _infer_approximate(context: InferContext) -> Sequence[TensorShape]:
    x, y = context.shapes
    try:
        x.merge_with(y)
    except ValueError as error:
        in_run = (
            f"x and y must be of the same shape. x shape: {shape_text(x)}. y shape: {shape_text(y)}"
        )
        raise Misfit(misfit_of(error).in_graph, in_run) from error
    return [x]


def _bind_approximate(context: KernelContext, x: Any, y: Any, z: Any) -> Callable[[], Any]:
    tolerance = context.attrs["tolerance"]

    def run() -> None:
        wide = np.where(x > y, x - y, y - x) if x.dtype.kind in "biu" else np.abs(x - y)
        np.less(wide, tolerance, out=z)

    return run


def _approximate_terms(signature: Signature, x: Term, y: Term) -> list[Term]:
    if not x.dtype.is_floating:
        raise NotImplementedError("distances of integers are compared in float64")
    wide = x.apply("x > y ? x - y : y - x", y)
    return [wide.apply("x < y", signature.attrs["tolerance"], dtype=dtypes.bool)]


numpy_op(
    "ApproximateEqual", "x: T, y: T -> z: bool", {"T": NUMERIC, "tolerance": Attr("float", 1e-5)},
    _infer_approximate,
    Call(make=_bind_approximate), "Whether |x - y| is less than the tolerance, elementwise.",
    commutative=True, native=decomposition(_approximate_terms),
)  # fmt: skip


def _clip(t: Any, low: Any, high: Any, out: Any) -> None:
    """Clip t to [low, high].

    Where low > high, the result is low. A NaN bound has no effect.
    """
    cut = np.where(high < t, high, t)
    np.copyto(out, np.where(cut < low, low, cut))


def _clip_terms(_: Signature, t: Term, low: Term, high: Term) -> list[Term]:
    return [t.apply("y < x ? y : x", high).apply("x < y ? y : x", low)]


def _clip_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradients for t, low and high.

    dy is the gradient of t where t is inside the range. Elsewhere it is the gradient of the bound
    that replaced t.
    """
    t, low, high = op.inputs
    below, above = raw_ops.Less(t, low), raw_ops.Greater(t, high)
    zeros = raw_ops.ZerosLike(dy)
    outside = raw_ops.LogicalOr(below, above)
    return [
        raw_ops.Select(outside, zeros, dy),
        unbroadcast(raw_ops.Select(below, dy, zeros), low, t),
        unbroadcast(raw_ops.Select(above, dy, zeros), high, t),
    ]


numpy_op(
    "ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T", {"T": REAL},
    same_shape(0),
    Call(_clip),
    "t, but no less than clip_value_min and no more than clip_value_max, which are scalars or "
    "of t's shape.",
    _clip_back, native=decomposition(_clip_terms),
)  # fmt: skip
