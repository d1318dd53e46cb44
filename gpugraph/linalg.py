"""Linear algebra."""

from gpugraph.ops.clipping import global_norm
from gpugraph.ops.cross_products import cross
from gpugraph.ops.diagonals import matrix_diag as diag
from gpugraph.ops.diagonals import matrix_diag_part as diag_part
from gpugraph.ops.diagonals import matrix_set_diag as set_diag
from gpugraph.ops.einsum import einsum
from gpugraph.ops.factorizations import qr, svd
from gpugraph.ops.factorizations import self_adjoint_eig as eigh
from gpugraph.ops.factorizations import self_adjoint_eigvals as eigvalsh
from gpugraph.ops.linalg import matmul, matrix_transpose, tensordot
from gpugraph.ops.linalg import matrix_transpose as transpose
from gpugraph.ops.linalg_functions import (
    adjoint,
    cholesky_solve,
    eye,
    logdet,
    matvec,
    norm,
    trace,
)
from gpugraph.ops.linalg_functions import matrix_solve_ls as lstsq
from gpugraph.ops.matrix_functions import matrix_exponential as expm
from gpugraph.ops.matrix_functions import matrix_logarithm as logm
from gpugraph.ops.matrix_functions import matrix_square_root as sqrtm
from gpugraph.ops.matrix_parts import diag as tensor_diag
from gpugraph.ops.matrix_parts import diag_part as tensor_diag_part
from gpugraph.ops.matrix_parts import matrix_band_part as band_part
from gpugraph.ops.matrix_ranks import matrix_rank, normalize, pinv
from gpugraph.ops.normalizing import l2_normalize
from gpugraph.ops.solving import cholesky, slogdet
from gpugraph.ops.solving import matrix_determinant as det
from gpugraph.ops.solving import matrix_inverse as inv
from gpugraph.ops.solving import matrix_solve as solve
from gpugraph.ops.solving import matrix_triangular_solve as triangular_solve
from gpugraph.ops.triangles import lu, lu_matrix_inverse, lu_reconstruct, lu_solve
from gpugraph.ops.tridiagonal import tridiagonal_matmul, tridiagonal_solve

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
