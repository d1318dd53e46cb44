"""Linear algebra."""

from gpugraph.ops.linalg import matmul, tensordot
from gpugraph.ops.linalg import matrix_transpose as transpose

__all__ = [
    "matmul",
    "tensordot",
    "transpose",
]
