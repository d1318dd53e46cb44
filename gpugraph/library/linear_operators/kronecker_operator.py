"""LinearOperatorKronecker: Kronecker products of operators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, ClassVar

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import common_batch
from gpugraph.library.linear_operators.operators_of_others import ListedOperator
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.masks_and_coordinates import broadcast_dynamic_shape
from gpugraph.ops.arrays.reshape_and_transpose import broadcast_to, expand_dims, reshape
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.arithmetic_functions import pow as power
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matrix_transpose
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of


class LinearOperatorKronecker(ListedOperator):
    """The Kronecker product of operators. The matrix of the product is not computed.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises TypeError if
    the dtypes differ, and ValueError for an empty list.
    """

    _joint = "_x_"
    _kept: ClassVar[dict[str, str]] = {
        f"is_{kind.replace('-', '_')}": f"The Kronecker product of {kind} operators is always "
        f"{kind}."
        for kind in ("non-singular", "self-adjoint", "positive-definite")
    }

    def __init__(
        self,
        operators: Iterable[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        promises = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        super().__init__(operators, promises, name)

    def _shape(self) -> TensorShape:
        rows, columns = (
            reduce(lambda a, b: a * b, (getattr(part, name) for part in self._operators))
            for name in ("range_dimension", "domain_dimension")
        )
        batch: TensorShape = self._static_batch()
        return batch.concatenate(TensorShape([rows, columns]))

    def _shape_tensor(self) -> Tensor:
        rows = self._product_of("range_dimension_tensor")
        return self._shape_of(rows, self._product_of("domain_dimension_tensor"))

    def _each_axis(self, x: Tensor, method: str, adjoint: bool, takes_columns: bool) -> Tensor:
        """Apply each operator (multiply or solve) along its axis of x.

        For the first operator, x [..., n0 * n1 * ..., k] is reshaped to [..., n0, n1 * ... * k].
        The axis of the result is then moved to the end, so that the next operator's axis comes
        first. After all operators, the axes are k, m0, m1, ...
        """
        batch = broadcast_dynamic_shape(self._whole_shape()[:-2], shape(x)[:-2])
        flat = broadcast_to(x, concat([batch, shape(x)[-2:]], 0))
        for operator in self._operators:
            sizes = operator.shape_tensor()[-1 if takes_columns else -2]
            front = reshape(flat, concat([batch, stack([sizes, -1])], 0))
            flat = matrix_transpose(getattr(operator, method)(front, adjoint=adjoint))
        last = concat([batch, stack([shape(x)[-1], -1])], 0)
        result = matrix_transpose(reshape(flat, last))
        if x.shape.ndims is not None and self.shape.ndims is not None:
            known = common_batch([x.shape[:-2], self.batch_shape])
            rows = self.range_dimension if takes_columns else self.domain_dimension
            result.set_shape(known.concatenate(TensorShape([rows, x.shape.as_list()[-1]])))
        return result

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._each_axis(x, "matmul", adjoint, not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._each_axis(rhs, "solve", adjoint, adjoint)

    def _copies(self, operator: LinearOperator) -> Tensor:
        """Return n / (size of the operator), where n is the number of columns of the product.

        The determinant of the product contains the operator's determinant with this exponent.
        """
        ratio = self._whole_shape()[-1] // operator.domain_dimension_tensor()
        return cast(ratio, self.dtype)

    def _determinant(self) -> Tensor:
        powers = [power(part.determinant(), self._copies(part)) for part in self._operators]
        return reduce(lambda a, b: a * b, powers)

    def _log_abs_determinant(self) -> Tensor:
        terms = [part.log_abs_determinant() * self._copies(part) for part in self._operators]
        return reduce(lambda a, b: a + b, terms)

    def _trace(self) -> Tensor:
        return self._product_of("trace")

    def _diag_part(self) -> Tensor:
        if not self.is_square:
            return super()._diag_part()

        def product(a: Tensor, b: Tensor) -> Tensor:
            whole = expand_dims(a, -1) * expand_dims(b, -2)
            return reshape(whole, concat([shape(whole)[:-2], [-1]], 0))

        return reduce(product, self._results("diag_part"))

    def _to_dense(self) -> Tensor:
        def product(a: Tensor, b: Tensor) -> Tensor:
            whole = a[..., :, None, :, None] * b[..., None, :, None, :]
            sizes = shape(whole)
            matrix = stack([sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
            return reshape(whole, concat([sizes[:-4], matrix], 0))

        dense = reduce(product, self._results("to_dense"))
        dense.set_shape(self.shape)
        return dense

    def _assert_each(self, method: str, goal: str) -> Operation:
        if not all(operator.is_square for operator in self._operators):
            raise invalid_argument(
                f"All Kronecker factors must be square for the product to {goal}"
            )
        return group(*self._results(method))

    def _assert_non_singular(self) -> Operation:
        return self._assert_each("assert_non_singular", "be invertible.")

    def _assert_self_adjoint(self) -> Operation:
        return self._assert_each("assert_self_adjoint", "be self adjoint.")
