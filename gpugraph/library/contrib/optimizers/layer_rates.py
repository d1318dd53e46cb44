"""LARS: momentum with a learning rate for each variable (You et al., 2017, arXiv:1708.03888)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.comparison_and_select import greater, where
from gpugraph.ops.elementwise.unary_functions import sqrt, square
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.state.change_by_handle import change


class LARSOptimizer(Optimizer):
    """Momentum with a separate learning rate for each variable.

    The learning rate is multiplied by eeta |w| / (|g| + weight_decay |w| + epsilon). The slot is
    "momentum".

    Args:
      skip_list: a list of strings. If the name of a variable contains one of them, the variable is
        neither scaled nor decayed.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list, self._use_nesterov = skip_list, use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _scaled(self, grad: Tensor, var: Variable) -> tuple[Tensor, Tensor]:
        """Return the gradient with weight decay added, and the learning rate of `var`."""
        rate = self._call_if_callable(self._learning_rate)
        rate = cast(convert_to_tensor(rate), var.dtype.base_dtype)
        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return grad, rate
        weights = var.value()
        w_norm, g_norm = sqrt(reduce_sum(square(weights))), sqrt(reduce_sum(square(grad)))
        divisor = g_norm + self._weight_decay * w_norm + self._epsilon
        one = convert_to_tensor(1.0, var.dtype.base_dtype)
        trust = where(
            greater(w_norm, 0), where(greater(g_norm, 0), self._eeta * w_norm / divisor, one), one
        )
        return grad + self._weight_decay * weights, rate * trust

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        scaled, rate = self._scaled(grad, var)
        momentum = cast(convert_to_tensor(self._momentum), var.dtype.base_dtype)
        return change(
            "ApplyMomentum",
            var._ref(),
            self._own_slot(var, "momentum")._ref(),
            rate,
            scaled,
            momentum,
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )
