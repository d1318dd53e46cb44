"""Adagrad that can apply gradients without changing its accumulators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.adagrad import AdagradOptimizer
from gpugraph.ops.state.change_by_handle import change


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad that can apply the gradients of a regularization loss without changing its
    accumulators.

    >>> v = tf.Variable([4.0])
    >>> optimizer = tf.contrib.opt.RegAdagradOptimizer(0.5)
    >>> train = optimizer.minimize(tf.square(v))
    >>> with optimizer.avoid_updating_slots():
    ...     regularize = optimizer.minimize(0.01 * tf.square(v))
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Return a context manager. Training operations that are created inside it do not change
        the accumulators.
        """
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _change(self, kind: str, var: Variable, grad: Sequence[Tensor]) -> Any:
        return change(
            f"{kind}{self._update_name}",
            var._ref(),
            self._own_slot(var, "accumulator")._ref(),
            *self._numbers(var),
            *grad,
            use_locking=self._use_locking,
            update_slots=self._should_update_slots,
        )
