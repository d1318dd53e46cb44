"""Optimizers with running means of gradients and of their squares: Adam, Adamax and Nadam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.optimizers.learning_rate_schedules import LearningRateSchedule
from gpugraph.library.keras.optimizers.optimizer_v2 import OptimizerV2, apply_op, assign_all
from gpugraph.library.keras.optimizers.rate_optimizers import decayed_rows
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.arithmetic_functions import maximum, pow
from gpugraph.ops.elementwise.unary_functions import abs as absolute, sqrt, square
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.state.scatter_updates import scatter_add, scatter_update


class _Moments(OptimizerV2):
    """Base class of optimizers with settings `beta_1` and `beta_2`, and slots for every variable.

    A slot is a variable of the optimizer that belongs to a variable that the optimizer trains.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("m", "v")

    def _take(
        self, learning_rate: Any, beta_1: Any, beta_2: Any, epsilon: float, kwargs: Any
    ) -> None:
        self._take_rate(learning_rate, kwargs)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or 1e-7

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for name in self.slot_names:
            for variable in var_list:
                self.add_slot(variable, name)

    def _powers(self, variable: Variable) -> tuple[Tensor, Tensor]:
        """Return beta_1 ** t and beta_2 ** t, where t is the number of the step, from 1 on."""
        numbers = self.numbers(variable)
        for name in ("beta_1", "beta_2"):
            if f"{name}_power" not in numbers:
                numbers[f"{name}_power"] = pow(numbers[name], numbers["step"])
        return numbers["beta_1_power"], numbers["beta_2_power"]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "epsilon": self.epsilon}


class Adam(_Moments):
    """Adam: m and v are running means of the gradient and of its square, with decay factors beta_1
    and beta_2.

    The update in step t is var -= lr_t * m / (sqrt(v) + epsilon), with lr_t = lr * sqrt(1 -
    beta_2^t) / (1 - beta_1^t). The slots are "m", "v" and, if `amsgrad` is true, "vhat".

    Args:
      amsgrad: whether to use the maximum of all v so far in place of v.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._take(learning_rate, beta_1, beta_2, epsilon, kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        super()._create_slots(var_list)
        if self.amsgrad:
            for variable in var_list:
                self.add_slot(variable, "vhat")

    def _rate(self, variable: Variable) -> Tensor:
        power_1, power_2 = self._powers(variable)
        rate: Tensor = self.numbers(variable)["lr"] * sqrt(1.0 - power_2) / (1.0 - power_1)
        return rate

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        numbers = self.numbers(handle)
        beta_1, beta_2 = numbers["beta_1"], numbers["beta_2"]
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        if not self.amsgrad:
            settings = [*self._powers(handle), numbers["lr"], beta_1, beta_2, self.epsilon]
            return apply_op("ApplyAdam", handle, [m, v], *settings, grad)
        vhat = self.get_slot(handle, "vhat")
        first = beta_1 * m + (1.0 - beta_1) * grad
        second = beta_2 * v + (1.0 - beta_2) * square(grad)
        largest = maximum(vhat, second)
        step = self._rate(handle) * first / (sqrt(largest) + self.epsilon)
        return assign_all((m, first), (v, second), (vhat, largest), (handle, handle - step))

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        """Update all rows. Rows without a gradient are updated as if their gradient were zero."""
        numbers = self.numbers(handle)
        beta_1, beta_2 = numbers["beta_1"], numbers["beta_2"]
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        rows = (1.0 - beta_1) * grad, (1.0 - beta_2) * square(grad)
        graph = handle.graph
        updates = [
            decayed_rows(slot, beta, indices, new)[1]
            for slot, beta, new in ((m, beta_1, rows[0]), (v, beta_2, rows[1]))
        ]
        with graph.control_dependencies(updates):
            first, spread = m.read_value(), v.read_value()
            if self.amsgrad:
                vhat = self.get_slot(handle, "vhat")
                spread = maximum(vhat, spread)
                updates.append(vhat.assign(spread))
            step = self._rate(handle) * first / (sqrt(spread) + self.epsilon)
            return group(*updates, handle.assign_sub(step))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "amsgrad": self.amsgrad}

    def _of_keras_2(self, arrays: list[Any]) -> list[Any]:
        """Remove the array "vhat", which Keras 2 stores for every variable, if this optimizer has
        no such slot.
        """
        count = len(self._weights)
        if not self.amsgrad and 2 * (len(arrays) - 1) == 3 * (count - 1):
            return arrays[:count]
        return arrays


class Adamax(_Moments):
    """Adam with the maximum of gradients in place of the mean of their squares.

    v = max(beta_2 * v, |gradient|), and m is the running mean of the gradient. The update in step t
    is var -= lr_t * m / (v + epsilon), with lr_t = lr / (1 - beta_1^t). The slots are "m" and "v".
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        name: str = "Adamax",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._take(learning_rate, beta_1, beta_2, epsilon, kwargs)

    def _new(self, variable: Any, m: Any, v: Any, grad: Tensor) -> tuple[Any, Any, Any]:
        """Return the new m, the new v, and the amount to subtract from the variable."""
        numbers = self.numbers(variable)
        beta_1 = numbers["beta_1"]
        first = beta_1 * m + (1.0 - beta_1) * grad
        largest = maximum(numbers["beta_2"] * v, absolute(grad))
        rate = numbers["lr"] / (1.0 - self._powers(variable)[0])
        return first, largest, rate * first / (largest + self.epsilon)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        first, largest, step = self._new(handle, m, v, grad)
        return assign_all((m, first), (v, largest), (handle, handle - step))

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        rows = gather(m, indices), gather(v, indices)
        first, largest, step = self._new(handle, *rows, grad)
        return group(
            scatter_update(m, indices, first),
            scatter_update(v, indices, largest),
            scatter_add(handle, indices, -step),
        )


