"""LinearOperatorFullMatrix: a batch of dense matrices."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import complex64, complex128, float16, float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import multiply_dense
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_DTYPES = [float16, float32, float64, complex64, complex128]


class LinearOperatorFullMatrix(LinearOperator):
    """Dense matrices: the tensor `matrix` [..., rows, columns].

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. If `is_self_adjoint`
    and `is_positive_definite` are True, systems are solved with Cholesky factors. The constructor
    raises TypeError if the matrix contains integers, and ValueError if its rank is less than 2.
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = convert_to_tensor(matrix, name="matrix")
        if self._matrix.dtype.base_dtype not in _DTYPES:
            raise TypeError(
                f"Argument matrix must have dtype in {_DTYPES}.  Found: {self._matrix.dtype}"
            )
        rank = self._matrix.shape.ndims
        if rank is not None and rank < 2:
            raise ValueError(
                f"Argument matrix must have at least 2 dimensions.  Found: {self._matrix}"
            )
        promises = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(self._matrix.dtype, [self._matrix], *promises, name)

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiply_dense(self._matrix, x, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        return self._matrix
