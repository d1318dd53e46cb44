"""Linear algebra."""

from __future__ import annotations

from gpugraph.ops.array_shapes import transpose
from gpugraph.ops.linalg import matmul, tensordot

__all__ = [
    "matmul",
    "tensordot",
    "transpose",
]
