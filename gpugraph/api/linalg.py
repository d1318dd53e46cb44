"""Linear algebra."""

from gpugraph.library.linear_operators import (
    LinearOperator as LinearOperator,
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
    LinearOperatorComposition as LinearOperatorComposition,
    LinearOperatorDiag as LinearOperatorDiag,
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorInversion as LinearOperatorInversion,
    LinearOperatorKronecker as LinearOperatorKronecker,
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
    LinearOperatorZeros as LinearOperatorZeros,
)
from gpugraph.ops.linalg.cross_product import cross as cross
from gpugraph.ops.linalg.einsum import einsum as einsum
from gpugraph.ops.linalg.lu_factorization import (
    lu as lu, lu_matrix_inverse as lu_matrix_inverse, lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
)
from gpugraph.ops.linalg.matmul import (
    matmul as matmul, matrix_transpose as matrix_transpose,
)
from gpugraph.ops.linalg.tensordot import tensordot as tensordot
from gpugraph.ops.linalg.matrix_compositions import (
    adjoint as adjoint, cholesky_solve as cholesky_solve, eye as eye, logdet as logdet,
    matvec as matvec, norm as norm, trace as trace,
)
from gpugraph.ops.linalg.rank_and_pseudo_inverse import (
    matrix_rank as matrix_rank, normalize as normalize, pinv as pinv,
)
from gpugraph.ops.linalg.solve_and_cholesky import cholesky as cholesky, slogdet as slogdet
from gpugraph.ops.linalg.svd_qr_eigh import qr as qr, svd as svd
from gpugraph.ops.linalg.tridiagonal_solve import (
    tridiagonal_matmul as tridiagonal_matmul, tridiagonal_solve as tridiagonal_solve,
)
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize as l2_normalize
from gpugraph.ops.reductions.clip_by_norm import global_norm as global_norm
from gpugraph.ops.linalg import matrix_compositions as _matrix_compositions
from gpugraph.ops.linalg import matrix_diag_and_band as _matrix_diag_and_band
from gpugraph.ops.linalg import matrix_diagonals_v2 as _matrix_diagonals_v2
from gpugraph.ops.linalg import matrix_exponential as _matrix_exponential
from gpugraph.ops.linalg import solve_and_cholesky as _solve_and_cholesky
from gpugraph.ops.linalg import svd_qr_eigh as _svd_qr_eigh

band_part = _matrix_diag_and_band.matrix_band_part
det = _solve_and_cholesky.matrix_determinant
diag = _matrix_diagonals_v2.matrix_diag
diag_part = _matrix_diagonals_v2.matrix_diag_part
eigh = _svd_qr_eigh.self_adjoint_eig
eigvalsh = _svd_qr_eigh.self_adjoint_eigvals
expm = _matrix_exponential.matrix_exponential
inv = _solve_and_cholesky.matrix_inverse
logm = _matrix_exponential.matrix_logarithm
lstsq = _matrix_compositions.matrix_solve_ls
set_diag = _matrix_diagonals_v2.matrix_set_diag
solve = _solve_and_cholesky.matrix_solve
sqrtm = _matrix_exponential.matrix_square_root
tensor_diag = _matrix_diag_and_band.diag
tensor_diag_part = _matrix_diag_and_band.diag_part
transpose = matrix_transpose
triangular_solve = _solve_and_cholesky.matrix_triangular_solve
