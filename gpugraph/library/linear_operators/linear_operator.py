"""LinearOperator: a batch of matrices that can be used without computing their dense form.

A subclass defines `_shape`, `_shape_tensor` and `_matmul`. It may also define the following
functions, if it can compute them faster than from the dense matrix: `_solve`, `_to_dense`,
`_diag_part`, `_trace`, `_log_abs_determinant`, `_determinant`, `_add_to_tensor`. `operator_algebra`
has products, solutions, adjoints, inverses and Cholesky factors that are themselves operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dimensions import Dimension
from gpugraph.building.checks import assert_equal, assert_less, assert_positive
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators import operator_algebra
from gpugraph.library.linear_operators.operator_shape import OperatorShape
from gpugraph.library.linear_operators.operator_tensors import solve_by_cholesky, solve_dense
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.complex_parts import real
from gpugraph.ops.elementwise.unary_functions import exp, log
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of, eye
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.linalg.solve_and_cholesky import cholesky, matrix_determinant, slogdet
from gpugraph.ops.linalg.svd_qr_eigh import svd
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_min, reduce_sum


class LinearOperator(OperatorShape):
    """A matrix [..., rows, columns], or a batch of matrices.

    The constructor raises ValueError if promises contradict each other. A method raises
    NotImplementedError if it needs a function that the subclass does not define.

    Args:
      dtype: the dtype of the matrix.
      graph_parents: tensors on which the matrix depends.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: the caller's promises about
        the matrix. If one of them is None, the caller promises nothing. Promises are used without a
        check. Only the `assert_` methods check them.
      name: the name scope of the operator's operations, by default the name of the class.
    """

    # -- checks

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Return an operation that raises InvalidArgumentError in a run if the matrix is
        singular.
        """
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        if self._can_use_cholesky():
            return self._assert_positive_definite()
        values = svd(self._to_dense(), compute_uv=False)
        condition = reduce_max(values, -1) / reduce_min(values, -1)
        epsilon = np.finfo(values.dtype.as_numpy_dtype).eps
        sizes = cast(reduce_max(self._whole_shape()[-2:]), values.dtype)
        limit = 1.0 / (maximum(sizes, cast(100, values.dtype)) * epsilon)
        message = "Singular matrix up to precision epsilon."
        check: Operation = assert_less(condition, limit, message=message)
        return check

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Return an operation that raises InvalidArgumentError in a run unless the matrix is
        positive definite.
        """
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        factor = matrix_diag_part(cholesky(self._to_dense()))
        check: Operation = assert_positive(
            real(factor), message="Matrix was not positive definite."
        )
        return check

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Return an operation that raises InvalidArgumentError in a run unless the matrix is its
        own adjoint.
        """
        with self._scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Operation:
        dense = self._to_dense()
        message = "Matrix was not equal to its adjoint."
        check: Operation = assert_equal(dense, adjoint_of(dense), message=message)
        return check

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    # -- products and solutions

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        dense = self._to_dense()
        if self._can_use_cholesky():
            return solve_by_cholesky(cholesky(dense), rhs)
        return solve_dense(dense, rhs, adjoint)

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return squeeze(self._matmul(expand_dims(x, -1), adjoint), [-1])

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Tensor:
        return squeeze(self._solve(expand_dims(rhs, -1), adjoint), [-1])

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiply the matrix by x [..., columns, k]. If `adjoint` is true, multiply its adjoint by
        x.

        If x is an operator, the result is also an operator. Raises ValueError if the shapes are
        incompatible, and TypeError if the dtypes differ.

        Args:
          adjoint_arg: whether to use the adjoint of x.
        """
        if isinstance(x, LinearOperator):
            left, right = self._pair(x, adjoint, adjoint_arg, "x")
            with self._scope(name):
                return operator_algebra.matmul(left, right)
        with self._scope(name, x):
            x = self._argument(x, "x")
            size = self.range_dimension if adjoint else self.domain_dimension
            _check_size(size, x, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint, adjoint_arg)

    def _pair(
        self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, name: str
    ) -> tuple[LinearOperator, LinearOperator]:
        """Return the two operators, or their adjoints if requested. Raises ValueError if their
        inner sizes differ.
        """
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        columns, rows = left.domain_dimension.value, right.range_dimension.value
        if None not in (columns, rows) and columns != rows:
            raise ValueError(
                f"Operators are incompatible. Expected `{name}` to have dimension {columns} but "
                f"got {rows}."
            )
        return left, right

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Multiply the matrix by the vector x [..., columns]. If `adjoint` is true, multiply its
        adjoint by x.
        """
        with self._scope(name, x):
            x = self._argument(x, "x")
            _check_size(self.range_dimension if adjoint else self.domain_dimension, x, -1)
            return self._matvec(x, adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solve matrix @ x = rhs [..., rows, k] for x. If `adjoint` is true, solve adjoint(matrix)
        @ x = rhs.

        If rhs is an operator, the result is also an operator. Raises NotImplementedError if the
        matrix is known to have no inverse. For other errors, see `matmul`.

        Args:
          adjoint_arg: whether to use the adjoint of rhs.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left, right = self._pair(rhs, adjoint, adjoint_arg, "rhs")
            with self._scope(name):
                return operator_algebra.solve(left, right)
        with self._scope(name, rhs):
            rhs = self._argument(rhs, "rhs")
            size = self.domain_dimension if adjoint else self.range_dimension
            _check_size(size, rhs, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint, adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Solve matrix @ x = rhs for a vector rhs [..., rows]. See `solve`."""
        self._check_solvable()
        with self._scope(name, rhs):
            rhs = self._argument(rhs, "rhs")
            _check_size(self.domain_dimension if adjoint else self.range_dimension, rhs, -1)
            return self._solvevec(rhs, adjoint)

    # -- other operators

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the adjoint as an operator. The adjoint of a self-adjoint operator is the operator
        itself.
        """
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            return operator_algebra.adjoint(self)

    @property
    def H(self) -> LinearOperator:
        """The adjoint as an operator."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the inverse as an operator. Raises ValueError if the operator is known to be
        singular.
        """
        for known, kind in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if known is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {kind} matrix."
                )
        with self._scope(name):
            return operator_algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the Cholesky factor as an operator.

        Raises ValueError unless the operator is promised to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._scope(name):
            return operator_algebra.cholesky(self)

    def _check_solvable(self) -> None:
        for known, word in (
            (self.is_non_singular, "be singular"),
            (self.is_square, "not be square"),
        ):
            if known is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {word}."
                )

    # -- statistics

    def _to_dense(self) -> Tensor:
        sizes = self._whole_shape()
        columns = self.domain_dimension.value
        batch = self.batch_shape.as_list() if self.batch_shape.is_fully_defined() else sizes[:-2]
        rows = sizes[-1] if columns is None else columns
        return self._matmul(eye(rows, batch_shape=batch, dtype=self.dtype))

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self._diag_part(), -1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._to_dense() + x

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return exp(self._log_abs_determinant())
        return matrix_determinant(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            factor = matrix_diag_part(cholesky(self._to_dense()))
            return 2 * reduce_sum(log(factor), -1)
        return slogdet(self._to_dense())[1]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return the matrix as a tensor."""
        with self._scope(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonal: [..., min(rows, columns)]."""
        with self._scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sum of the diagonal, of shape batch_shape."""
        with self._scope(name):
            return self._trace()

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant, of shape batch_shape. Raises NotImplementedError if the matrix is
        known not to be square.
        """
        self._check_square()
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithm of the absolute value of the determinant, of shape batch_shape."""
        self._check_square()
        with self._scope(name):
            return self._log_abs_determinant()

    def _check_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the matrix plus a tensor of the same dtype and a compatible shape."""
        with self._scope(name, x):
            return self._add_to_tensor(self._argument(x, "x"))


def _check_size(size: Dimension, tensor: Tensor, axis: int) -> None:
    """Raise ValueError unless a tensor has the axis `axis`, with a size that is compatible with
    `size`.

    Args:
      axis: a negative number, counted from the last axis.
    """
    tensor.shape.with_rank_at_least(-axis)
    if tensor.shape.dims is not None:
        size.assert_is_compatible_with(tensor.shape.dims[axis])
