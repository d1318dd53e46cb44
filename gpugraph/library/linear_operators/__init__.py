"""`tf.linalg.LinearOperator`, matrices with known structure, and the lower triangular one."""

from gpugraph.library.linear_operators.linear_operator import LinearOperator as LinearOperator
from gpugraph.library.linear_operators.lower_triangular_operator import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
