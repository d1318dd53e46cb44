"""Adagrad (Duchi et al., 2011) and its variants, which reduce the learning rate of elements whose
gradients were large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.random.variable_initializers import Constant


def _check_positive(name: str, value: float) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


class AdagradOptimizer(OneOpUpdate, Optimizer):
    """The Adagrad optimizer. A step is accumulator += gradient**2, then var -= learning_rate *
    gradient / sqrt(accumulator).

    The slot is "accumulator". Its initial value is `initial_accumulator_value`, which must be above
    0.

    >>> v = tf.Variable(4.0)
    >>> train = tf.train.AdagradOptimizer(0.5).minimize(tf.square(v))
    >>> session.run(tf.global_variables_initializer())
    >>> session.run(train)
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        settings = {"learning_rate": learning_rate}
        super().__init__("Adagrad", ["accumulator"], settings, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        initial = Constant(self._initial_accumulator_value)
        for variable in var_list:
            self._initialized_slot(variable, initial, "accumulator", self._name)


class ProximalAdagradOptimizer(OneOpUpdate, Optimizer):
    """Adagrad with l1 and l2 regularization after each update. The regularization of an element is
    scaled by the element's learning rate.

    The slot is "accumulator". Its initial value is `initial_accumulator_value`, which must be above
    0. Source: Duchi and Singer, 2009.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        settings = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        super().__init__("ProximalAdagrad", ["accumulator"], settings, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            with variable.graph.colocate_with(variable.op):
                initial = constant(
                    self._initial_accumulator_value, variable.dtype.base_dtype, variable.shape
                )
            self._get_or_make_slot(variable, initial, "accumulator", self._name)


class AdagradDAOptimizer(OneOpUpdate, Optimizer):
    """Adagrad with dual averaging, which computes a variable from the sum of all its gradients so
    far and the sum of their squares.

    The slots are "gradient_accumulator" and "gradient_squared_accumulator". The initial value of
    the second slot is `initial_gradient_squared_accumulator_value`, which must be above 0. Rows
    without a gradient keep their values. Source: Duchi et al., 2011.

    Args:
      global_step: the variable that counts the training steps.
    """

    _grad_first = True

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        initial = initial_gradient_squared_accumulator_value
        _check_positive("initial_gradient_squared_accumulator_value", initial)
        slots = ["gradient_accumulator", "gradient_squared_accumulator"]
        super().__init__("AdagradDA", slots, {"learning_rate": learning_rate}, use_locking, name)
        self._initial_squares = initial
        self._strengths = l1_regularization_strength, l2_regularization_strength
        self._global_step = global_step

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            dtype = variable.dtype.base_dtype
            with variable.graph.colocate_with(variable.op):
                sums = constant(0.0, dtype, variable.shape)
                squares = constant(self._initial_squares, dtype, variable.shape)
            self._get_or_make_slot(variable, sums, "gradient_accumulator", self._name)
            self._get_or_make_slot(variable, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        rate = self._tensors["learning_rate"]
        with rate.graph.colocate_with(rate.op):
            self._next_step = identity(self._global_step) + 1

    def _numbers(self, var: Variable) -> list[Any]:
        step = identity(self._next_step)
        strengths = [cast(strength, var.dtype.base_dtype) for strength in self._strengths]
        return [*super()._numbers(var), *strengths, step]
