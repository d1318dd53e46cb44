"""LinearOperatorHouseholder: reflections."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import (
    multiply_dense,
    square_shape,
    square_shape_tensor,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of, norm


class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the hyperplanes orthogonal to `reflection_axis` [..., n].

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError if
    `reflection_axis` is a scalar, and for promises that are false for every reflection.
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        with name_scope(name, values=[reflection_axis]):
            self._axis = convert_to_tensor(reflection_axis, name="reflection_axis")
        if self._axis.shape.ndims == 0:
            raise ValueError(
                f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}"
            )
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        super().__init__(self._axis.dtype, [self._axis], is_non_singular, True, False, True, name)

    @property
    def reflection_axis(self) -> Tensor:
        """The axes [..., n]. They may have any length."""
        return self._axis

    def _unit(self) -> Tensor:
        return self._axis / norm(self._axis, axis=-1, keepdims=True)

    def _shape(self) -> TensorShape:
        return square_shape(self._axis.shape)

    def _shape_tensor(self) -> Tensor:
        return square_shape_tensor(self._axis)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        raise invalid_argument("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        unit = expand_dims(self._unit(), -1)
        return x - 2 * unit * multiply_dense(unit, x, adjoint=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return -ones(self._whole_shape()[:-2], self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._whole_shape()[:-2], self.dtype)

    def _trace(self) -> Tensor:
        sizes = self._whole_shape()
        return cast(sizes[-1] - 2, self.dtype) * ones(sizes[:-2], self.dtype)

    def _diag_part(self) -> Tensor:
        unit = self._unit()
        return 1.0 - 2 * unit * conj(unit)
