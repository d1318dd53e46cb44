"""Row-major positions of the elements of sparse tensors, and other functions that sparse ops
share.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import of_rank

_BY_VALUE = HostOnly("the sizes of its outputs depend on indices, which the host must read")
_COMPUTED = HostOnly("positions are checked, and elements of one position combined, on the host")

PARTS = "{0}_indices: matrix int64, {0}_values: vector T, {0}_shape: vector int64"
"""The three inputs of a SparseTensor in an op's declaration; `{0}` is the tensor's name."""


def sparse_op(
    name: str, infer: InferFunction, cpu: Call, grad: Any = NO_GRADIENT, **declared: Any
) -> OpFunction:
    """Declare an op with `op`. On a GPU, the op's NumPy kernel `cpu` still runs on the host."""
    gpu = _BY_VALUE if cpu.dynamic else _COMPUTED
    return op(name, infer=infer, cpu=cpu, gpu=gpu, grad=grad, **declared)


def _first(rows: Any) -> int:
    return int(np.flatnonzero(rows)[0])


def positions(indices: Any, shape: Sequence[int]) -> Any:
    """Return, for each row of `indices`, its row-major position in a tensor of `shape`.

    Raises InvalidArgumentError if a row is out of bounds.
    """
    sizes = np.asarray(shape, np.int64).reshape(-1)
    if indices.shape[1] != sizes.size:
        raise invalid_argument(
            f"Indices of {indices.shape[1]} columns don't fit a shape of {sizes.size} dimensions"
        )
    numbers = np.zeros(len(indices), np.int64)
    for axis, size in enumerate(sizes.tolist()):
        column = np.ascontiguousarray(indices[:, axis], np.int64)
        if column.size and (column.min() < 0 or column.max() >= size):
            raise _outside(indices, sizes)
        numbers = numbers * size + column if axis else column
    return numbers


def stable_order(numbers: Any) -> Any:
    """Return the indices that sort nonnegative integers, equal ones in their order.

    The index becomes the low bits of each number, so that NumPy's fast sort, which is not stable,
    can be used if both fit 63 bits.
    """
    bits = numbers.size.bit_length()
    if not numbers.size or int(numbers.max()) >= 1 << (63 - bits):
        return np.argsort(numbers, kind="stable")
    keys = np.left_shift(numbers, bits, dtype=np.int64)
    keys |= np.arange(numbers.size, dtype=np.int64)
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def _outside(indices: Any, sizes: Any) -> InvalidArgumentError:
    """Return the error that names the first row of indices that is out of bounds."""
    number = _first(((indices < 0) | (indices >= sizes)).any(axis=1))
    return invalid_argument(
        f"indices[{number}] = {indices[number].tolist()} is out of bounds: need 0 <= index < "
        f"{sizes.tolist()}"
    )


