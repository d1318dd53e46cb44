"""Sets along the last axis of tensors, sparse or dense."""

from gpugraph.ops.sparse.set_operations import set_difference, set_intersection, set_size, set_union
from gpugraph.ops.sparse.set_operations import set_difference as difference
from gpugraph.ops.sparse.set_operations import set_intersection as intersection
from gpugraph.ops.sparse.set_operations import set_size as size
from gpugraph.ops.sparse.set_operations import set_union as union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
