"""Learning rates that depend on the number of the step: `tf.keras.optimizers.schedules`.

The classes of this module call the decay functions of `tf.train`
(`library/train/learning_rate_decay.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.keras_objects import deserialize_keras_object, serialize_keras_object
from gpugraph.library.train import learning_rate_decay
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class LearningRateSchedule:
    """Base class of schedules. `schedule(step)` returns the learning rate of a step as a scalar
    tensor.

    Subclasses define `__call__` and `get_config`.
    """

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor. The base class raises NotImplementedError."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a schedule from a dict that `get_config` returned."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """Base class of schedules that call the function `decay` with their arguments and the step."""

    decay: ClassVar[Callable[..., Tensor]]

    def _take(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of the constructor under their names."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        self._settings = {name: arguments[name] for name in names}
        vars(self).update(self._settings)

    def __call__(self, step: Any) -> Any:
        first, *others = [value for name, value in self._settings.items() if name != "name"]
        return type(self).decay(first, step, *others, name=self._settings["name"])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return dict(self._settings)


class ExponentialDecay(_Decay):
    """A schedule with the rate initial_learning_rate * decay_rate ** (step / decay_steps).

    Args:
      staircase: whether to round step / decay_steps down to an integer.
    """

    decay = staticmethod(learning_rate_decay.exponential_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class InverseTimeDecay(_Decay):
    """A schedule with the rate initial_learning_rate / (1 + decay_rate * step / decay_steps).

    Args:
      staircase: whether to round step / decay_steps down to an integer.
    """

    decay = staticmethod(learning_rate_decay.inverse_time_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class PolynomialDecay(_Decay):
    """A schedule that is a polynomial of degree `power` from the initial rate to the end rate.

    Args:
      decay_steps: the number of steps of the decay.
      cycle: whether the decay starts again after its end, as in `tf.train.polynomial_decay`.
    """

    decay = staticmethod(learning_rate_decay.polynomial_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class CosineDecay(_Decay):
    """A schedule that decreases from initial_learning_rate to alpha * initial_learning_rate along
    half a cosine wave.
    """

    decay = staticmethod(learning_rate_decay.cosine_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha: Any = 0.0,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class CosineDecayRestarts(_Decay):
    """A schedule that consists of several decays, each with the form of `CosineDecay`.

    The first decay has `first_decay_steps` steps. Each further decay has the number of steps of the
    previous decay multiplied by `t_mul`, and the initial rate of the previous decay multiplied by
    `m_mul`.
    """

    decay = staticmethod(learning_rate_decay.cosine_decay_restarts)

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps: Any,
        t_mul: Any = 2.0,
        m_mul: Any = 1.0,
        alpha: Any = 0.0,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class LinearCosineDecay(_Decay):
    """A schedule that multiplies a linear decay by a cosine wave. See
    `tf.train.linear_cosine_decay`.
    """

    decay = staticmethod(learning_rate_decay.linear_cosine_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class NoisyLinearCosineDecay(_Decay):
    """The schedule of LinearCosineDecay, with additional noise of decreasing variance.

    See `tf.train.noisy_linear_cosine_decay`.
    """

    decay = staticmethod(learning_rate_decay.noisy_linear_cosine_decay)

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: Any = 1.0,
        variance_decay: Any = 0.55,
        num_periods: Any = 0.5,
        alpha: Any = 0.0,
        beta: Any = 0.001,
        name: str | None = None,
    ) -> None:
        self._take(locals())


class PiecewiseConstantDecay(LearningRateSchedule):
    """A schedule with the rate values[0] up to step boundaries[0], then values[1] up to
    boundaries[1], and so on.

    The constructor raises ValueError unless there is one more value than boundaries.
    """

    def __init__(
        self, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        point = convert_to_tensor(step)
        boundaries = [cast(boundary, point.dtype.base_dtype) for boundary in self.boundaries]
        return learning_rate_decay.piecewise_constant(
            point, boundaries, self.values, name=self.name
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


_SCHEDULES = {
    kind.__name__: kind
    for kind in (
        ExponentialDecay,
        InverseTimeDecay,
        PolynomialDecay,
        CosineDecay,
        CosineDecayRestarts,
        LinearCosineDecay,
        NoisyLinearCosineDecay,
        PiecewiseConstantDecay,
    )
}


def serialize(learning_rate_schedule: Any) -> Any:
    """Return the class name and configuration of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the schedule that a configuration describes.

    Raises ValueError for an unknown class.
    """
    return deserialize_keras_object(config, _SCHEDULES, custom_objects, "decay")