class Runs(NamedTuple):
    """Groups of elements with equal numbers, such as the elements of a row.

    Args:
      order: the indices of the elements, sorted by their numbers, or None if they are already
        sorted.
      starts: for each distinct number, the position of its first element in this order.
      distinct: the distinct numbers, ascending.
      counts: the number of elements with each distinct number.
    """

    order: Any
    starts: Any
    distinct: Any
    counts: Any

    @staticmethod
    def of(numbers: Any) -> Runs:
        """Return the groups of equal numbers in a vector of integers. The vector is sorted only if
        it is not already ascending.
        """
        is_sorted = bool((numbers[1:] >= numbers[:-1]).all())
        order = None if is_sorted else stable_order(numbers)
        ordered = numbers if order is None else numbers[order]
        is_first = np.ones(len(ordered), bool)
        np.not_equal(ordered[1:], ordered[:-1], is_first[1:])
        starts = np.flatnonzero(is_first)
        counts = np.diff(starts, append=len(ordered))
        return Runs(order, starts, ordered[starts], counts)

    def ordered(self, values: Any) -> Any:
        """Sort values, one for each element, by the numbers of the elements."""
        return values if self.order is None else values[self.order]

    def unordered(self, values: Any) -> Any:
        """Return values in the original order of the elements. They are passed in sorted order."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def rows_of(numbers: Any, shape: Sequence[int]) -> Any:
    """Return the rows of indices, int64 [n, rank], for row-major positions `numbers` in a tensor of
    `shape`.
    """
    sizes = [int(size) for size in shape]
    if not numbers.size:
        return np.zeros((0, len(sizes)), np.int64)
    if not sizes:
        return np.zeros((numbers.size, 0), np.int64)
    return np.stack(np.unravel_index(numbers, sizes), 1).astype(np.int64, copy=False)


def check_increasing(indices: Any, numbers: Any) -> None:
    """Raise InvalidArgumentError if rows of indices are repeated or out of order.

    Args:
      numbers: the row-major positions of the rows.
    """
    steps = np.diff(numbers)
    if not steps.size or steps.min() > 0:
        return
    number = _first(steps <= 0) + 1
    what = "repeated" if steps[number - 1] == 0 else "out of order"
    raise invalid_argument(
        f"indices[{number}] = {indices[number].tolist()} is {what}. Ops on sparse tensors need "
        "them sorted and unique: see tf.sparse.reorder"
    )


def check_parts(
    context: InferContext, first: int = 0, step: int = 1
) -> tuple[int | None, int | None]:
    """Return the static number of elements and the rank of a SparseTensor among the inputs. Either
    is None if it is unknown.

    The SparseTensor's indices are input `first`, its values are input `first + step`, and its shape
    is input `first + 2 * step`. Raises ValueError if their static shapes contradict each other.
    """
    count, rank = of_rank(context.shapes[first], 2, "The indices of a SparseTensor")
    (values,) = of_rank(context.shapes[first + step], 1, "The values of a SparseTensor")
    (sizes,) = of_rank(context.shapes[first + 2 * step], 1, "The dense_shape of a SparseTensor")
    return same_size(count, values, "elements"), same_size(rank, sizes, "dimensions")


def same_size(one: int | None, other: int | None, what: str) -> int | None:
    """Return the size that must be equal in two of the tensors of a SparseTensor, or None if it is
    unknown. Raises ValueError if the sizes differ.

    Args:
      what: the name of the size in the error's message.
    """
    if one is not None and other is not None and one != other:
        raise ValueError(f"The parts of a SparseTensor have {one} and {other} {what}")
    return other if one is None else one


_MOST_KEYS = 1 << 62
_MOST_KEYS_EACH = 8
"""The number of possible keys for each row up to which rows are found by a table of all keys."""


def copy_by_row(source: Any, source_rows: Any, rows: Any, out: Any) -> None:
    """Set out[i] to the element of `source` with the indices `rows[i]`, or to 0 if `source` has no
    such element.

    Args:
      source_rows: the indices of the elements of `source`.
    """
    numbers = _numbers_of_rows(source_rows, rows)
    is_there = numbers >= 0
    out.fill(0)
    out[is_there] = source[numbers[is_there]]


def _numbers_of_rows(source_rows: Any, rows: Any) -> Any:
    """Return for each row the index of the last equal row of `source_rows`, or -1."""
    count = len(source_rows)
    if not count or not len(rows):
        return np.full(len(rows), -1, np.int64)
    keys, most = keys_of_rows(np.concatenate([source_rows, rows]))
    if most <= _MOST_KEYS_EACH * len(keys):
        table = np.full(most, -1, np.int64)
        table[keys[:count]] = np.arange(count)  # of equal rows, the last one stays
        return table[keys[count:]]
    order = np.argsort(keys[:count], kind="stable")
    known = keys[order]
    places = np.searchsorted(known, keys[count:], side="right") - 1
    return np.where(known[places] == keys[count:], order[places], -1)


def keys_of_rows(rows: Any) -> tuple[Any, int]:
    """Return a key for each row, in the rows' lexicographic order, and a number above all keys."""
    if not len(rows):
        return np.zeros(0, np.int64), 1
    columns = np.ascontiguousarray(rows.T)
    low = [int(column.min()) for column in columns]
    spans = [int(column.max()) - least + 1 for column, least in zip(columns, low)]
    most = prod(spans)
    if most > _MOST_KEYS:
        keys = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        return keys, len(rows)
    keys = np.zeros(len(rows), np.int64)
    for column, least, span in zip(columns, low, spans):
        keys *= span
        keys += column
        keys -= least
    return keys, most


def ranks_of(values: Any) -> Any:
    """Return the numbers 1, 2, 3, ..., n for n `values`.

    If an op is applied to these ranks instead of the values, its outputs tell which value each
    output element comes from.
    """
    return raw_ops.Range(1, raw_ops.Add(raw_ops.Shape(values)[0], 1), 1)


def add_by_rank(gradient: Any, ranks: Any, values: Any) -> Any:
    """Return the gradient of `values`, given the gradient of an op's output.

    Each element of the op's output must be an element of `values`, or 0.

    Args:
      gradient: the gradient of the output.
      ranks: the output of the op for `ranks_of(values)`. It contains, for each output element, the
        rank of its value, counted from 1, or 0 if the element is 0.
    """
    places = raw_ops.Sub(ranks, np.array(1, np.int32))
    return raw_ops.UnsortedSegmentSum(gradient, places, raw_ops.Shape(values)[0])
