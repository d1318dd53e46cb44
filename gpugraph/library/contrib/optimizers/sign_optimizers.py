"""Optimizers whose steps depend on whether a gradient has the same sign as its running mean.

Source: Bello et al., 2017 (arXiv:1709.07417).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.global_step import get_or_create_global_step
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.unary_functions import exp, sign
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.state.scatter_updates import scatter_sub, scatter_update


class _SignOptimizer(Optimizer):
    """Base class. A step is m = beta m + (1 - beta) g, then var -= learning_rate f(sign(g) sign(m))
    g.
    """

    def __init__(
        self,
        learning_rate: Any,
        number: Any,
        beta: Any,
        sign_decay_fn: Callable[[Any], Any] | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._settings = (learning_rate, number, beta)
        self._sign_decay_fn = sign_decay_fn
        self._tensors: list[Tensor] = []
        self._sign_decay: Tensor | None = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Return an operation that changes the variables. `sign_decay_fn` receives the global
        step.
        """
        if self._sign_decay_fn is not None:
            step = get_or_create_global_step() if global_step is None else global_step
            self._sign_decay = convert_to_tensor(self._sign_decay_fn(step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value)) for value in self._settings
        ]

    def _factor(self, number: Tensor, agreement: Tensor) -> Tensor:
        """Return the factor of the gradient.

        Args:
          agreement: sign(g) sign(m), multiplied by the decay.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `_factor`")

    def _next(self, var: Variable, m: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Return the next m, and the tensor to subtract from the variable."""
        dtype = var.dtype.base_dtype
        rate, number, beta = (cast(tensor, dtype) for tensor in self._tensors)
        m = beta * m + (1.0 - beta) * grad
        agreement = sign(grad) * sign(m)
        if self._sign_decay is not None:
            agreement = cast(self._sign_decay, dtype) * agreement
        return m, rate * self._factor(number, agreement) * grad

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        m = self._own_slot(var, "m")
        new_m, step = self._next(var, m.value(), grad)
        locking = self._use_locking
        return group(var.assign_sub(step, locking), m.assign(new_m, locking))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        m, rows = self._own_slot(var, "m"), grad.indices
        new_m, step = self._next(var, gather(m, rows), grad.values)
        with control_dependencies([step]):
            kept = scatter_update(m, rows, new_m, use_locking=self._use_locking)
        return group(scatter_sub(var, rows, step, use_locking=self._use_locking), kept)


class AddSignOptimizer(_SignOptimizer):
    """The optimizer var -= learning_rate (alpha + decay sign(g) sign(m)) g. Its slot is "m".

    Args:
      sign_decay_fn: a function from the global step to the decay. If `sign_decay_fn` is None, the
        decay is 1.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, alpha, beta, sign_decay_fn, use_locking, name)

    def _factor(self, number: Tensor, agreement: Tensor) -> Tensor:
        return number + agreement


class PowerSignOptimizer(_SignOptimizer):
    """The optimizer var -= learning_rate base^(decay sign(g) sign(m)) g. Its slot is "m".

    Args:
      sign_decay_fn: a function from the global step to the decay. If `sign_decay_fn` is None, the
        decay is 1.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, math.log(base), beta, sign_decay_fn, use_locking, name)

    def _factor(self, number: Tensor, agreement: Tensor) -> Tensor:
        return exp(number * agreement)
