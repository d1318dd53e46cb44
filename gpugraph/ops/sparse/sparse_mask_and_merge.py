"""Functions that change the dimensions or the shape of sparse tensors, or merge ids and values into
one sparse tensor.

The module also has `sparse_mask`, which removes rows of IndexedSlices, and sparse identity
matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.value_text import shown
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.control.group_and_no_op import with_dependencies
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.indexing.unique_counts_and_list_diff import setdiff1d
from gpugraph.ops.reductions.ranges_and_running_sums import range as tensor_range
from gpugraph.ops.sparse.sparse_functions import sparse_reorder
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, expect_sparse


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Return the IndexedSlices without the rows whose indices are in the vector `mask_indices`."""
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"sparse_mask takes tf.IndexedSlices, not {shown(a)}")
    with op_scope(name, "sparse_mask", a, mask_indices) as scope:
        indices, where = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, where, name=scope), indices, a.dense_shape)


def sparse_expand_dims(
    sp_input: Any, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """Insert a dimension of size 1 before dimension `axis` in [-rank - 1, rank].

    A negative axis counts from the end. The default, -1, appends the dimension. Raises ValueError
    if the axis is out of range or the rank is unknown.
    """
    source = expect_sparse(sp_input)
    rank = source.shape.rank
    if rank is None:
        raise ValueError("sparse.expand_dims needs a SparseTensor of known rank")
    position = -1 if axis is None else whole_number("axis", axis)
    if not -rank - 1 <= position <= rank:
        raise ValueError(f"axis {position} is not in [{-rank - 1}, {rank}]")
    position %= rank + 1
    with op_scope(name, "expand_dims", source):
        count = raw_ops.Shape(source.indices)[0]
        column = zeros([count, 1], dtypes.int64)
        indices = concat([source.indices[:, :position], column, source.indices[:, position:]], 1)
        sizes, one = source.dense_shape, np.array([1], np.int64)
        shape = concat([sizes[:position], one, sizes[position:]], 0)
        return SparseTensor(indices, source.values, shape)


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """Return the identity matrix of `num_rows` rows and `num_columns` columns as a SparseTensor. By
    default, it is square.
    """
    with op_scope(name, "eye", num_rows, num_columns):
        rows = _size(num_rows, "num_rows")
        columns = rows if num_columns is None else _size(num_columns, "num_columns")
        count = raw_ops.Minimum(rows, columns)
        places = tensor_range(count, dtype=dtypes.int64)
        indices = raw_ops.Pack([places, places], axis=1, name="stack")
        size = raw_ops.Reshape(count, np.array([1], np.int32), name="ones/Reshape")
        return SparseTensor(indices, ones(size, as_dtype(dtype)), [rows, columns])


def _size(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return cast(value, dtypes.int64)
    return convert_to_tensor(value, dtypes.int64, name=name)


# -- the smallest dense shape, or a larger shape


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Return the same elements with the dense shape `new_shape`. Raises ValueError if `new_shape`
    and the old shape have different ranks, or if one of the sizes is smaller than before. If the
    shapes are known only in a run, the run raises InvalidArgumentError instead.

    Args:
      new_shape: an int64 vector with the same number of sizes, none of which may be smaller than
        before. The default is the smallest shape that contains all elements.
    """
    source = expect_sparse(sp_input)
    indices, values, sizes = (identity(part) for part in source._parts())
    if new_shape is None:
        largest = raw_ops.Max(indices, np.array(0, np.int32))
        zero = np.array(0, np.int64)
        wanted = raw_ops.Maximum(zero, raw_ops.AddV2(largest, np.array(1, np.int64), name="Add"))
        return SparseTensor(indices, values, wanted)
    wanted = cast(convert_to_tensor(new_shape, name="output_shape_tensor"), dtypes.int64)
    wanted.shape.assert_has_rank(1)
    known, rank = constant_value(wanted), source.shape.rank
    if rank is not None:
        wanted.shape.assert_is_compatible_with([rank])
    if known is not None and source.shape.is_fully_defined():
        _refuse_smaller(source.shape.as_list(), known)
    else:
        wanted = _check_in_run(sizes, wanted)
    return SparseTensor(indices, values, wanted)


def _refuse_smaller(sizes: Sequence[Any], wanted: Any) -> None:
    if any(wanted < np.array(sizes)):
        raise ValueError(
            "Requested new_shape should have dimension sizes >= sp_input.shape. Found new_shape "
            f"{wanted.tolist()}, sp_input.shape {sizes}."
        )


def _check_in_run(sizes: Tensor, wanted: Tensor) -> Tensor:
    """Return `wanted`.

    Each run checks that `wanted` has as many sizes as `sizes`, and that none of them is smaller
    than the corresponding size in `sizes`.
    """
    all_axes = np.array([0], np.int32)
    ranks = raw_ops.Equal(raw_ops.Shape(sizes), raw_ops.Shape(wanted))
    what = "new_shape must be of sp_input's rank", raw_ops.Shape(sizes), raw_ops.Shape(wanted)
    alike = raw_ops.Assert(raw_ops.All(ranks, all_axes), list(what), summarize=3)
    wanted = with_dependencies([alike], wanted)
    fits = raw_ops.All(raw_ops.LessEqual(sizes, wanted), all_axes)
    what = "new_shape must be nowhere smaller than sp_input's shape", sizes, wanted
    return with_dependencies([raw_ops.Assert(fits, list(what), summarize=3)], wanted)


# -- ids and values


def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Return a SparseTensor of the values, in which the id of a value is its index along the last
    dimension.

    Raises TypeError if an argument is not sparse or has the wrong dtype, and ValueError if lists
    have different lengths.

    Args:
      sp_ids: a SparseTensor of int32 or int64 ids, at the same indices as the values. It may also
        be a list of SparseTensors, one for each of the last dimensions.
      vocab_size: the size of the last dimension, or a list of sizes.
      already_sorted: whether the result is already in row-major order. If True, it is not sorted.
    """
    is_single = isinstance(vocab_size, Tensor) or np.ndim(vocab_size) == 0
    id_tensors = sp_ids if isinstance(sp_ids, list) else [sp_ids]
    ids = [expect_sparse(value) for value in id_tensors]
    counts = [vocab_size] if is_single else list(vocab_size)
    if isinstance(sp_ids, list) == is_single:
        raise TypeError("vocab_size must be a list of sizes if and only if sp_ids is a list")
    if len(ids) != len(counts):
        raise ValueError(f"{len(counts)} sizes of vocabularies for {len(ids)} sp_ids")
    values = expect_sparse(sp_values)
    with op_scope(name, "SparseMerge", *ids, values):
        columns = [_ids_column(tensor) for tensor in ids]
        sizes = [cast(count, dtypes.int64) for count in counts]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        shape = concat([ids[0].dense_shape[:-1], raw_ops.Pack(sizes, name="concat_1/values_1")], 0)
        merged = SparseTensor(indices, values.values, shape)
        if already_sorted:
            return merged
        result = sparse_reorder(merged)
        return SparseTensor(result.indices, result.values, shape)


def _ids_column(ids: SparseTensor) -> Tensor:
    if ids.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"sp_ids must be int32 or int64, but are {ids.dtype.name}")
    return raw_ops.ExpandDims(cast(ids.values, dtypes.int64), np.array(1, np.int32))
