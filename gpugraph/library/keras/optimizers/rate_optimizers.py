"""The optimizers SGD, RMSprop, Adagrad, Adadelta and Ftrl.

These optimizers multiply the gradient by a rate. All except SGD compute the rate from the squares
of past gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.optimizers.optimizer_v2 import OptimizerV2, apply_op, assign_all
from gpugraph.library.train.optimizers.optimizer_settings import at_least_zero
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.unary_functions import sqrt, square
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.state.scatter_updates import scatter_add, scatter_update


class SGD(OptimizerV2):
    """Gradient descent with momentum. A step is velocity = momentum * velocity - lr * gradient,
    then var += velocity.

    The slot "momentum" contains the velocity. The constructor raises ValueError if the momentum is
    outside of [0, 1].

    Args:
      nesterov: whether the update is var += momentum * velocity - lr * gradient instead, with the
        new velocity.
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._take_rate(learning_rate, kwargs)
        self._has_momentum = self._take_momentum(momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._has_momentum:
            for variable in var_list:
                self.add_slot(variable, "momentum")

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        numbers = self.numbers(handle)
        if not self._has_momentum:
            return apply_op("ApplyGradientDescent", handle, [], numbers["lr"], grad)
        slot = self.get_slot(handle, "momentum")
        step = numbers["lr"] * grad
        velocity = slot * numbers["momentum"] - step
        change = velocity * numbers["momentum"] - step if self.nesterov else velocity
        return assign_all((slot, velocity), (handle, handle + change))

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Any:
        if self._has_momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices)
        return scatter_add(handle, indices, -grad * self.numbers(handle)["lr"])

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        numbers = self.numbers(handle)
        slot = self.get_slot(handle, "momentum")
        step = numbers["lr"] * grad
        velocity = gather(slot, indices) * numbers["momentum"] - step
        change = velocity * numbers["momentum"] - step if self.nesterov else velocity
        return group(scatter_update(slot, indices, velocity), scatter_add(handle, indices, change))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "nesterov": self.nesterov}


class RMSprop(OptimizerV2):
    """The RMSprop optimizer. A step is rms = rho * rms + (1 - rho) * gradient ** 2, then var -= lr
    * gradient / (sqrt(rms) + epsilon).

    The slots are "rms", "momentum" if the momentum is not 0, and "mg" if `centered` is true.

    Args:
      momentum: if `momentum` is not 0, the second part of a step is mom = momentum * mom + lr *
        gradient / sqrt(rms + epsilon), then var -= mom.
      centered: whether to use rms - mg ** 2 in place of rms in both divisors, where mg is the
        running mean of the gradient.
    """

    _NOT_IN_KERAS_2: ClassVar[Mapping[int, float]] = {0: 0.0}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._take_rate(learning_rate, kwargs)
        self._set_hyper("rho", rho)
        self._has_momentum = self._take_momentum(momentum)
        self.epsilon = epsilon or 1e-7
        self.centered = centered

    def _slot_names(self) -> list[str]:
        """Return the names of the slots in use, in the order of their creation."""
        names = {"rms": True, "momentum": self._has_momentum, "mg": self.centered}
        return [name for name, is_needed in names.items() if is_needed]

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for name in self._slot_names():
            for variable in var_list:
                self.add_slot(variable, name)

    def _op(self, kind: str, variable: Any, *grad: Any) -> Any:
        """Create the op of a step with momentum.

        Args:
          kind: "Apply", or "SparseApply" for some rows.
        """
        numbers = self.numbers(variable)
        names = ["mg", "rms", "momentum"] if self.centered else ["rms", "momentum"]
        op_type = f"{kind}{'Centered' if self.centered else ''}RMSProp"
        settings = [numbers["lr"], numbers["rho"], numbers["momentum"], self.epsilon]
        slots = [self.get_slot(variable, name) for name in names]
        return apply_op(op_type, variable, slots, *settings, *grad)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        if self._has_momentum:
            return self._op("Apply", handle, grad)
        numbers = self.numbers(handle)
        rms = self.get_slot(handle, "rms")
        mean = numbers["rho"] * rms + (1.0 - numbers["rho"]) * square(grad)
        spread, pairs = mean, [(rms, mean)]
        if self.centered:
            mg = self.get_slot(handle, "mg")
            first = numbers["rho"] * mg + (1.0 - numbers["rho"]) * grad
            spread = mean - square(first)
            pairs.append((mg, first))
        step = numbers["lr"] * grad / (sqrt(spread) + self.epsilon)
        return assign_all(*pairs, (handle, handle - step))

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        if self._has_momentum:
            return self._op("SparseApply", handle, grad, indices)
        numbers = self.numbers(handle)
        rho = numbers["rho"]
        rms = self.get_slot(handle, "rms")
        spread, update = decayed_rows(rms, rho, indices, (1.0 - rho) * square(grad))
        updates = [update]
        if self.centered:
            mg = self.get_slot(handle, "mg")
            first, update = decayed_rows(mg, rho, indices, (1.0 - rho) * grad)
            spread = spread - square(first)
            updates.append(update)
        step = numbers["lr"] * grad / (sqrt(spread) + self.epsilon)
        return group(*updates, scatter_add(handle, indices, -step))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        config = super().get_config()
        return {**config, "epsilon": self.epsilon, "centered": self.centered}


