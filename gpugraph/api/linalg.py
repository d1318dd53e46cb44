"""Linear algebra."""

from gpugraph.ops.linalg.cross_product import cross
from gpugraph.ops.linalg.einsum import einsum
from gpugraph.ops.linalg.lu_factorization import lu, lu_matrix_inverse, lu_reconstruct, lu_solve
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose, tensordot
from gpugraph.ops.linalg.matmul import matrix_transpose as transpose
from gpugraph.ops.linalg.matrix_compositions import (
    adjoint,
    cholesky_solve,
    eye,
    logdet,
    matvec,
    norm,
    trace,
)
from gpugraph.ops.linalg.matrix_compositions import matrix_solve_ls as lstsq
from gpugraph.ops.linalg.matrix_diag_and_band import diag as tensor_diag
from gpugraph.ops.linalg.matrix_diag_and_band import diag_part as tensor_diag_part
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part as band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag as diag
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part as diag_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag as set_diag
from gpugraph.ops.linalg.matrix_exponential import matrix_exponential as expm
from gpugraph.ops.linalg.matrix_exponential import matrix_logarithm as logm
from gpugraph.ops.linalg.matrix_exponential import matrix_square_root as sqrtm
from gpugraph.ops.linalg.rank_and_pseudo_inverse import matrix_rank, normalize, pinv
from gpugraph.ops.linalg.solve_and_cholesky import cholesky, slogdet
from gpugraph.ops.linalg.solve_and_cholesky import matrix_determinant as det
from gpugraph.ops.linalg.solve_and_cholesky import matrix_inverse as inv
from gpugraph.ops.linalg.solve_and_cholesky import matrix_solve as solve
from gpugraph.ops.linalg.solve_and_cholesky import matrix_triangular_solve as triangular_solve
from gpugraph.ops.linalg.svd_qr_eigh import qr, svd
from gpugraph.ops.linalg.svd_qr_eigh import self_adjoint_eig as eigh
from gpugraph.ops.linalg.svd_qr_eigh import self_adjoint_eigvals as eigvalsh
from gpugraph.ops.linalg.tridiagonal_solve import tridiagonal_matmul, tridiagonal_solve
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize
from gpugraph.ops.reductions.clip_by_norm import global_norm

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
