"""FTRL-Proximal (McMahan et al., 2013), for sparse models, with l2 shrinkage as in TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate, at_least_zero
from gpugraph.ops.random.variable_initializers import Constant


class FtrlOptimizer(OneOpUpdate, Optimizer):
    """FTRL-Proximal ("follow the regularized leader").

    l1 regularization sets elements to 0 while their gradients stay small. The slots are "accum",
    whose initial value is `initial_accumulator_value`, and "linear". Raises ValueError if a
    regularization strength or the initial value is below 0, or if `learning_rate_power` is above 0.

    Args:
      learning_rate_power: the exponent of the accumulated squares in the learning rate, at most 0.
      l2_shrinkage_regularization_strength: if it is above 0, twice this number times the variable
        is added to the gradient.
    """

    _grad_first = True

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        at_least_zero(
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        settings = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
            "learning_rate_power": learning_rate_power,
        }
        shrinks = l2_shrinkage_regularization_strength > 0.0
        if not shrinks:
            del settings["l2_shrinkage_regularization_strength"]
        update = "FtrlV2" if shrinks else "Ftrl"
        super().__init__(update, ["accum", "linear"], settings, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value
        self._slot_names = accum_name or name, linear_name or name

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        accum_name, linear_name = self._slot_names
        initial = Constant(self._initial_accumulator_value)
        for variable in var_list:
            self._initialized_slot(variable, initial, "accum", accum_name)
            self._zeros_slot(variable, "linear", linear_name)
