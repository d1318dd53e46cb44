"""Variants of Adam: for rows of embeddings, with Nesterov momentum, and with the infinity norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.train.optimizers.adam import AdamOptimizer
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.arithmetic_functions import maximum, pow as power
from gpugraph.ops.elementwise.unary_functions import abs as absolute, sqrt, square
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.state.change_by_handle import change
from gpugraph.ops.state.scatter_updates import scatter_sub, scatter_update


class _AdamOfRows(AdamOptimizer):
    """Adam with a helper for updates of some rows of a variable."""

    def _row_numbers(self, var: Variable) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the bias-corrected learning rate, beta1, beta2 and epsilon, in the dtype of
        `var`.
        """
        dtype = var.dtype.base_dtype
        power1, power2 = (cast(power.value(), dtype) for power in self._powers(var.graph))
        rate, beta1, beta2, epsilon = (cast(self._tensors[name], dtype) for name in self._settings)
        return rate * sqrt(1.0 - power2) / (1.0 - power1), beta1, beta2, epsilon


class LazyAdamOptimizer(_AdamOfRows):
    """Adam that changes only the rows with gradients, in the variable and in its slots.

    In contrast, `AdamOptimizer` changes all rows in each step. The two optimizers handle dense
    gradients in the same way.
    """

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        rate, beta1, beta2, epsilon = self._row_numbers(var)
        rows = grad.indices
        m, v = self._own_slot(var, "m"), self._own_slot(var, "v")
        new_m = beta1 * gather(m, rows) + (1.0 - beta1) * grad.values
        new_v = beta2 * gather(v, rows) + (1.0 - beta2) * square(grad.values)
        locking = self._use_locking
        step = scatter_sub(var, rows, rate * new_m / (sqrt(new_v) + epsilon), use_locking=locking)
        return group(
            step,
            scatter_update(m, rows, new_m, use_locking=locking),
            scatter_update(v, rows, new_v, use_locking=locking),
        )


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose powers of beta1 and beta2 follow from the global step, instead of from variables.

    Args:
      global_step: the variable that counts the training steps.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            for slot in self._slot_order:
                self._zeros_slot(variable, slot, self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._steps = cast(convert_to_tensor(self._global_step) + 1, "float32")

    def _powers(self, graph: Graph) -> list[Any]:
        del graph
        return [_PowerOfStep(power(self._tensors[n], self._steps)) for n in ("beta1", "beta2")]

    def _numbers(self, var: Variable) -> list[Any]:
        dtype = var.dtype.base_dtype
        powers = [cast(power.value(), dtype) for power in self._powers(var.graph)]
        return [*powers, *OneOpUpdate._numbers(self, var)]

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        return Optimizer._finish(self, update_ops, name_scope)


class _PowerOfStep:
    """A power of beta1 or beta2, computed from the global step. It has the interface of the
    variables that `AdamOptimizer` uses.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor, self.dtype = tensor, tensor.dtype

    def value(self) -> Tensor:
        """Return the power."""
        return self._tensor


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """`AdamGSOptimizer` that changes only the rows with gradients, as `LazyAdamOptimizer` does."""

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        return LazyAdamOptimizer._apply_sparse(self, grad, var)


class NadamOptimizer(_AdamOfRows):
    """Adam with Nesterov momentum (Dozat, 2015): beta1 m + (1 - beta1) g replaces m in the step."""

    def _change(self, kind: str, var: Variable, grad: Sequence[Tensor]) -> Any:
        slots = [self._own_slot(var, name)._ref() for name in self._slot_order]
        return change(
            f"{kind}{self._update_name}",
            var._ref(),
            *slots,
            *self._numbers(var),
            *grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Decay all rows of m and v, and change the rows of `var` that have gradients."""
        rate, beta1, beta2, epsilon = self._row_numbers(var)
        rows = grad.indices
        new = grad.values * (1.0 - beta1)
        m = self._decay_slot(var, "m", beta1, rows, new)
        v = self._decay_slot(var, "v", beta2, rows, square(grad.values) * (1.0 - beta2))
        ahead = new + beta1 * gather(m, rows)
        change_of_rows = rate * ahead / (sqrt(gather(v, rows)) + epsilon)
        return group(scatter_sub(var, rows, change_of_rows, use_locking=self._use_locking), m, v)


class AdaMaxOptimizer(Optimizer):
    """Adam with the infinity norm of past gradients (Kingma and Ba, 2015, section 7.1).

    A step is v = max(beta2 v, |g|), then var -= learning_rate / (1 - beta1^t) * m / (v + epsilon).
    The slots are "m" and "v". Sparse gradients change only their rows of the variable and of the
    slots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(use_locking, name)
        self._settings = (learning_rate, beta1, beta2, epsilon)
        self._tensors: list[Tensor] = []

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda variable: variable.name)
        beta1 = self._call_if_callable(self._settings[1])
        self._create_non_slot_variable(beta1, "beta1_power", first)
        for variable in var_list:
            for slot in ("m", "v"):
                self._zeros_slot(variable, slot, self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value)) for value in self._settings
        ]

    def _power(self, graph: Any) -> Any:
        return self._get_non_slot_variable("beta1_power", graph)

    def _next(self, var: Variable, m: Any, v: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the next m, the next v, and the tensor to subtract from the variable."""
        dtype = var.dtype.base_dtype
        rate, beta1, beta2, epsilon = (cast(tensor, dtype) for tensor in self._tensors)
        power = cast(self._power(var.graph).value(), dtype)
        m = beta1 * m + (1.0 - beta1) * grad
        v = maximum(beta2 * v, absolute(grad))
        return m, v, rate / (1.0 - power) * m / (v + epsilon)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        m, v = self._own_slot(var, "m"), self._own_slot(var, "v")
        new_m, new_v, step = self._next(var, m.value(), v.value(), grad)
        locking = self._use_locking
        changes = [m.assign(new_m, locking), v.assign(new_v, locking)]
        return group(var.assign_sub(step, locking), *changes)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        m, v, rows = self._own_slot(var, "m"), self._own_slot(var, "v"), grad.indices
        new_m, new_v, step = self._next(var, gather(m, rows), gather(v, rows), grad.values)
        locking = self._use_locking
        return group(
            scatter_sub(var, rows, step, use_locking=locking),
            scatter_update(m, rows, new_m, use_locking=locking),
            scatter_update(v, rows, new_v, use_locking=locking),
        )

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """After all updates, multiply the stored power of beta1 by beta1."""
        graph = self._tensors[0].graph
        power = self._power(graph)
        with graph.control_dependencies(update_ops), graph.colocate_with(power.op):
            factor = cast(self._tensors[1], power.dtype.base_dtype)
            done = power.assign(power.value() * factor, self._use_locking)
        return super()._finish([*update_ops, done], name_scope)
