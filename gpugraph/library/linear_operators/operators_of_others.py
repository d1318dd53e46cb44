"""ListedOperator, the base class of operators that consist of a list of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar

from gpugraph.building.checks import assert_proper_iterable
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.operator_tensors import common_batch
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.masks_and_coordinates import broadcast_dynamic_shape


class ListedOperator(LinearOperator):
    """An operator that consists of a list of operators: a product, a block diagonal or a Kronecker
    product.

    The class attribute `_kept` is a dict from names of promises to error messages. If all operators
    of the list have such a promise, this operator has it too. The message is raised if the caller
    contradicts the promise.
    """

    _joint: str
    _kept: ClassVar[dict[str, str]]

    def __init__(
        self,
        operators: Iterable[LinearOperator],
        promises: dict[str, bool | None],
        name: str | None,
    ) -> None:
        assert_proper_iterable(operators)
        listed = list(operators)
        if not listed:
            raise ValueError(f"Expected a non-empty list of operators. Found: {listed}")
        self._operators = listed
        dtype = listed[0].dtype
        if any(operator.dtype != dtype for operator in listed):
            pairs = "   ".join(str((operator.name, operator.dtype)) for operator in listed)
            raise TypeError(f"Expected all operators to have the same dtype.  Found {pairs}")
        for promise, words in self._kept.items():
            if all(getattr(operator, promise) for operator in listed):
                if promises[promise] is False:
                    raise ValueError(words)
                promises[promise] = True
        parents = [parent for operator in listed for parent in operator.graph_parents]
        name = name or self._joint.join(operator.name for operator in listed)
        with name_scope(name, values=parents):
            super().__init__(dtype, parents, **promises, name=name)

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators of which this operator consists."""
        return self._operators

    def _static_batch(self) -> Any:
        return common_batch([operator.batch_shape for operator in self._operators])

    def _shape_of(self, rows: Any, columns: Any) -> Tensor:
        """Return the shape [*common batch shape, rows, columns] as a tensor."""
        batches = (operator.batch_shape_tensor() for operator in self._operators)
        matrix = stack([rows, columns], 0)
        return concat([reduce(broadcast_dynamic_shape, batches), matrix], 0)

    def _sum_of(self, method: str) -> Tensor:
        return reduce(lambda a, b: a + b, self._results(method))

    def _product_of(self, method: str) -> Tensor:
        return reduce(lambda a, b: a * b, self._results(method))

    def _results(self, method: str) -> Sequence[Any]:
        functions: list[Callable[[], Any]] = [getattr(part, method) for part in self._operators]
        return [function() for function in functions]
