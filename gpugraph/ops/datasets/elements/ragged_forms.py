"""Vectorization of ops over ragged elements, which are vectors whose lengths differ from element to
element. For example, splitting strings and parsing Examples return ragged elements.

    text      "a b"   ""   "c d e"
    values    a  b  c  d  e         the vectors, one after the other
    rows      0  0  2  2  2         the element of each value
    columns   0  1  0  1  2         its index in the element

A vectorizing function replaces an op by ops that compute its results for many elements at once
(`row_forms`).
RAGGED_SOURCES has these functions for ops that return ragged vectors for stacked inputs.
RAGGED_FORMS has them for ops that receive ragged vectors. The result for each element has the same
bits as a separate call for this element. A vectorizing function raises `NoRowForm` if it cannot
vectorize the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.datasets.elements.row_forms import Rows, numbers, rank_of, require
from gpugraph.ops.framework.op_declaration import raw_ops


class Ragged(NamedTuple):
    """The vectors of all elements, as one tensor of values with the row and the column of each
    value.

    If `is_place` is true, the vectors are the indices of sparse vectors, and `values` is not used.
    """

    values: Tensor
    rows: Tensor
    columns: Tensor
    is_place: bool = False


class RaggedRows(Rows, Protocol):
    """The copy of a function's graph for stacked and ragged elements."""

    def ragged(self, tensor: Tensor) -> Ragged | None:
        """Return the vectors for `tensor`, or None if it is not ragged."""

    def count(self) -> Tensor:
        """Return the number of elements."""


Lifted = Sequence[Tensor | Ragged]
Lift = Callable[[Any, Operation], Lifted]


