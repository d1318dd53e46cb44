"""Native kernels that compute LU factors, the gradients of Cholesky factors, and the solutions of
triangular and tridiagonal systems of equations (host_triangular.h, host_tridiagonal.h).
"""

from __future__ import annotations

from math import prod

from gpugraph.base.dtypes import float32, float64
from gpugraph.kernel import RowSource, Signature

_MAX_SIZE = 256
"""The maximum matrix size of these kernels. Larger matrices are factored by LAPACK, in blocks."""


def _size_of(signature: Signature) -> tuple[int, int]:
    """Return the number of matrices and their size. Raises NotImplementedError if the matrices are
    too large.
    """
    *batch, size, _ = signature.input_shapes[0]
    if size > _MAX_SIZE:
        raise NotImplementedError(f"matrices of {size} rows are LAPACK's")
    return prod(batch), size


def triangular_solution() -> RowSource:
    """Return the native kernel of MatrixTriangularSolve."""

    def parameters(signature: Signature) -> list[int]:
        count, size = _size_of(signature)
        *batch, _, columns = signature.output_shapes[0]
        if prod(batch) != count:
            raise NotImplementedError("matrices are broadcast")
        attrs = signature.attrs
        return [count, size, columns, int(attrs["lower"]), int(attrs["adjoint"])]

    return RowSource("host_triangular.h", "gg_triangular", parameters, is_exact=False)


def lu_factors() -> RowSource:
    """Return the native kernel of Lu."""

    def parameters(signature: Signature) -> list[int]:
        return [*_size_of(signature), signature.output_types[1].size]

    return RowSource("host_triangular.h", "gg_lu", parameters, is_exact=False)


def cholesky_gradient() -> RowSource:
    """Return the native kernel of CholeskyGrad."""

    def parameters(signature: Signature) -> list[int]:
        return [*_size_of(signature)]

    return RowSource("host_triangular.h", "gg_cholesky_back", parameters, is_exact=False)


def tridiagonal_solution() -> RowSource:
    """Return the native kernel of TridiagonalSolve."""

    def parameters(signature: Signature) -> list[int]:
        dtype = signature.output_types[0].base_dtype
        if dtype not in (float32, float64):
            raise NotImplementedError(f"numbers of {dtype.name}")
        *batch, size, columns = signature.output_shapes[0]
        return [prod(batch), size, columns, int(signature.attrs["partial_pivoting"])]

    return RowSource("host_tridiagonal.h", "gg_tridiagonal", parameters, is_exact=False)