class Nadam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2015).

    The momentum of step t is beta_1 * (1 - 0.5 * 0.96^(t * schedule_decay)), which approaches
    beta_1. The slots are "m" and "v". The constructor raises ValueError if the learning rate is a
    schedule.
    """

    _NOT_IN_KERAS_2: ClassVar[Mapping[int, float]] = {1: 1.0}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: float = 1e-7,
        name: str = "Nadam",
        **kwargs: Any,
    ) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules "
                "as the learning rate."
            )
        super().__init__(name, **kwargs)
        self._take(learning_rate, beta_1, beta_2, epsilon, kwargs)
        self._momentum_cache: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._momentum_cache is None:
            self._momentum_cache = self.add_weight("momentum_cache", initializer="ones")
        super()._create_slots(var_list)

    def _prepare(self, var_list: Sequence[Any]) -> None:
        self._schedules: dict[Any, tuple[Any, ...]] = {}
        self._new_cache: Any = None
        for variable in var_list:
            self._schedule(variable)

    def _decayed_lr(self, var_dtype: Any) -> Any:
        return self._get_hyper("learning_rate", var_dtype)

    def _schedule(self, variable: Any) -> tuple[Any, ...]:
        """Return four values: the momentum of this step, the momentum of the next step, and the
        products of all momenta up to this step and up to the next step.
        """
        dtype = variable.dtype.base_dtype
        if dtype not in self._schedules:
            numbers = self.numbers(variable)
            steps = numbers["step"], numbers["step"] + 1.0
            now, following = (
                numbers["beta_1"] * (1.0 - 0.5 * pow(0.96, self._initial_decay * step))
                for step in steps
            )
            product = cast(self._momentum_cache, dtype) * now
            if self._new_cache is None:
                new = cast(product, self._momentum_cache.dtype.base_dtype)
                self._new_cache = self._momentum_cache.assign(new)
            self._schedules[dtype] = now, following, product, product * following
        return self._schedules[dtype]

    def _mixed(self, variable: Any, first: Any, second: Any, grad: Tensor) -> Any:
        """Return the amount to subtract from the variable.

        Args:
          first, second: the new m and v.
        """
        now, following, product, next_product = self._schedule(variable)
        unbiased = (1.0 - now) * grad / (1.0 - product) + following * first / (1.0 - next_product)
        spread = second / (1.0 - self._powers(variable)[1])
        return self.numbers(variable)["lr"] * unbiased / (sqrt(spread) + self.epsilon)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        numbers = self.numbers(handle)
        beta_1, beta_2 = numbers["beta_1"], numbers["beta_2"]
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        first = beta_1 * m + (1.0 - beta_1) * grad
        second = beta_2 * v + (1.0 - beta_2) * square(grad)
        step = self._mixed(handle, first, second, grad)
        return group(self._new_cache, assign_all((m, first), (v, second), (handle, handle - step)))

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        numbers = self.numbers(handle)
        beta_1, beta_2 = numbers["beta_1"], numbers["beta_2"]
        m, v = (self.get_slot(handle, name) for name in self.slot_names)
        first, kept_m = decayed_rows(m, beta_1, indices, (1.0 - beta_1) * grad)
        second, kept_v = decayed_rows(v, beta_2, indices, (1.0 - beta_2) * square(grad))
        step = self._mixed(handle, first, second, grad)
        return group(self._new_cache, kept_m, kept_v, scatter_add(handle, indices, -step))
