"""Operators for the inverse and the adjoint of an operator. They store only the original
operator.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.linalg.matrix_compositions import adjoint as adjoint_of


def shared_promise(operator: LinearOperator, name: str, promise: bool | None, relation: str) -> Any:
    """Return the operator's promise `name`. If the operator promises nothing, return `promise`.

    Raises ValueError if the two promises contradict each other.

    Args:
      relation: the reason why the two promises can't differ, for the message.
    """
    value = getattr(operator, name)
    if None not in (value, promise) and value != promise:
        raise ValueError(f"{relation}  Found: operator.{name}={value}, {name}={promise}")
    return promise if value is None else value


class DerivedOperator(LinearOperator):
    """Base class of operators that are derived from another operator. The promises of the other
    operator also apply to them.
    """

    _suffix: str
    _kind: str

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        words = {
            "is_non_singular": ("non-singular", is_non_singular),
            "is_self_adjoint": ("self-adjoint", is_self_adjoint),
            "is_positive_definite": ("positive-definite", is_positive_definite),
            "is_square": ("square", is_square),
        }
        promises = {
            key: shared_promise(
                operator,
                key,
                promise,
                f"An operator is {word} if and only if its {self._kind} is {word}.",
            )
            for key, (word, promise) in words.items()
        }
        name = name or operator.name + self._suffix
        with name_scope(name, values=operator.graph_parents):
            super().__init__(operator.dtype, operator.graph_parents, **promises, name=name)

    @property
    def operator(self) -> LinearOperator:
        """The operator from which this operator is derived."""
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self._operator.assert_self_adjoint()


class LinearOperatorInversion(DerivedOperator):
    """The inverse of an operator. Its products are the operator's solutions, and its solutions are
    the operator's products.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError if
    the operator is known to have no inverse, and for promises that contradict the promises of the
    operator.
    """

    _suffix, _kind = "_inv", "inverse"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        for key, promise in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            value = getattr(operator, key)
            if value is False or promise is False:
                raise ValueError(
                    f"operator and supplied hints must have `{key}` equal to `True` or `None`.  "
                    f"Found {value}, {promise}"
                )
        super().__init__(
            operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        product: Tensor = self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return product

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        solution: Tensor = self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return solution

    def _determinant(self) -> Tensor:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self._operator.log_abs_determinant()


class LinearOperatorAdjoint(DerivedOperator):
    """The adjoint of an operator.

    The arguments `is_...` are promises about the matrix, see `LinearOperator`. Raises ValueError
    for promises that contradict the promises of the operator.
    """

    _suffix, _kind = "_adjoint", "adjoint"

    def _shape(self) -> TensorShape:
        sizes = self._operator.shape
        if sizes.ndims is None:
            return sizes
        rows, columns = sizes.as_list()[-2:]
        return sizes[:-2].concatenate(TensorShape([columns, rows]))

    def _shape_tensor(self) -> Tensor:
        sizes = self._operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        product: Tensor = self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return product

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        solution: Tensor = self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return solution

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Tensor:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return conj(self._operator.trace())

    def _to_dense(self) -> Tensor:
        return adjoint_of(self._operator.to_dense())
