"""LinearOperator: a batch of matrices that can be used without their dense form.

A subclass defines `_shape`, `_shape_tensor`, `_matmul`, and the functions that it computes better
than from the dense matrix: `_solve`, `_to_dense`, `_diag_part`, `_log_abs_determinant`,
`_determinant`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dimensions import Dimension
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_equal
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of, eye
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part
from gpugraph.ops.linalg.solve_and_cholesky import matrix_determinant, matrix_solve
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class LinearOperator:
    """A matrix [..., rows, columns], or a batch of them.

    Args:
      dtype: the dtype of the matrix. graph_parents: tensors that the matrix depends on. name: the
        scope of the operator's operations, by default the name of the class.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: the caller's promises about
        the matrix; None for no promise. Only the `assert_` methods check them.

    The constructor raises ValueError for contradictory promises. Methods that a subclass does not
    define raise NotImplementedError.
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        for number, parent in enumerate(parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular or is_self_adjoint:
            if is_square is False:
                raise ValueError("A non-singular or self-adjoint matrix is always square.")
            is_square = True
        self._dtype = dtypes.as_dtype(dtype)
        self._graph_parents, self._name = parents, name or type(self).__name__
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square

    @property
    def dtype(self) -> DType:
        """The dtype of the matrix."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the operator, which is the scope of its operations."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator depends on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrix has an inverse, as the caller promised; None if unknown."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrix is its own adjoint, as the caller promised; None if unknown."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether x^H A x has a positive real part for all x != 0, as the caller promised; None if
        unknown.
        """
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrix has as many rows as columns; None if unknown."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is None or columns is None:
            return self._is_square
        if self._is_square is not None and self._is_square != (rows == columns):
            raise ValueError(
                "User provided is_square hint conflicted with static shape: "
                f"is_square={self._is_square}, {rows} rows, {columns} columns"
            )
        return rows == columns

    # -- shapes

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape [..., rows, columns]."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without the two axes of the matrix."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The static rank of the dense tensor, None if unknown."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """The static number of columns."""
        sizes = self.shape.dims
        return sizes[-1] if sizes else Dimension(None)

    @property
    def range_dimension(self) -> Dimension:
        """The static number of rows."""
        sizes = self.shape.dims
        return sizes[-2] if sizes else Dimension(None)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape as an int32 vector."""
        with self._scope(name):
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape without the two axes of the matrix, as an int32 vector."""
        with self._scope(name):
            return self._shape_tensor()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns, as an int32 scalar."""
        with self._scope(name):
            return self._shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows, as an int32 scalar."""
        with self._scope(name):
            return self._shape_tensor()[-2]

    # -- checks

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Return an operation that checks that the matrix has an inverse.

        A run of the operation raises InvalidArgumentError for a singular matrix.
        """
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        raise NotImplementedError("assert_non_singular is not implemented.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Return an operation that checks that the matrix is positive definite.

        A run of the operation raises InvalidArgumentError if it is not.
        """
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Return an operation that checks that the matrix is its own adjoint.

        A run of the operation raises InvalidArgumentError if it is not.
        """
        with self._scope(name):
            dense = self._to_dense()
            message = "Matrix was not equal to its adjoint."
            check: Operation = assert_equal(dense, adjoint_of(dense), message=message)
            return check

    # -- products and solutions

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return matrix_solve(self._to_dense(), rhs, adjoint=adjoint)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor:
        """Multiply the matrix, or with `adjoint` its adjoint, by x [..., columns, k].

        adjoint_arg: whether to use the adjoint of x. Raise ValueError for incompatible shapes, and
        TypeError for another dtype.
        """
        with self._scope(name, x):
            x = self._argument(x, "x")
            size = self.range_dimension if adjoint else self.domain_dimension
            _check_size(size, x, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint, adjoint_arg)

    def __matmul__(self, other: Any) -> Tensor:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Multiply the matrix, or with `adjoint` its adjoint, by the vector x [..., columns]."""
        with self._scope(name, x):
            x = self._argument(x, "x")
            _check_size(self.range_dimension if adjoint else self.domain_dimension, x, -1)
            return squeeze(self._matmul(expand_dims(x, -1), adjoint), [-1])

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor:
        """Solve matrix @ x = rhs [..., rows, k] for x; with `adjoint`, adjoint(matrix) @ x = rhs.

        adjoint_arg: whether to use the adjoint of rhs. Raise NotImplementedError if the matrix is
        known to have no inverse; in other cases the errors are those of `matmul`.
        """
        self._check_solvable()
        with self._scope(name, rhs):
            rhs = self._argument(rhs, "rhs")
            size = self.domain_dimension if adjoint else self.range_dimension
            _check_size(size, rhs, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint, adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Solve matrix @ x = rhs as `solve` does, for a vector rhs [..., rows]."""
        self._check_solvable()
        with self._scope(name, rhs):
            rhs = self._argument(rhs, "rhs")
            _check_size(self.domain_dimension if adjoint else self.range_dimension, rhs, -1)
            return squeeze(self._solve(expand_dims(rhs, -1), adjoint), [-1])

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
        return self._matmul(eye(self._shape_tensor()[-1], dtype=self.dtype))

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._to_dense())

    def _determinant(self) -> Tensor:
        return matrix_determinant(self._to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return log(absolute(self._determinant()))

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
            return reduce_sum(self._diag_part(), -1)

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinant, of shape batch_shape.

        Raise NotImplementedError if the matrix is known not to be square.
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
            return self._to_dense() + self._argument(x, "x")

    # -- helpers of the methods

    @contextmanager
    def _scope(self, name: str, *values: Any) -> Iterator[None]:
        with name_scope(self._name), name_scope(name, values=list(values)):
            yield

    def _argument(self, value: Any, name: str) -> Tensor:
        tensor = convert_to_tensor(value, name=name)
        if tensor.dtype.base_dtype != self.dtype.base_dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype!r}.  Found: {tensor.dtype!r} in "
                f"tensor {tensor}"
            )
        return tensor


def _check_size(size: Dimension, tensor: Tensor, axis: int) -> None:
    """Raise ValueError if `tensor` has no axis `axis` (negative: from the end) or another size
    there.
    """
    tensor.shape.with_rank_at_least(-axis)
    if tensor.shape.dims is not None:
        size.assert_is_compatible_with(tensor.shape.dims[axis])