def decayed_rows(slot: Any, rate: Any, indices: Tensor, new: Tensor) -> tuple[Tensor, Any]:
    """Multiply all rows of a slot by `rate`, and add `new` to the rows `indices`.

    Return the new values of the rows `indices`, and the op that writes the slot.
    """
    rows = gather(slot, indices) * rate + new
    with control_dependencies([rows]):
        decay = slot.assign(slot * rate)
    with control_dependencies([decay]):
        return rows, scatter_update(slot, indices, rows)


class Adagrad(OptimizerV2):
    """The Adagrad optimizer. A step is accumulator += gradient ** 2, then var -= lr * gradient /
    (sqrt(accumulator) + epsilon).

    The constructor raises ValueError if the initial value is negative.

    Args:
      initial_accumulator_value: the initial value of the slot "accumulator".
    """

    _NOT_IN_KERAS_2: ClassVar[Mapping[int, float]] = {0: 0.0}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(
                f"initial_accumulator_value must be non-negative: {initial_accumulator_value}"
            )
        super().__init__(name, **kwargs)
        self._take_rate(learning_rate, kwargs)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or 1e-7

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", self._initial_accumulator_value)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        slot = self.get_slot(handle, "accumulator")
        total = slot + square(grad)
        step = self.numbers(handle)["lr"] * grad / (sqrt(total) + self.epsilon)
        return assign_all((slot, total), (handle, handle - step))

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        slot = self.get_slot(handle, "accumulator")
        total = gather(slot, indices) + square(grad)
        step = self.numbers(handle)["lr"] * grad / (sqrt(total) + self.epsilon)
        return group(scatter_update(slot, indices, total), scatter_add(handle, indices, -step))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            **super().get_config(),
            "initial_accumulator_value": self._initial_accumulator_value,
            "epsilon": self.epsilon,
        }


class Adadelta(OptimizerV2):
    """The optimizer var -= lr * sqrt(accum_var + epsilon) / sqrt(accum_grad + epsilon) * gradient.

    The slots "accum_grad" and "accum_var" are running means of the squares of the gradients and of
    the updates. The decay factor of these means is `rho`.
    """

    _NOT_IN_KERAS_2: ClassVar[Mapping[int, float]] = {0: 0.0}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: float = 1e-7,
        name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        self._take_rate(learning_rate, kwargs)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or 1e-7

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for name in ("accum_grad", "accum_var"):
            for variable in var_list:
                self.add_slot(variable, name)

    def _op(self, kind: str, variable: Any, *grad: Any) -> Any:
        numbers = self.numbers(variable)
        slots = [self.get_slot(variable, name) for name in ("accum_grad", "accum_var")]
        settings = numbers["lr"], numbers["rho"], self.epsilon
        return apply_op(f"{kind}Adadelta", variable, slots, *settings, *grad)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._op("Apply", handle, grad)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._op("SparseApply", handle, grad, indices)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "epsilon": self.epsilon}


class Ftrl(OptimizerV2):
    """Follow-the-regularized-leader, with L1 and L2 penalties. See `tf.train.FtrlOptimizer`.

    The slots are "accumulator" and "linear". The constructor raises ValueError for a negative
    penalty strength or initial value, and for a positive `learning_rate_power`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(name, **kwargs)
        strengths = {
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        at_least_zero(
            initial_accumulator_value=initial_accumulator_value,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
            **strengths,
        )
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        self._take_rate(learning_rate, kwargs)
        self._set_hyper("learning_rate_power", learning_rate_power)
        for name_of_strength, strength in strengths.items():
            self._set_hyper(name_of_strength, strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._shrinkage = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", self._initial_accumulator_value)
            self.add_slot(variable, "linear")

    def _op(self, kind: str, variable: Any, *grad: Any) -> Any:
        numbers = self.numbers(variable)
        penalties = [numbers["l1_regularization_strength"], numbers["l2_regularization_strength"]]
        shrinks = self._shrinkage > 0.0
        if shrinks:
            penalties.append(self._shrinkage)
        settings = [numbers["lr"], *penalties, numbers["learning_rate_power"]]
        slots = [self.get_slot(variable, name) for name in ("accumulator", "linear")]
        return apply_op(f"{kind}Ftrl{'V2' * shrinks}", variable, slots, *grad, *settings)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._op("Apply", handle, grad)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._op("SparseApply", handle, grad, indices)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            **super().get_config(),
            "initial_accumulator_value": self._initial_accumulator_value,
            "l2_shrinkage_regularization_strength": self._shrinkage,
        }
