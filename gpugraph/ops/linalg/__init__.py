"""Matrices: products, factorizations, solutions, diagonals, functions of matrices."""

from gpugraph.ops.linalg import (
    cholesky_grad,
    cross_product,
    einsum,
    einsum_op,
    lu_factorization,
    matmul,
    matrix_compositions,
    matrix_diag_and_band,
    matrix_diagonals_v2,
    matrix_exponential,
    rank_and_pseudo_inverse,
    solve_and_cholesky,
    sparse_matmul,
    svd_qr_eigh,
    tensordot,
    tridiagonal_solve,
)
