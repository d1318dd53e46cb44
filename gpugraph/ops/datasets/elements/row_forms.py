"""Vectorization of ops over stacked elements. ROW_FORMS maps an op type to a function that
vectorizes the op.

    vectorize = ROW_FORMS["ConcatV2"]; outputs = vectorize(rows, op)

The function adds ops that compute `op` for stacked elements. The result for each element has the
same bits as the result of `op` for this element alone. `rows` is an object that returns the tensors
of the copied function. Each of these tensors is stacked, or has one value for all elements. The
function raises `NoRowForm` if it cannot vectorize the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops


class NoRowForm(Exception):
    """The error for an op that can't be vectorized over stacked elements."""


class Rows(Protocol):
    """A copy of a function's graph that computes stacked elements."""

    def is_stacked(self, tensor: Tensor) -> bool:
        """Return whether a tensor of the function has a separate value for each element."""

    def copied(self, tensor: Tensor) -> Tensor:
        """Return the copy's tensor for `tensor`: stacked values, or one value for all elements."""

    def stacked(self, tensor: Tensor) -> Tensor:
        """Return the stacked values of `tensor`. If there is one value for all elements, it is
        repeated.
        """

    def again(self, op: Operation, inputs: Sequence[Tensor], **attrs: Any) -> list[Tensor]:
        """Copy `op` with these inputs and attrs, and return the outputs of the copy."""


Lift = Callable[[Rows, Operation], Sequence[Tensor]]


def require(condition: Any) -> None:
    """Raise NoRowForm if the condition is false."""
    if not condition:
        raise NoRowForm


def rank_of(tensor: Tensor) -> int:
    """Return the rank of a tensor of the function. Raises NoRowForm if the rank is unknown."""
    rank = tensor.shape.rank
    require(rank is not None)
    assert rank is not None
    return rank


def numbers(tensor: Tensor) -> Any:
    """Return the constant value of a tensor as an array. Raises NoRowForm if the value is unknown
    at trace time.
    """
    value = constant_value(tensor)
    require(value is not None)
    return np.asarray(value)


