"""LinearOperatorLowRankUpdate: an operator plus a product of narrow matrices."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.diagonal_operator import LinearOperatorDiag
from gpugraph.library.linear_operators.identity_operators import LinearOperatorIdentity
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import (
    multiply_dense,
    solve_by_cholesky,
    solve_dense,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
)
from gpugraph.ops.elementwise.unary_functions import abs as absolute, exp, log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.linalg.solve_and_cholesky import cholesky, matrix_determinant
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class LinearOperatorLowRankUpdate(LinearOperator):
    """The operator base_operator + u @ diag(diag_update) @ adjoint(v).

    Solutions and determinants are computed from solutions and determinants of the base operator and
    of a k by k matrix (Woodbury's identity). The other arguments `is_...` are promises about the
    matrix, see `LinearOperator`. The constructor raises ValueError if sizes or promises contradict
    each other.

    Args:
      u, v: [..., n, k] with k < n. By default, v is u.
      diag_update: [..., k], by default ones.
      is_diag_update_positive: the caller's promise that diag_update is positive.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        base = base_operator
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        is_definite = base.is_positive_definite and base.is_self_adjoint and v is None
        self._use_cholesky = bool(is_definite and is_diag_update_positive)
        if base.is_self_adjoint and v is None and not base.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is "
                    "self-adjoint, this must be a self-adjoint operator."
                )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        self._base_operator, self._is_diag_update_positive = base, is_diag_update_positive
        with name_scope(name, values=[*base.graph_parents, u, diag_update, v]):
            self._u = convert_to_tensor(u, name="u")
            self._v = self._u if v is None else convert_to_tensor(v, name="v")
            self._diag_update: Any = None
            if diag_update is not None:
                self._diag_update = convert_to_tensor(diag_update, name="diag_update")
            self._diag_operator = self._operator_of_diagonal()
        parents = [self._u, self._diag_update, self._v]
        super().__init__(
            base.dtype,
            [*base.graph_parents, *(parent for parent in parents if parent is not None)],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
        self._check_shapes()

    def _operator_of_diagonal(self) -> LinearOperator:
        if self._diag_update is not None:
            is_positive = self._is_diag_update_positive
            return LinearOperatorDiag(self._diag_update, is_positive_definite=is_positive)
        known = self._u.shape.as_list()[-1] if self._u.shape.ndims else None
        rank = shape(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(rank, dtype=self._base_operator.dtype)

    def _check_shapes(self) -> None:
        sizes = broadcast_static_shape(self._u.shape, self._v.shape)
        batch = broadcast_static_shape(self._base_operator.batch_shape, sizes[:-2])
        if sizes.dims is not None:
            self._base_operator.domain_dimension.assert_is_compatible_with(sizes.dims[-2])
        if self._diag_update is not None and self._diag_update.shape.dims and sizes.dims:
            Dimension(sizes.dims[-1]).assert_is_compatible_with(self._diag_update.shape.dims[-1])
            broadcast_static_shape(batch, self._diag_update.shape[:-1])

    @property
    def u(self) -> Tensor:
        """The left factor, a matrix [..., n, k]."""
        return self._u

    @property
    def v(self) -> Tensor:
        """The matrix [..., n, k] whose adjoint is the right factor."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal is positive, as the caller promised, or None if it is unknown."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        """The diagonal [..., k]. None means ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """The diagonal as an operator."""
        return self._diag_operator

    @property
    def base_operator(self) -> LinearOperator:
        """The operator to which the product is added."""
        return self._base_operator

    def _shape(self) -> TensorShape:
        batch = broadcast_static_shape(self._base_operator.batch_shape, self._u.shape[:-2])
        return batch.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self._base_operator.shape_tensor()
        batch = broadcast_dynamic_shape(base[:-2], shape(self._u)[:-2])
        return concat([batch, base[-2:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        narrow = multiply_dense(right, x, adjoint=True, adjoint_arg=adjoint_arg)
        update = multiply_dense(left, self._diag_operator.matmul(narrow, adjoint=adjoint))
        whole = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return whole + update

    def _capacitance(self) -> Tensor:
        """Return the k by k matrix inverse(diagonal) + adjoint(v) @ inverse(base) @ u."""
        narrow = multiply_dense(self._v, self._base_operator.solve(self._u), adjoint=True)
        return self._diag_operator.inverse().add_to_tensor(narrow)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        solution = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        narrow = multiply_dense(right, solution, adjoint=True)
        if self._use_cholesky:
            inner = solve_by_cholesky(cholesky(self._capacitance()), narrow)
        else:
            inner = solve_dense(self._capacitance(), narrow, adjoint)
        correction = base.solve(multiply_dense(left, inner), adjoint=adjoint)
        result: Tensor = solution - correction
        return result

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exp(self._log_abs_determinant())
        outer = self._diag_operator.determinant() * self._base_operator.determinant()
        return matrix_determinant(self._capacitance()) * outer

    def _log_abs_determinant(self) -> Tensor:
        outer = (
            self._diag_operator.log_abs_determinant() + self._base_operator.log_abs_determinant()
        )
        if self._use_cholesky:
            factor = matrix_diag_part(cholesky(self._capacitance()))
            return 2 * reduce_sum(log(factor), -1) + outer
        inner = log(absolute(matrix_determinant(self._capacitance())))
        return cast(inner, self.dtype) + outer
