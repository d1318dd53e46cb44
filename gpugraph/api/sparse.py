"""Sparse tensors."""

from gpugraph.ops.queues.accumulator_classes import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from gpugraph.ops.strings.sparse_cross import cross as cross, cross_hashed as cross_hashed
from gpugraph.ops.sparse.sparse_functions import from_dense as from_dense
from gpugraph.ops.sparse.sparse_tensor import SparseTensor as SparseTensor
from gpugraph.ops.segments import sparse_segment_sum as _sparse_segment_sum
from gpugraph.ops.sparse import sparse_functions as _sparse_functions
from gpugraph.ops.sparse import sparse_mask_and_merge as _sparse_mask_and_merge
from gpugraph.ops.sparse import sparse_reduce as _sparse_reduce
from gpugraph.ops.sparse import sparse_tensor as _sparse_tensor

add = _sparse_functions.sparse_add
concat = _sparse_functions.sparse_concat
expand_dims = _sparse_mask_and_merge.sparse_expand_dims
eye = _sparse_mask_and_merge.sparse_eye
fill_empty_rows = _sparse_functions.sparse_fill_empty_rows
mask = _sparse_mask_and_merge.sparse_mask
matmul = _sparse_functions.sparse_tensor_dense_matmul
maximum = _sparse_functions.sparse_maximum
merge = _sparse_mask_and_merge.sparse_merge
minimum = _sparse_functions.sparse_minimum
placeholder = _sparse_tensor.sparse_placeholder
reduce_max = _sparse_reduce.sparse_reduce_max
reduce_max_sparse = _sparse_reduce.sparse_reduce_max_sparse
reduce_sum = _sparse_reduce.sparse_reduce_sum
reduce_sum_sparse = _sparse_reduce.sparse_reduce_sum_sparse
reorder = _sparse_functions.sparse_reorder
reset_shape = _sparse_mask_and_merge.sparse_reset_shape
reshape = _sparse_functions.sparse_reshape
retain = _sparse_functions.sparse_retain
segment_mean = _sparse_segment_sum.sparse_segment_mean
segment_sqrt_n = _sparse_segment_sum.sparse_segment_sqrt_n
segment_sum = _sparse_segment_sum.sparse_segment_sum
slice = _sparse_functions.sparse_slice
softmax = _sparse_functions.sparse_softmax
sparse_dense_matmul = _sparse_functions.sparse_tensor_dense_matmul
split = _sparse_functions.sparse_split
to_dense = _sparse_functions.sparse_tensor_to_dense
to_indicator = _sparse_functions.sparse_to_indicator
transpose = _sparse_functions.sparse_transpose
