"""Softmax and its logarithm, along the last axis or any other axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import OpDef
from gpugraph.kernel import Signature
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.numpy_derivation.numpy_terms import numpy_rows
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import either
from gpugraph.ops.reductions.reduction_ops import MAX, SUM


def _infer(context: InferContext) -> Sequence[TensorShape]:
    return [context.shapes[0].with_rank_at_least(1)]


def shifted_and_powers(logits: Term) -> tuple[Term, Term, Term]:
    """Return three terms: the logits minus the maximum of their row, the exponentials of these
    differences, and the sum of the exponentials of each row.
    """
    shifted = logits - logits.reduced(MAX, [-1])
    powers = shifted.exp()
    return shifted, powers, powers.reduced(SUM, [-1])


def _softmax_terms(_: Signature, logits: Term) -> list[Term]:
    _shifted, powers, total = shifted_and_powers(logits)
    return [powers / total]


def _log_softmax_terms(_: Signature, logits: Term) -> list[Term]:
    shifted, _powers, total = shifted_and_powers(logits)
    return [shifted - total.log()]


_LAST = np.array([-1], np.int32)


def _softmax_back(op: Any, dy: Any) -> Any:
    y = op.outputs[0]
    mean = raw_ops.Sum(raw_ops.Mul(dy, y), _LAST, keep_dims=True)
    return raw_ops.Mul(raw_ops.Sub(dy, mean), y)


def _log_softmax_back(op: Any, dy: Any) -> Any:
    total = raw_ops.Sum(dy, _LAST, keep_dims=True)
    return raw_ops.Sub(dy, raw_ops.Mul(total, raw_ops.Exp(op.outputs[0])))


def _declare(name: str, output: str, terms: Any, grad: Any, doc: str) -> OpFunction:
    """Declare an op on the rows of `logits`.

    Args:
      terms: the formula of the op.
    """
    return op(
        name,
        inputs="logits: T",
        outputs=f"{output}: T",
        attrs={"T": FLOATING},
        infer=_infer,
        **numpy_kernels(numpy_rows(terms), decomposition(terms)),
        grad=grad,
        doc=doc,
    )


_softmax_op = _declare(
    "Softmax", "softmax", _softmax_terms, _softmax_back,
    "exp(logits) / sum(exp(logits)) along the last axis.",
)  # fmt: skip
_log_softmax_op = _declare(
    "LogSoftmax", "logsoftmax", _log_softmax_terms, _log_softmax_back,
    "logits - log(sum(exp(logits))) along the last axis.",
)  # fmt: skip


def axis_moved_to_end(tensor: Tensor, axis: int) -> Any:
    """Transpose `tensor` so that `axis` becomes the last axis. All other axes keep their order."""
    rank = tensor.shape.rank
    if rank is not None:
        place = normalize_axis(axis, rank)
        others = [other for other in range(rank) if other != place]
        return raw_ops.Transpose(tensor, np.array([*others, place], np.int32))
    count = raw_ops.Rank(tensor)
    place = raw_ops.FloorMod(np.array(axis, np.int32), count)
    zero, one = np.array(0, np.int32), np.array(1, np.int32)
    parts = [
        raw_ops.Range(zero, place, one),
        raw_ops.Range(raw_ops.Add(place, one), count, one),
        raw_ops.ExpandDims(place, zero),
    ]
    return raw_ops.Transpose(tensor, raw_ops.ConcatV2(parts, zero))


def _last_axis_swapped(tensor: Tensor, axis: Any) -> Any:
    """Transpose `tensor` so that `axis` and the last axis are exchanged. A second call with the
    same axis reverses the first.

    Args:
      axis: an int, or a scalar tensor. If the axis is invalid, the run raises InvalidArgumentError.
    """
    rank = tensor.shape.rank
    if rank is not None and isinstance(axis, int):
        normalize_axis(axis, rank)
        order: Any = np.arange(rank, dtype=np.int32)
        order[axis], order[rank - 1] = rank - 1, axis % rank
        return raw_ops.Transpose(tensor, order)
    last = raw_ops.Sub(raw_ops.Rank(tensor), 1)
    axes = raw_ops.Range(0, raw_ops.Rank(tensor), 1)
    count, zero = raw_ops.Rank(tensor), np.array(0, np.int32)
    number = raw_ops.Cast(axis, DstT=axes.dtype)
    place = raw_ops.Select(raw_ops.Less(number, zero), raw_ops.Add(number, count), number)
    place = raw_ops.Select(
        raw_ops.Less(place, zero), count, place
    )  # an axis that Transpose rejects
    at_axis = raw_ops.Mul(
        raw_ops.Cast(raw_ops.Equal(axes, place), DstT=axes.dtype), raw_ops.Sub(last, place)
    )
    at_last = raw_ops.Mul(
        raw_ops.Cast(raw_ops.Equal(axes, last), DstT=axes.dtype), raw_ops.Sub(place, last)
    )
    return raw_ops.Transpose(tensor, raw_ops.Add(raw_ops.Add(axes, at_axis), at_last))


def _chosen_axis(axis: Any) -> Any:
    """Return the axis as an int if its value is known at graph construction, otherwise as a scalar
    tensor.
    """
    if isinstance(axis, Tensor):
        value = constant_value(axis)
        return axis if value is None else int(value)
    return -1 if axis is None else whole_number("axis", axis)


def _along(function: Any, logits: Any, axis: Any, name: str | None) -> Tensor:
    source = convert_to_tensor(logits, name="logits")
    rank, chosen = source.shape.rank, _chosen_axis(axis)
    is_known = isinstance(chosen, int)
    if is_known and rank is not None and not -rank <= chosen < rank:
        raise invalid_argument(
            f"Dimension ({chosen}) must be in the range [{-rank}, {rank}) where {rank} is the "
            "number of dimensions in the input."
        )
    if is_known and (chosen == -1 or (rank is not None and chosen == rank - 1)):
        return function(source, name=name)
    op_def: OpDef = function.op_def
    with op_scope(name, op_def.name, source) as scope:
        swapped = function(_last_axis_swapped(source, chosen))
        result = _last_axis_swapped(swapped, chosen)
        result.set_shape(source.shape)
        return raw_ops.Identity(result, name=scope)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Return exp(logits) / sum(exp(logits)) along `axis` (older name: `dim`), by default the last
    axis.

    Args:
      axis: an int, or an int scalar tensor. A run raises InvalidArgumentError if the axis is
        outside [-rank, rank).

    >>> session.run(tf.nn.softmax([0.0, 0.0]))
    array([0.5, 0.5], dtype=float32)
    """
    return _along(_softmax_op, logits, either(axis, dim, "axis", "dim"), name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Return logits - log(sum(exp(logits))) along `axis` (older name: `dim`), by default the last
    axis.

    Args:
      axis: an int, or an int scalar tensor. A run raises InvalidArgumentError if the axis is
        outside [-rank, rank).

    >>> session.run(tf.nn.log_softmax([0.0, 0.0]))
    array([-0.6931472, -0.6931472], dtype=float32)
    """
    return _along(_log_softmax_op, logits, either(axis, dim, "axis", "dim"), name)
