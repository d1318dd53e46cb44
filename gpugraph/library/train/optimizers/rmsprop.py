"""RMSProp (Tieleman and Hinton, 2012), with momentum, and optionally centered (Graves,
arXiv:1308.0850).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.library.train.optimizers.optimizer import Optimizer
from gpugraph.library.train.optimizers.optimizer_settings import OneOpUpdate
from gpugraph.ops.random.variable_initializers import Ones


class RMSPropOptimizer(OneOpUpdate, Optimizer):
    """The RMSProp optimizer. A step is mom = momentum * mom + learning_rate * gradient / sqrt(rms +
    epsilon), then var -= mom.

    The slot "momentum" contains mom. The slot "rms" contains the running mean of the gradient's
    square. The initial value of this mean is 1. If `centered` is true, the slot "mg" contains the
    running mean of the gradient, and rms - mg**2 replaces rms in the formula.

    >>> v = tf.Variable(4.0)
    >>> train = tf.train.RMSPropOptimizer(0.1).minimize(tf.square(v))
    >>> session.run(tf.global_variables_initializer())
    >>> session.run(train)
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        settings = {
            "learning_rate": learning_rate,
            "decay": decay,
            "momentum": momentum,
            "epsilon": epsilon,
        }
        update = "CenteredRMSProp" if centered else "RMSProp"
        slots = ["mg", "rms", "momentum"] if centered else ["rms", "momentum"]
        super().__init__(update, slots, settings, use_locking, name)
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self._initialized_slot(variable, Ones(), "rms", self._name)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)