def _of_places(places: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows and the columns from the indices [values, 2] of a sparse tensor."""
    rows, columns = raw_ops.Unpack(places, num=2, axis=1)
    return rows, columns


def _counts(rows: RaggedRows, of: Ragged) -> Tensor:
    """Return the number of values of each element, int64."""
    counts: Tensor = raw_ops.UnsortedSegmentSum(raw_ops.OnesLike(of.columns), of.rows, rows.count())
    return counts


def _split(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize a split of one string for each element."""
    texts, delimiter = op._inputs
    require(rows.is_stacked(texts) and texts.shape.as_list() == [1])
    require(not rows.is_stacked(delimiter) and rows.ragged(delimiter) is None)
    flat = raw_ops.Reshape(rows.copied(texts), np.array([-1], np.int32))
    places, values, _ = rows.again(op, [flat, rows.copied(delimiter)])
    number, columns = _of_places(places)
    parts = Ragged(values, number, columns)
    places = raw_ops.Pack([raw_ops.ZerosLike(columns), columns], axis=1)
    counts = _counts(rows, parts)
    shape = raw_ops.Pack([raw_ops.OnesLike(counts), counts], axis=1)
    return [parts._replace(values=places), parts, shape]


def _parsed(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize the parser of one Example with sparse features."""
    attrs, (examples, *defaults) = op._attrs, op._inputs
    require(rows.is_stacked(examples) and not any(map(rows.is_stacked, defaults)))
    require(all(as_shape(shape).is_fully_defined() for shape in attrs["dense_shapes"]))
    names: Any = np.array([], object)
    parsed = raw_ops.ParseExample(
        rows.copied(examples), names, list(attrs["sparse_keys"]), list(attrs["dense_keys"]),
        [rows.copied(default) for default in defaults],
        sparse_types=attrs["sparse_types"], dense_shapes=attrs["dense_shapes"],
    )  # fmt: skip
    flat = list(chain.from_iterable(parsed))
    count = attrs["num_sparse"]
    vectors = []
    for places, values in zip(flat[:count], flat[count : 2 * count]):
        vectors.append(Ragged(values, *_of_places(places)))
    one = np.array(1, np.int32)
    indices = [
        v._replace(values=raw_ops.ExpandDims(v.columns, one), is_place=True) for v in vectors
    ]
    shapes = [raw_ops.ExpandDims(_counts(rows, v), one) for v in vectors]
    return [*indices, *vectors, *shapes, *flat[3 * count :]]


RAGGED_SOURCES: dict[str, Lift] = {
    "ParseSingleExample": _parsed, "StringSplit": _split, "StringSplitV2": _split,
}  # fmt: skip


# -- ops on ragged elements


def _first(rows: RaggedRows, op: Operation) -> Ragged:
    """Return the first ragged input of an op. All ragged inputs of an op must have the same
    rows.
    """
    vectors = [v for tensor in op._inputs if (v := rows.ragged(tensor)) is not None]
    require(all(v.rows is vectors[0].rows for v in vectors))
    return vectors[0]


def _elementwise(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize an elementwise op of vectors and scalars."""
    first = _first(rows, op)
    inputs = []
    for tensor in op._inputs:
        vector = rows.ragged(tensor)
        if vector is not None:
            require(not vector.is_place)
            inputs.append(vector.values)
            continue
        require(rank_of(tensor) == 0)
        copied = rows.copied(tensor)
        if rows.is_stacked(tensor):
            copied = raw_ops.GatherV2(copied, first.rows, np.int32(0))
        inputs.append(copied)
    return [first._replace(values=output) for output in rows.again(op, inputs)]


def _select(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize Select of vectors. A condition that is a scalar chooses a whole vector."""
    require(all(rows.ragged(tensor) is not None for tensor in op._inputs))
    first = _first(rows, op)
    vectors = [vector for tensor in op._inputs if (vector := rows.ragged(tensor)) is not None]
    require(not any(vector.is_place for vector in vectors))
    return [first._replace(values=raw_ops.Select(*(vector.values for vector in vectors)))]


def _of_texts(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize an op on strings whose first input is a vector. All other inputs have one value for
    all elements.
    """
    require(rows.ragged(op._inputs[0]) is not None)
    require(not any(map(rows.is_stacked, op._inputs[1:])))
    return _elementwise(rows, op)


def _looked_up(rows: RaggedRows, op: Operation) -> Lifted:
    table, keys, default = op._inputs
    vector = rows.ragged(keys)
    require(vector is not None and not rows.is_stacked(default) and rows.ragged(default) is None)
    assert vector is not None
    inputs = [rows.copied(table), vector.values, rows.copied(default)]
    return [vector._replace(values=output) for output in rows.again(op, inputs)]


def _to_dense(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize the conversion of a sparse vector to a dense vector. Every index of the vector must
    have a value.
    """
    places, shape, values, _ = (rows.ragged(tensor) for tensor in op._inputs)
    require(places is not None and places.is_place and values is not None)
    assert places is not None and values is not None
    require(places.rows is values.rows and not values.is_place and shape is None)
    require(rows.is_stacked(op._inputs[1]) and op._inputs[1].op is op._inputs[0].op)
    return [values]


def _shape(rows: RaggedRows, op: Operation) -> Lifted:
    vector = rows.ragged(op._inputs[0])
    require(vector is not None and not vector.is_place)
    assert vector is not None
    counts = raw_ops.Cast(_counts(rows, vector), DstT=op._outputs[0].dtype.base_dtype)
    if op.type == "Shape":
        counts = raw_ops.ExpandDims(counts, np.int32(1))
    return [counts]


def _sum(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize a sum of integers."""
    vector = rows.ragged(op._inputs[0])
    require(vector is not None and not vector.is_place and not op._attrs.get("keep_dims"))
    require(op._inputs[0].dtype.base_dtype in (dtypes.int32, dtypes.int64))
    require(np.asarray(numbers(op._inputs[1])).ravel().tolist() in ([0], [-1]))
    assert vector is not None
    return [raw_ops.UnsortedSegmentSum(vector.values, vector.rows, rows.count())]


def _start(rows: RaggedRows, op: Operation) -> Lifted:
    """Vectorize a slice that selects the first values of a vector."""
    vector = rows.ragged(op._inputs[0])
    require(vector is not None and not vector.is_place)
    assert vector is not None
    begin, end, step = (np.asarray(numbers(tensor)).tolist() for tensor in op._inputs[1:])
    masks = {name: op._attrs.get(name, 0) for name in _MASKS}
    require(len(end) == 1 and step == [1] and not any(masks[name] for name in _MASKS[1:]))
    require((masks["begin_mask"] or begin == [0]) and end[0] >= 0)
    limit = np.array(end[0], np.int64)
    chosen = raw_ops.Where(raw_ops.Less(vector.columns, limit))
    places = raw_ops.Squeeze(chosen, squeeze_dims=[1])
    parts = [raw_ops.GatherV2(part, places, np.int32(0)) for part in vector[:3]]
    return [Ragged(*parts)]


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")

_BROADCAST = """
    Abs Add AddV2 Cast Ceil Equal Floor FloorDiv FloorMod Greater GreaterEqual Identity Less
    LessEqual LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg NotEqual OnesLike RealDiv
    Relu Round SelectV2 Sign Square Sub TruncateDiv TruncateMod ZerosLike
"""
_TEXTS = """
    AsString DecodeBase64 EncodeBase64 RegexFullMatch RegexReplace StaticRegexFullMatch
    StaticRegexReplace StringLength StringLower StringStrip StringToHashBucket
    StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper Substr
    UnicodeTranscode
"""
RAGGED_FORMS: dict[str, Lift] = {
    **dict.fromkeys(_BROADCAST.split(), _elementwise),
    **dict.fromkeys(_TEXTS.split(), _of_texts),
    **dict.fromkeys(("Shape", "Size"), _shape),
    "LookupTableFindV2": _looked_up,
    "Select": _select,
    "SparseToDense": _to_dense,
    "StridedSlice": _start,
    "StringJoin": _elementwise,
    "Sum": _sum,
}