def _elementwise(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize an op that broadcasts its inputs. Stacked inputs of lower rank get axes of size 1
    after the first axis.
    """
    rank = max(map(rank_of, op._inputs))
    return rows.again(op, [_expanded(rows, tensor, rank) for tensor in op._inputs])


def _expanded(rows: Rows, tensor: Tensor, rank: int) -> Tensor:
    copied = rows.copied(tensor)
    if rows.is_stacked(tensor):
        for _ in range(rank - rank_of(tensor)):
            copied = raw_ops.ExpandDims(copied, np.int32(1))
    return copied


def _first_only(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize an op whose first input is stacked. All other inputs are scalars with one value for
    all elements.
    """
    require(not any(map(rows.is_stacked, op._inputs[1:])))
    require(all(rank_of(tensor) == 0 for tensor in op._inputs[1:]))
    return rows.again(op, [rows.copied(tensor) for tensor in op._inputs])


def _described(rows: Rows, op: Operation) -> Sequence[Tensor]:
    require(not any(map(rows.is_stacked, op._inputs[1:])))
    return rows.again(op, [rows.copied(tensor) for tensor in op._inputs])


def _joined(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize an op that joins strings. Each input is a scalar with one value for all elements,
    or a stacked tensor. All stacked tensors have the same rank.
    """
    ranks = {rank_of(tensor) for tensor in op._inputs if rows.is_stacked(tensor)}
    others = [rank_of(tensor) for tensor in op._inputs if not rows.is_stacked(tensor)]
    require(len(ranks) == 1 and not any(others))
    return rows.again(op, [rows.copied(tensor) for tensor in op._inputs])


def _select(rows: Rows, op: Operation) -> Sequence[Tensor]:
    condition, then, other = op._inputs
    require(rank_of(condition) in (0, rank_of(then)))
    rank = rank_of(then)
    require(rows.is_stacked(condition) or rank_of(condition) == rank)
    parts = [_expanded(rows, tensor, rank) for tensor in (condition, then, other)]
    return [raw_ops.SelectV2(*parts)]


def _moved(axes: Any) -> Any:
    """Convert axis numbers of one element to axis numbers of stacked elements. Negative numbers are
    unchanged.
    """
    axes = np.asarray(axes)
    return np.where(axes < 0, axes, axes + 1).astype(np.int32)


def _along(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize an op whose second input contains axis numbers: a reduction, ExpandDims, a reversal
    or ArgMax.
    """
    source, axes = op._inputs
    require(not rows.is_stacked(axes))
    value = constant_value(axes)
    if value is not None:
        moved = _constant(_moved(value), axes)
    else:
        copied, zero = rows.copied(axes), _constant(0, axes)
        later = raw_ops.AddV2(copied, _constant(1, axes))
        moved = raw_ops.SelectV2(raw_ops.Less(copied, zero), copied, later)
    return rows.again(op, [rows.copied(source), moved])


def _constant(value: Any, like: Tensor) -> Tensor:
    array = np.asarray(value).astype(like.dtype.base_dtype.as_numpy_dtype)
    constant: Tensor = raw_ops.Const(value=array, dtype=like.dtype.base_dtype)
    return constant


def _exact_sum(rows: Rows, op: Operation) -> Sequence[Tensor]:
    require(op._inputs[0].dtype.base_dtype.is_integer)  # floats depend on the order of a sum
    return _along(rows, op)


def _squeezed(rows: Rows, op: Operation) -> Sequence[Tensor]:
    axes = list(op._attrs["squeeze_dims"])
    require(axes)
    return rows.again(op, [rows.copied(op._inputs[0])], squeeze_dims=_moved(axes).tolist())


def _reshaped(rows: Rows, op: Operation) -> Sequence[Tensor]:
    require(not rows.is_stacked(op._inputs[1]))
    source, shape = rows.copied(op._inputs[0]), rows.copied(op._inputs[1])
    count = raw_ops.Slice(raw_ops.Shape(source, out_type=shape.dtype), [0], [1])
    return [raw_ops.Reshape(source, raw_ops.ConcatV2([count, shape], np.int32(0)))]


def _transposed(rows: Rows, op: Operation) -> Sequence[Tensor]:
    source, order = op._inputs
    require(not rows.is_stacked(order))
    later = raw_ops.AddV2(rows.copied(order), _constant(1, order))
    moved = raw_ops.ConcatV2([_constant([0], order), later], np.int32(0))
    return rows.again(op, [rows.copied(source), moved])


def _one_hot(rows: Rows, op: Operation) -> Sequence[Tensor]:
    axis = op._attrs.get("axis", -1)
    require(not any(map(rows.is_stacked, op._inputs[1:])))
    inputs = [rows.copied(tensor) for tensor in op._inputs]
    return rows.again(op, inputs, axis=axis if axis < 0 else axis + 1)


def _packed(rows: Rows, op: Operation) -> Sequence[Tensor]:
    axis = op._attrs.get("axis", 0)
    inputs = [rows.stacked(tensor) for tensor in op._inputs]
    return rows.again(op, inputs, axis=axis if axis < 0 else axis + 1)


def _concatenated(rows: Rows, op: Operation) -> Sequence[Tensor]:
    *parts, axis = op._inputs
    moved = _constant(_moved(numbers(axis)), axis)
    return rows.again(op, [*map(rows.stacked, parts), moved])


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _sliced(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize a slice. Along the first axis, which is the axis of the elements, the result has
    all indices.
    """
    source, *places = op._inputs
    require(not any(map(rows.is_stacked, places)))
    first = [0, 0, 1]
    moved = [
        raw_ops.ConcatV2([_constant([number], place), rows.copied(place)], np.int32(0))
        for number, place in zip(first, places)
    ]
    masks = {name: op._attrs.get(name, 0) << 1 for name in _MASKS}
    masks |= {name: masks[name] | 1 for name in ("begin_mask", "end_mask")}
    return rows.again(op, [rows.copied(source), *moved], **masks)


def _gathered(rows: Rows, op: Operation) -> Sequence[Tensor]:
    params, indices, axis = op._inputs
    require(not rows.is_stacked(params) and rows.is_stacked(indices))
    require(numbers(axis) == 0 and not op._attrs.get("batch_dims", 0))
    return rows.again(op, [rows.copied(tensor) for tensor in op._inputs])


def _looked_up(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize a lookup of keys in a table that is the same for all elements."""
    table, keys, default = op._inputs
    require(rows.is_stacked(keys) and not any(map(rows.is_stacked, (table, default))))
    return rows.again(op, [rows.copied(tensor) for tensor in op._inputs])


def _shape(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize Shape. The result is the shape of one element, which must be known."""
    shape = op._inputs[0].shape
    require(shape.is_fully_defined())
    value: Any = list(shape.sizes or ())
    if op.type != "Shape":
        value = len(value) if op.type == "Rank" else int(np.prod(value))
    return [_constant(value, op._outputs[0])]


def _parsed(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize the parser of one Example. The result parses a batch of Examples with dense
    features of fixed shapes.
    """
    attrs, (examples, *defaults) = op._attrs, op._inputs
    require(not attrs["num_sparse"] and not any(map(rows.is_stacked, defaults)))
    require(all(as_shape(shape).is_fully_defined() for shape in attrs["dense_shapes"]))
    outputs = raw_ops.ParseExample(
        rows.copied(examples),
        np.array([], object),
        [],
        list(attrs["dense_keys"]),
        [rows.copied(default) for default in defaults],
        sparse_types=[],
        dense_shapes=attrs["dense_shapes"],
    )
    return list(chain.from_iterable(outputs))


def _drawn(rows: Rows, op: Operation) -> Sequence[Tensor]:
    """Vectorize an op that draws a number with a seed. Each element has a separate seed. The
    probabilities are the same for all draws.
    """
    logits, count, seed = op._inputs
    require(rows.is_stacked(seed) and not rows.is_stacked(logits))
    require(numbers(count) == 1 and logits.shape.as_list()[:1] == [1])
    dtype = op._outputs[0].dtype
    samples = raw_ops._StatelessMultinomials(
        rows.copied(logits), rows.copied(seed), output_dtype=dtype
    )
    return [samples]


_BROADCAST = """
    Abs Add AddV2 BitwiseAnd BitwiseOr BitwiseXor Cast Ceil Equal Floor FloorDiv FloorMod Greater
    GreaterEqual Identity Invert IsFinite IsInf IsNan Less LessEqual LogicalAnd LogicalNot LogicalOr
    Maximum Minimum Mod Mul Neg NotEqual OnesLike RealDiv Relu Rint Round SelectV2 Sign Snapshot
    Square SquaredDifference StopGradient Sub TruncateDiv TruncateMod ZerosLike
"""
_TEXTS = """
    AsString DecodeBase64 EncodeBase64 RegexFullMatch RegexReplace StaticRegexFullMatch
    StaticRegexReplace StringLength StringLower StringStrip StringToHashBucket
    StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper Substr
    UnicodeTranscode ClipByValue DecodeRaw
"""
ROW_FORMS: dict[str, Lift] = {
    **dict.fromkeys(_BROADCAST.split(), _elementwise),
    **dict.fromkeys(_TEXTS.split(), _first_only),
    **dict.fromkeys(("All", "Any", "ArgMax", "ArgMin", "ExpandDims", "Max", "Min"), _along),
    **dict.fromkeys(("Prod", "Sum"), _exact_sum),
    **dict.fromkeys(("Shape", "Size", "Rank"), _shape),
    "ConcatV2": _concatenated,
    "DecodeCSV": _described,
    "GatherV2": _gathered,
    "LookupTableFindV2": _looked_up,
    "OneHot": _one_hot,
    "Pack": _packed,
    "ParseSingleExample": _parsed,
    "Reshape": _reshaped,
    "ReverseV2": _along,
    "Select": _select,
    "Squeeze": _squeezed,
    "StridedSlice": _sliced,
    "StatelessMultinomial": _drawn,
    "StringJoin": _joined,
    "Transpose": _transposed,
}
