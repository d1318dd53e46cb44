"""Native kernels for sparse tensors (host_sparse.h), with their integer parameters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.base.dtypes import float32, float64, string
from gpugraph.kernel import RowSource, Signature
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.indexing.row_sources import ADD, added_at, places


def sparse_product() -> RowSource:
    """Return the native kernel of SparseTensorDenseMatMul. The dense matrix must not be replaced by
    its adjoint.
    """

    def parameters(signature: Signature) -> list[int]:
        attrs, sizes = signature.attrs, ints(signature.value(2))
        if attrs["adjoint_b"]:
            raise NotImplementedError("the dense matrix is transposed")
        count, columns = signature.input_shapes[0][0], signature.output_shapes[0][1]
        if signature.output_types[0].base_dtype not in (float32, float64):
            raise NotImplementedError("products are of float32 and float64")
        described = places(count, signature.input_types[0], sizes)
        return [*described, int(attrs["adjoint_a"]), columns]

    return RowSource("host_sparse.h", "gg_sparse_product", parameters, element=1, is_exact=False)


def dense_sum() -> RowSource:
    """Return the native kernel that adds values to a copy of a dense tensor, at given positions."""
    return added_at(ADD)


def to_dense() -> RowSource:
    """Return the native kernel of SparseToDense."""

    def parameters(signature: Signature) -> list[int]:
        shape, dtype = signature.output_shapes[0], signature.output_types[0].base_dtype
        if dtype is string or dtype.size not in (1, 2, 4, 8):
            raise NotImplementedError(f"elements of {dtype.name} are not moved as one word")
        indices, values = signature.input_shapes[0], signature.input_shapes[2]
        if len(indices) != 2 or indices[1] != len(shape):
            raise NotImplementedError("indices are no matrix")
        described = places(indices[0], signature.input_types[0], shape)
        one, checked = int(len(values) == 0), int(signature.attrs["validate_indices"])
        return [*described, dtype.size, one, checked, prod(shape)]

    return RowSource("host_sparse_to_dense.h", "gg_to_dense", parameters, None)


SUM, LARGER, SMALLER = range(3)
"""The numbers of the rules that combine the elements of two sparse tensors."""

_MOST_RANK = 8


def sparse_pair(rule: int) -> RowSource:
    """Return the native kernel that combines two sparse tensors of one shape by a rule. It requires
    positions in ascending order.
    """

    def parameters(signature: Signature) -> list[int]:
        shapes, types = signature.input_shapes, signature.input_types
        if rule == SUM and types[1].base_dtype is not types[6].base_dtype:
            raise NotImplementedError("the threshold has another dtype")
        return [shapes[0][0], shapes[3][0], shapes[0][1], rule]

    def sizes(signature: Signature, a: Any, *others: Any) -> list[tuple[int, ...]]:
        room = len(a) + len(others[2])
        return [(room, a.shape[1]), (room,), (a.shape[1],)][: len(signature.output_types)]

    return RowSource(
        *("host_sparse.h", "gg_sparse_pair", parameters, 1), sizes=sizes, counted=[0, 1]
    )


def sparse_sum_gradient() -> RowSource:
    """Return the native kernel of SparseAddGrad. It requires positions in ascending order."""

    def parameters(signature: Signature) -> list[int]:
        indices, a, b, _ = signature.input_shapes
        return [a[0], b[0], indices[0], _rank(a)]

    return RowSource("host_sparse.h", "gg_sparse_add_back", parameters)


def sparse_slice_gradient() -> RowSource:
    """Return the native kernel of SparseSliceGrad. It requires positions in ascending order."""

    def parameters(signature: Signature) -> list[int]:
        given, indices, *_ = signature.input_shapes
        return [indices[0], given[0], _rank(indices)]

    return RowSource("host_sparse.h", "gg_sparse_slice_back", parameters)


def sparse_slice() -> RowSource:
    """Return the native kernel of SparseSlice."""

    def parameters(signature: Signature) -> list[int]:
        dtype, indices = signature.input_types[1].base_dtype, signature.input_shapes[0]
        if dtype is string:
            raise NotImplementedError("elements of string are Python objects")
        return [indices[0], _rank(indices), dtype.size]

    def sizes(_: Signature, indices: Any, values: Any, *others: Any) -> list[tuple[int, ...]]:
        count, rank = indices.shape
        if len(values) != count or any(other.shape != (rank,) for other in others):
            raise NotImplementedError("the shapes do not fit")
        return [(count, rank), (count,), (rank,)]

    file = "host_sparse_rows.h"
    return RowSource(file, "gg_cut", parameters, None, sizes=sizes, counted=[0, 1])


def _rank(indices: Sequence[int]) -> int:
    """Return the number of columns of indices, if native code supports it."""
    if not 1 <= indices[1] <= _MOST_RANK:
        raise NotImplementedError(f"positions have {indices[1]} coordinates, not 1 to {_MOST_RANK}")
    return indices[1]


_MOST_ROWS = 1 << 26


def filled_rows() -> RowSource:
    """Return the native kernel of SparseFillEmptyRows."""

    def parameters(signature: Signature) -> list[int]:
        dtype, rows = signature.input_types[1].base_dtype, signature.output_shapes[2][0]
        if dtype is string:
            raise NotImplementedError("elements of string are Python objects")
        return [*signature.input_shapes[0], rows, dtype.size]

    def sizes(_: Signature, indices: Any, values: Any, *others: Any) -> list[tuple[int, ...]]:
        count, rank = indices.shape
        if len(values) != count or others[0].size != rank or not rank:
            raise NotImplementedError("the shapes do not fit")
        rows = int(others[0][0])
        if not 0 <= rows <= _MOST_ROWS:
            raise NotImplementedError(f"there are {rows} rows")
        return [(count + rows, rank), (count + rows,), (rows,), (count,)]

    file = "host_sparse_rows.h"
    return RowSource(file, "gg_fill_rows", parameters, None, sizes=sizes, counted=[0, 1])


def filled_rows_gradient() -> RowSource:
    """Return the native kernel of SparseFillEmptyRowsGrad."""

    def parameters(signature: Signature) -> list[int]:
        return [signature.input_shapes[0][0], signature.input_shapes[1][0]]

    return RowSource("host_sparse_rows.h", "gg_fill_rows_back", parameters, 1, is_exact=False)
