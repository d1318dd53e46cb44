"""Operators for identity matrices, multiples of identity matrices, and matrices of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype, float32, int32
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_non_negative, assert_positive, assert_rank
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import assert_is_real, assert_no_zeros
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.control.group_and_no_op import no_op, with_dependencies
from gpugraph.ops.elementwise.arithmetic_functions import pow as power
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.complex_parts import real
from gpugraph.ops.elementwise.unary_functions import abs as absolute, log
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag_part, matrix_set_diag
from gpugraph.ops.reductions.reduction_functions import reduce_min


def checked_sizes(value: Any, name: str, rank: int, is_checked: bool) -> tuple[Tensor, Any]:
    """Return a size or a shape as an integer tensor, and its static value or None.

    Raises TypeError for a dtype that is not an integer dtype, and ValueError if the static value
    does not have the rank `rank` or is negative.

    Args:
      is_checked: whether a run checks the rank and the sign.
    """
    dtype = None if isinstance(value, Tensor) or np.size(value) else int32
    sizes = convert_to_tensor(value, dtype, name=name)
    if not sizes.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {sizes}")
    if is_checked:
        checks = [
            assert_rank(sizes, rank, message=f"Argument {name} must be a {rank}-D Tensor."),
            assert_non_negative(sizes, message=f"Argument {name} must be non-negative."),
        ]
        sizes = with_dependencies(checks, sizes)
    static = constant_value(sizes)
    if static is not None:
        if static.ndim != rank:
            raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {static}")
        if np.any(static < 0):
            raise ValueError(f"Argument {name} must be non-negative.  Found: {static}")
    return sizes, static


class SizedOperator(LinearOperator):
    """An operator whose shape is given by sizes: the number of rows, the number of columns, and the
    batch shape.
    """

    _rows: tuple[Tensor, Any]
    _columns: tuple[Tensor, Any]
    _batch: tuple[Tensor, Any] | None = None

    @property
    def _num_rows(self) -> Tensor:
        return self._rows[0]

    def _shape(self) -> TensorShape:
        sizes = [None if part[1] is None else int(part[1]) for part in (self._rows, self._columns)]
        return self._static_batch().concatenate(TensorShape(sizes))

    def _static_batch(self) -> TensorShape:
        if self._batch is None:
            return TensorShape([])
        tensor, static = self._batch
        if static is not None:
            return TensorShape([int(size) for size in static])
        rank = tensor.shape.as_list()[0] if tensor.shape.ndims == 1 else None
        return TensorShape(None if rank is None else [None] * rank)

    def _shape_tensor(self) -> Tensor:
        matrix = stack([self._rows[0], self._columns[0]], 0)
        return matrix if self._batch is None else concat([self._batch[0], matrix], 0)

    def _diagonal_shape(self) -> Tensor:
        sizes = self._whole_shape()
        return concat([sizes[:-2], [reduce_min(sizes[-2:])]], 0)

    def _with_batch(self, x: Tensor) -> Tensor:
        """Return matrices broadcast to the batch shape."""
        if self._batch is None:
            return x
        batch = self._whole_shape()[:-2]
        one = np.ones(2, np.int32)
        return x + zeros(concat([batch, cast(one, batch.dtype)], 0), x.dtype)


class LinearOperatorIdentity(SizedOperator):
    """Identity matrices [*batch_shape, num_rows, num_rows].

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError if
    one of the promises is false.

    Args:
      assert_proper_shapes: whether runs check the sizes.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for promise, kind in (
            (is_self_adjoint, "self adjoint"),
            (is_non_singular, "non-singular"),
            (is_positive_definite, "positive-definite"),
            (is_square, "square"),
        ):
            if not promise:
                raise ValueError(f"An identity operator is always {kind}.")
        with name_scope(name):
            is_checked = assert_proper_shapes
            self._rows = self._columns = checked_sizes(num_rows, "num_rows", 0, is_checked)
            if batch_shape is not None:
                sizes = (
                    batch_shape.as_list() if isinstance(batch_shape, TensorShape) else batch_shape
                )
                self._batch = checked_sizes(sizes, "batch_shape", 1, is_checked)
        super().__init__(as_dtype(dtype or float32), None, True, True, True, True, name)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._with_batch(adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return ones(self._whole_shape()[:-2], self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._whole_shape()[:-2], self.dtype)

    def _trace(self) -> Tensor:
        return cast(self._rows[0], self.dtype) * ones(self._whole_shape()[:-2], self.dtype)

    def _diag_part(self) -> Tensor:
        return ones(self._diagonal_shape(), self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, 1 + matrix_diag_part(x))


class LinearOperatorScaledIdentity(SizedOperator):
    """Multiples of the identity matrix with `num_rows` rows. The factors are `multiplier` [...].

    For the other arguments, see `LinearOperatorIdentity`.
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = convert_to_tensor(multiplier, name="multiplier")
            sizes = checked_sizes(num_rows, "num_rows", 0, assert_proper_shapes)
            self._rows = self._columns = sizes
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        promises = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._multiplier.dtype, [self._multiplier], *promises, name)

    @property
    def multiplier(self) -> Tensor:
        """The factors [...], which are the elements of the diagonals."""
        return self._multiplier

    def _static_batch(self) -> TensorShape:
        return self._multiplier.shape

    def _shape_tensor(self) -> Tensor:
        return concat([shape(self._multiplier), stack([self._rows[0], self._rows[0]], 0)], 0)

    def _assert_non_singular(self) -> Operation:
        return assert_no_zeros(self._multiplier, "LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        message = "LinearOperator was not positive definite."
        check: Operation = assert_positive(real(self._multiplier), message=message)
        return check

    def _assert_self_adjoint(self) -> Operation:
        message = "LinearOperator was not self-adjoint"
        return assert_is_real(self._multiplier, message) or no_op("assert_self_adjoint")

    def _factor(self, adjoint: bool) -> Tensor:
        factor = conj(self._multiplier) if adjoint else self._multiplier
        return expand_dims(expand_dims(factor, -1), -1)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (adjoint_of(x) if adjoint_arg else x) * self._factor(adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (adjoint_of(rhs) if adjoint_arg else rhs) / self._factor(adjoint)

    def _determinant(self) -> Tensor:
        return power(self._multiplier, cast(self._rows[0], self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        logarithm = cast(log(absolute(self._multiplier)), self.dtype)
        return logarithm * cast(self._rows[0], self.dtype)

    def _trace(self) -> Tensor:
        return cast(self._rows[0], self.dtype) * self._multiplier

    def _diag_part(self) -> Tensor:
        diagonal = ones(self._diagonal_shape(), self.dtype)
        return diagonal * expand_dims(self._multiplier, -1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        x = x + 0 * self._factor(False)
        return matrix_set_diag(x, expand_dims(self._multiplier, -1) + matrix_diag_part(x))


class LinearOperatorZeros(SizedOperator):
    """Matrices of zeros [*batch_shape, num_rows, num_columns]. The default of `num_columns` is
    `num_rows`.

    For the other arguments, see `LinearOperatorIdentity`.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        with name_scope(name):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always not positive-definite.")
            is_checked = assert_proper_shapes
            self._rows = self._columns = checked_sizes(num_rows, "num_rows", 0, is_checked)
            if num_columns is not None:
                self._columns = checked_sizes(num_columns, "num_columns", 0, is_checked)
            if batch_shape is not None:
                self._batch = checked_sizes(batch_shape, "batch_shape", 1, is_checked)
        if is_square and num_columns is not None and self._rows[1] != self._columns[1]:
            rows, columns = self._rows[1], self._columns[1]
            raise ValueError(
                "LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({rows}) != num_columns({columns})"
            )
        is_self_adjoint = is_self_adjoint if is_square else False
        super().__init__(
            as_dtype(dtype or float32), None, False, is_self_adjoint, False, is_square, name
        )

    def _assert_non_singular(self) -> Operation:
        raise invalid_argument("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise invalid_argument("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        sizes = shape(x)
        rows = (self._columns if adjoint else self._rows)[0]
        columns = sizes[-2] if adjoint_arg else sizes[-1]
        product = zeros(concat([sizes[:-2], stack([cast(rows, int32), columns])], 0), x.dtype)
        return self._with_batch(product)

    def _determinant(self) -> Tensor:
        return zeros(self._whole_shape()[:-2], self.dtype)

    def _trace(self) -> Tensor:
        return zeros(self._whole_shape()[:-2], self.dtype)

    def _diag_part(self) -> Tensor:
        return zeros(self._diagonal_shape(), self.dtype)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self._with_batch(x)
