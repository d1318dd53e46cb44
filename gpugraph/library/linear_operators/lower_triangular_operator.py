"""LinearOperatorLowerTriangular: a batch of lower triangular matrices."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import broadcast_batches, multiply_dense
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of
from gpugraph.ops.linalg.matrix_diag_and_band import matrix_band_part
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.linalg.solve_and_cholesky import matrix_triangular_solve
from gpugraph.ops.reductions.reduction_functions import reduce_prod, reduce_sum


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices: the lower triangles of `tril` [..., n, n], with 0 above the
    diagonal.

    Solving a system of n equations takes about n^2 multiplications. The arguments `is_...` are
    promises about the matrix, see `LinearOperator`. The constructor raises ValueError if the rank
    of the tensor is less than 2, or if `is_square` is False.
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            matrix = convert_to_tensor(tril, name="tril")
            if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {matrix}")
            self._tril = matrix_band_part(matrix, -1, 0)
            self._diagonal = matrix_diag_part(self._tril)
        super().__init__(
            matrix.dtype,
            [matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _shape(self) -> TensorShape:
        return self._tril.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        check: Operation = assert_positive(absolute(self._diagonal), message=message)
        return check

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiply_dense(self._tril, x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix, rhs = broadcast_batches([self._tril, adjoint_of(rhs) if adjoint_arg else rhs])
        return matrix_triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        return self._tril

    def _diag_part(self) -> Tensor:
        return self._diagonal

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diagonal, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._diagonal)), -1)
