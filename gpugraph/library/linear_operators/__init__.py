"""Linear operators: matrices with a known structure, which are used without computing their dense
form.
"""

from gpugraph.library.linear_operators import operator_registrations as operator_registrations
from gpugraph.library.linear_operators.circulant_operators import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from gpugraph.library.linear_operators.composed_operators import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorComposition as LinearOperatorComposition,
)
from gpugraph.library.linear_operators.diagonal_operator import (
    LinearOperatorDiag as LinearOperatorDiag,
)
from gpugraph.library.linear_operators.full_matrix_operator import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
)
from gpugraph.library.linear_operators.householder_operator import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
)
from gpugraph.library.linear_operators.identity_operators import (
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from gpugraph.library.linear_operators.inverse_and_adjoint_operators import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorInversion as LinearOperatorInversion,
)
from gpugraph.library.linear_operators.kronecker_operator import (
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from gpugraph.library.linear_operators.linear_operator import LinearOperator as LinearOperator
from gpugraph.library.linear_operators.low_rank_update import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from gpugraph.library.linear_operators.lower_triangular_operator import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from gpugraph.library.linear_operators.toeplitz_operator import (
    LinearOperatorToeplitz as LinearOperatorToeplitz,
)
