"""LinearOperatorToeplitz: matrices that are constant along their diagonals."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_equal
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.circulant_operators import (
    LinearOperatorCirculant,
    as_complex,
)
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import square_shape
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros_like
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
)
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of
from gpugraph.ops.signal.fourier_transforms import fft


class LinearOperatorToeplitz(LinearOperator):
    """Matrices that are constant along diagonals. Their first column is `col` and their first row
    is `row` [..., n].

    Products are computed with Fourier transforms of a circulant matrix of twice the size. The top
    left element comes from `col`. The arguments `is_...` are promises about the matrix, see
    `LinearOperator`. Raises ValueError for vectors of different lengths.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            self._check_vectors()
            column = self._col + zeros_like(self._row)
            across = self._row + zeros_like(self._col)
            rest = reverse(across[..., 1:], axis=[-1])
            whole = concat([column, zeros_like(column[..., :1]), rest], -1)
            self._circulant = LinearOperatorCirculant(
                fft(as_complex(whole)), input_output_dtype=self._row.dtype.base_dtype
            )
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        promises = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._row.dtype, [self._row, self._col], *promises, name)

    def _check_vectors(self) -> None:
        for name, tensor in (("row", self._row), ("col", self._col)):
            if tensor.shape.ndims == 0:
                raise ValueError(
                    f"Argument {name} must have at least 1 dimension.  Found: {tensor}"
                )
        if None not in (self._row.shape.ndims, self._col.shape.ndims):
            sizes = self._row.shape.as_list()[-1], self._col.shape.as_list()[-1]
            if None not in sizes and sizes[0] != sizes[1]:
                raise ValueError(
                    "Expected square matrix, got row and col with mismatched dimensions."
                )

    @property
    def col(self) -> Tensor:
        """The first column [..., n]."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first row [..., n]."""
        return self._row

    def _shape(self) -> TensorShape:
        return square_shape(broadcast_static_shape(self._row.shape, self._col.shape))

    def _shape_tensor(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(self._row), shape(self._col))
        return concat([sizes, sizes[-1:]], 0)

    def _assert_self_adjoint(self) -> Operation:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        check: Operation = assert_equal(self._row, self._col, message=message)
        return check

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        whole = concat([x, zeros_like(x)], -2)
        product = self._circulant.matmul(whole, adjoint=adjoint)
        return cast(product[..., : self._whole_shape()[-1], :], self.dtype)

    def _trace(self) -> Tensor:
        corner = self._col[..., 0] + 0 * self._row[..., 0]
        return cast(self._whole_shape()[-1], self.dtype) * corner

    def _diag_part(self) -> Tensor:
        return self._col[..., :1] * ones(self._whole_shape()[:-1], self.dtype)
