"""LinearOperatorDiag: a batch of diagonal matrices."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_positive
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import (
    assert_is_real,
    assert_no_zeros,
    square_shape,
    square_shape_tensor,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.complex_parts import real
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag, matrix_diag_part, matrix_set_diag
from gpugraph.ops.reductions.reduction_functions import reduce_prod, reduce_sum


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices with the diagonals `diag` [..., n].

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError if
    `diag` is a scalar, and for promises that are false for every diagonal matrix.
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._diag = convert_to_tensor(diag, name="diag")
        if self._diag.shape.ndims == 0:
            raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        promises = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._diag.dtype, [self._diag], *promises, name)

    @property
    def diag(self) -> Tensor:
        """The diagonals [..., n]."""
        return self._diag

    def _shape(self) -> TensorShape:
        return square_shape(self._diag.shape)

    def _shape_tensor(self) -> Tensor:
        return square_shape_tensor(self._diag)

    def _assert_non_singular(self) -> Operation:
        return assert_no_zeros(self._diag, "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        message = (
            "Diagonal operator had diagonal entries with non-positive real part, thus was not "
            "positive definite."
            if self.dtype.is_complex
            else "Real diagonal operator had non-positive diagonal entries, thus was not positive "
            "definite."
        )
        check: Operation = assert_positive(real(self._diag), message=message)
        return check

    def _assert_self_adjoint(self) -> Operation:
        message = (
            "This diagonal operator contained non-zero imaginary values.   Thus it was not "
            "self-adjoint."
        )
        return assert_is_real(self._diag, message) or no_op("assert_self_adjoint")

    def _term(self, adjoint: bool) -> Tensor:
        return conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return expand_dims(self._term(adjoint), -1) * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return self._term(adjoint) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / self._term(adjoint), -1)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(absolute(self._diag)), -1), self.dtype)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        diagonal = self._diag + matrix_diag_part(x)
        return matrix_set_diag(x, diagonal)
