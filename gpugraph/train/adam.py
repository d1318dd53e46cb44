"""Adam (Kingma and Ba, 2015), in the form of its section 2 with the rate corrected per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.tensor import Tensor
from gpugraph.ops.casting import cast
from gpugraph.ops.convert import convert_to_tensor
from gpugraph.ops.declare import raw_ops
from gpugraph.train.optimizer import Optimizer
from gpugraph.variables import Variable

__all__ = ["AdamOptimizer"]


class AdamOptimizer(Optimizer):
    """m and v are running means of the gradient and its square; var -= lr_t * m / (sqrt(v) + eps).

    lr_t = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t). Slots: "m", "v".
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._settings = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        self._tensors: dict[str, Tensor] = {}
        self._powers: tuple[Variable, Variable] | None = None

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        first = min(variables, key=lambda variable: variable.name)
        values = [self._settings[key] for key in ("beta1", "beta2")]
        beta1, beta2 = (value() if callable(value) else value for value in values)
        self._powers = (
            self._non_slot(beta1, "beta1_power", first),
            self._non_slot(beta2, "beta2_power", first),
        )
        for variable in variables:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self) -> None:
        self._tensors = {
            name: convert_to_tensor(value() if callable(value) else value, name=name)
            for name, value in self._settings.items()
        }

    def _apply_dense(self, grad: Tensor, variable: Variable) -> Any:
        assert self._powers is not None
        dtype = variable.dtype.base_dtype
        return raw_ops.ApplyAdam(
            variable._ref(),
            self._slots["m"][variable]._ref(),
            self._slots["v"][variable]._ref(),
            cast(self._powers[0].value(), dtype),
            cast(self._powers[1].value(), dtype),
            cast(self._tensors["learning_rate"], dtype),
            cast(self._tensors["beta1"], dtype),
            cast(self._tensors["beta2"], dtype),
            cast(self._tensors["epsilon"], dtype),
            grad,
            use_locking=self._use_locking,
        )

    def _finish(self, updates: list[Any]) -> list[Any]:
        """The powers go on once every variable has used them."""
        assert self._powers is not None
        graph = self._powers[0].graph
        done = []
        with graph.control_dependencies(updates):
            for power, name in zip(self._powers, ("beta1", "beta2")):
                with graph.colocate_with(power.op):
                    factor = cast(self._tensors[name], power.dtype.base_dtype)
                    done.append(power.assign(power.value() * factor, self._use_locking))
        return [*updates, *done]
