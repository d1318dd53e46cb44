"""Sparse tensors and sets."""

from gpugraph.ops.sparse import (
    embedding_lookup_sparse,
    set_operations,
    sparse_arithmetic,
    sparse_functions,
    sparse_mask_and_merge,
    sparse_positions,
    sparse_reduce,
    sparse_reshape_concat_split,
    sparse_tensor,
    sparse_with_dense,
)
