"""Hyperparameters: an optimizer's settings, such as its learning rate.

The value of a setting is a number, a schedule, a function or a tensor. Numbers become variables.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.building.variables import Variable
from gpugraph.building.variables.replication_modes import VariableAggregation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_session import track_variable
from gpugraph.library.keras.backend.keras_variables import get_value, set_value
from gpugraph.library.keras.optimizers.learning_rate_schedules import (
    LearningRateSchedule,
    serialize,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_OTHER_NAMES = {"lr": "learning_rate"}


def scalar_variable(value: Any, name: str, dtype: Any = float32) -> Any:
    """Create a variable that is not trained and that Keras's session initializes."""
    variable = Variable(
        convert_to_tensor(value, dtype),
        trainable=False,
        name=name,
        use_resource=True,
        aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
    )
    track_variable(variable)
    return variable


class Hyperparameters(Trackable):
    """A mixin that stores the settings of an optimizer. Settings are attributes, and `lr` is
    another name of `learning_rate`.

    A number becomes a variable when a program reads the attribute or the optimizer creates a step.
    After that, an assignment to the attribute sets the variable, so that a program can change the
    setting between steps. A schedule, a tensor or a function is stored unchanged.
    """

    _name: str
    _hyper: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        name = _OTHER_NAMES.get(name, name)
        if name in self.__dict__.get("_hyper", ()):
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        hyper = self.__dict__.get("_hyper", ())
        if _OTHER_NAMES.get(name, name) in hyper:
            self._set_hyper(_OTHER_NAMES.get(name, name), value)
        else:
            object.__setattr__(self, name, value)

    def _set_hyper(self, name: str, value: Any) -> None:
        """Store a setting.

        If the setting is already a variable and `value` is a number, assign the number to the
        variable.
        """
        before = self._hyper.get(name)
        is_number = not callable(value) and not isinstance(value, (Tensor, Variable))
        if isinstance(before, Variable) and is_number:
            set_value(before, value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        """Return a setting: a schedule, a variable or a tensor.

        Args:
          dtype: the dtype to which the setting is cast, or None for no cast.
        """
        self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        if callable(value) and not isinstance(value, Variable):
            value = value()
        return value if dtype is None else cast(value, dtype)

    def _create_hypers(self) -> None:
        """Replace each setting that is still a number by a variable."""
        for name, value in sorted(self._hyper.items()):
            if not callable(value) and not isinstance(value, (Tensor, Variable)):
                with_scope = f"{self._name}/{name}"
                self._hyper[name] = scalar_variable(float(value), with_scope)

    def _serialize_hyperparameter(self, name: str) -> Any:
        """Return a setting for a configuration: a number, or the configuration of a schedule."""
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return serialize(value)
        if isinstance(value, (Tensor, Variable)):
            return float(get_value(value))
        return value() if callable(value) else value
