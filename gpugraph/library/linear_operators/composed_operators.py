"""Products of operators, and block diagonal operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import broadcast_batches
from gpugraph.library.linear_operators.operators_of_others import ListedOperator
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.identity_and_shape import shape


class LinearOperatorComposition(ListedOperator):
    """The product operators[0] @ operators[1] @ ... . The matrix of the product is not computed.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises TypeError if
    the dtypes differ, and ValueError for an empty list or for sizes that do not fit.
    """

    _joint = "_o_"
    _kept: ClassVar[dict[str, str]] = {
        "is_non_singular": "The composition of non-singular operators is always non-singular."
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
        size = self._operators[0].domain_dimension
        for operator in self._operators[1:]:
            size.assert_is_compatible_with(operator.range_dimension)
            size = operator.domain_dimension
        matrix = TensorShape([self._operators[0].range_dimension, size])
        batch: TensorShape = self._static_batch()
        return batch.concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        first, last = self._operators[0], self._operators[-1]
        return self._shape_of(first.range_dimension_tensor(), last.domain_dimension_tensor())

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self._operators if adjoint else self._operators[::-1]
        product: Tensor = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            product = operator.matmul(product, adjoint=adjoint)
        return product

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self._operators[::-1] if adjoint else self._operators
        solution: Tensor = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            solution = operator.solve(solution, adjoint=adjoint)
        return solution

    def _determinant(self) -> Tensor:
        return self._product_of("determinant")

    def _log_abs_determinant(self) -> Tensor:
        return self._sum_of("log_abs_determinant")


class LinearOperatorBlockDiag(ListedOperator):
    """A matrix with square operators as blocks on its diagonal, and zeros elsewhere.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises TypeError if
    the dtypes differ. Raises ValueError for an empty list, and for blocks that are not square.
    """

    _joint = "_ds_"
    _kept: ClassVar[dict[str, str]] = {
        f"is_{key}": f"The direct sum of {kind} operators is always {kind}."
        for key, kind in (
            ("non_singular", "non-singular"),
            ("self_adjoint", "self-adjoint"),
            ("positive_definite", "positive definite"),
        )
    }

    def __init__(
        self,
        operators: Iterable[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        listed = list(operators)
        if not (is_square and all(operator.is_square for operator in listed)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        promises = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": True,
        }
        super().__init__(listed, promises, name)

    def _shape(self) -> TensorShape:
        sizes = [operator.domain_dimension.value for operator in self._operators]
        total = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
        batch: TensorShape = self._static_batch()
        return batch.concatenate(TensorShape([total, total]))

    def _shape_tensor(self) -> Tensor:
        total = self._sum_of("domain_dimension_tensor")
        return self._shape_of(total, total)

    def _blocks_of(self, x: Any, axis: int) -> Sequence[Tensor]:
        """Return one slice of x for each block: the slice that the block multiplies."""
        sizes: Any = [operator.domain_dimension.value for operator in self._operators]
        if None in sizes:
            sizes = stack(self._results("domain_dimension_tensor"))
        parts: Sequence[Tensor] = split(x, sizes, axis=axis, num=len(self._operators))
        return parts

    def _by_block(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Tensor:
        parts = self._blocks_of(x, -1 if adjoint_arg else -2)
        results = [
            getattr(operator, method)(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, part in zip(self._operators, parts)
        ]
        return concat(broadcast_batches(results), -2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_block("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_block("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._product_of("determinant")

    def _log_abs_determinant(self) -> Tensor:
        return self._sum_of("log_abs_determinant")

    def _trace(self) -> Tensor:
        return self._sum_of("trace")

    def _diag_part(self) -> Tensor:
        parts = [expand_dims(part, -1) for part in self._results("diag_part")]
        return squeeze(concat(broadcast_batches(parts), -2), [-1])

    def _to_dense(self) -> Tensor:
        blocks = broadcast_batches(self._results("to_dense"))
        total, done, rows = self._whole_shape()[-1], 0, []
        for block in blocks:
            leading = shape(block)[:-1]
            before = zeros(concat([leading, [done]], 0), block.dtype)
            done = done + shape(block)[-1]
            after = zeros(concat([leading, [total - done]], 0), block.dtype)
            rows.append(concat([before, block, after], -1))
        dense = concat(rows, -2)
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Operation:
        return group(*self._results("assert_non_singular"))

    def _assert_positive_definite(self) -> Operation:
        return group(*self._results("assert_positive_definite"))

    def _assert_self_adjoint(self) -> Operation:
        return group(*self._results("assert_self_adjoint"))
