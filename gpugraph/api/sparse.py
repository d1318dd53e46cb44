"""Sparse tensors."""

from gpugraph.ops.segments.sparse_segment_sum import sparse_segment_mean as segment_mean
from gpugraph.ops.segments.sparse_segment_sum import sparse_segment_sqrt_n as segment_sqrt_n
from gpugraph.ops.segments.sparse_segment_sum import sparse_segment_sum as segment_sum
from gpugraph.ops.sparse.sparse_functions import from_dense
from gpugraph.ops.sparse.sparse_functions import sparse_add as add
from gpugraph.ops.sparse.sparse_functions import sparse_concat as concat
from gpugraph.ops.sparse.sparse_functions import sparse_fill_empty_rows as fill_empty_rows
from gpugraph.ops.sparse.sparse_functions import sparse_maximum as maximum
from gpugraph.ops.sparse.sparse_functions import sparse_minimum as minimum
from gpugraph.ops.sparse.sparse_functions import sparse_reorder as reorder
from gpugraph.ops.sparse.sparse_functions import sparse_reshape as reshape
from gpugraph.ops.sparse.sparse_functions import sparse_retain as retain
from gpugraph.ops.sparse.sparse_functions import sparse_slice as slice
from gpugraph.ops.sparse.sparse_functions import sparse_softmax as softmax
from gpugraph.ops.sparse.sparse_functions import sparse_split as split
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_dense_matmul as matmul
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_dense_matmul as sparse_dense_matmul
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_to_dense as to_dense
from gpugraph.ops.sparse.sparse_functions import sparse_to_indicator as to_indicator
from gpugraph.ops.sparse.sparse_functions import sparse_transpose as transpose
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_expand_dims as expand_dims
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_eye as eye
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_mask as mask
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_merge as merge
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_reset_shape as reset_shape
from gpugraph.ops.sparse.sparse_reduce import sparse_reduce_max as reduce_max
from gpugraph.ops.sparse.sparse_reduce import sparse_reduce_max_sparse as reduce_max_sparse
from gpugraph.ops.sparse.sparse_reduce import sparse_reduce_sum as reduce_sum
from gpugraph.ops.sparse.sparse_reduce import sparse_reduce_sum_sparse as reduce_sum_sparse
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.sparse.sparse_tensor import sparse_placeholder as placeholder

__all__ = [
    "SparseTensor",
    "add",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
