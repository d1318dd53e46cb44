"""The scale of a loss. It is a fixed number, or a number that is adapted to the gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from gpugraph.base import dtypes, nest
from gpugraph.base.dtypes import DType
from gpugraph.base.field_conversions import to_float
from gpugraph.building.control_flow import cond
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.building.variables import ResourceVariable, Variable
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import group, no_op
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_Scale = TypeVar("_Scale", bound="LossScale")


class LossScale(Trackable, ABC):
    """Base class of the scales. `__call__` returns the scale, and `update` adapts it to
    gradients.
    """

    def __init__(self) -> None:
        self._weights: dict[str, Variable] = {}

    @abstractmethod
    def __call__(self) -> Tensor:
        """Return the scale, a scalar float32."""

    @abstractmethod
    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Return (an operation that updates the scale, whether to apply these gradients).

        The second item is a bool or a bool scalar tensor.

        Args:
          grads: gradients that have been divided by the scale, in any structure.
        """

    @abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments of the scale."""

    @classmethod
    def from_config(cls: type[_Scale], config: dict[str, Any]) -> _Scale:
        """Create a scale from the result of `get_config`."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: DType | None = None) -> Variable:
        """Create a variable of the scale. No optimizer trains this variable."""
        variable = ResourceVariable(initial_value, trainable=False, name=name, dtype=dtype)
        self._weights[name] = variable
        self._track_trackable(variable, name, overwrite=True)
        return variable

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.get_config().items())
        return f"{type(self).__name__}({settings})"


class FixedLossScale(LossScale):
    """A scale that does not change. The constructor raises ValueError if it is less than 1 or not a
    number.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if isinstance(loss_scale_value, bool) or not isinstance(loss_scale_value, (int, float)):
            raise ValueError(
                f"loss_scale_value must be a Python int or float, but it is {loss_scale_value!r}"
            )
        if loss_scale_value < 1:
            raise ValueError(f"loss_scale_value must be at least 1, but it is {loss_scale_value}")
        self._loss_scale_value = to_float("loss_scale_value", loss_scale_value)

    def __call__(self) -> Tensor:
        """Return the scale, a constant scalar float32."""
        return convert_to_tensor(self._loss_scale_value, dtypes.float32)

    def update(self, grads: Any) -> tuple[Operation, bool]:
        """Return (an operation that does nothing, True)."""
        del grads
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        """Return a dict with `loss_scale_value`."""
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """A scale that is adapted to the gradients.

    The scale is multiplied by `multiplier` after `increment_period` consecutive steps with finite
    gradients. After a step with a gradient that is not finite, the scale is divided by
    `multiplier`, but it does not become less than 1.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The scale of the first step."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """The number of consecutive steps with finite gradients after which the scale grows."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """The factor by which the scale is multiplied or divided."""
        return self._multiplier

    def __call__(self) -> Tensor:
        """Return the current scale, a scalar float32."""
        return convert_to_tensor(self._scale)

    def update(self, grads: Any) -> tuple[Operation, Tensor]:
        """Return (an operation that updates the scale, whether all gradients are finite)."""
        is_finite = _are_finite(nest.flatten(grads))
        return cond(is_finite, self._after_good_step, self._after_bad_step), is_finite

    def _after_good_step(self) -> Any:
        def grow() -> Any:
            larger = raw_ops.Mul(self(), self._multiplier)
            changed = cond(raw_ops.IsFinite(larger), lambda: self._scale.assign(larger).op, no_op)
            return group(changed, self._good_steps.assign(0))

        steps = convert_to_tensor(self._good_steps)
        is_due = steps + 1 >= self._increment_period
        return cond(is_due, grow, lambda: self._good_steps.assign_add(1).op)

    def _after_bad_step(self) -> Operation:
        smaller = raw_ops.Maximum(self() / self._multiplier, 1.0)
        return group(self._good_steps.assign(0), self._scale.assign(smaller))

    def get_config(self) -> dict[str, Any]:
        """Return a dict with `initial_loss_scale`, `increment_period` and `multiplier`."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def _are_finite(grads: list[Any]) -> Tensor:
    """Return whether all elements of all gradients are finite. Gradients may be None."""
    tensors = [
        convert_to_tensor(grad.values if isinstance(grad, IndexedSlices) else grad)
        for grad in grads
        if grad is not None
    ]
    each_finite = [
        raw_ops.All(raw_ops.IsFinite(tensor), raw_ops.Range(0, raw_ops.Rank(tensor), 1))
        for tensor in tensors
    ]
    return raw_ops.All(raw_ops.Pack(each_finite), [0]) if each_finite else convert_to_tensor(True)


def loss_scale_of(identifier: Any) -> LossScale:
    """Return the scale that a number, "dynamic" or a LossScale describes. Raises ValueError for any
    other value.
    """
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if isinstance(identifier, str) and identifier == "dynamic":
        return DynamicLossScale()
    if isinstance(identifier, LossScale):
        return identifier
    raise ValueError(
        f"Could not interpret loss scale identifier: {identifier!r}; possible are a number, "
        "'dynamic' and a tf.train.experimental.LossScale"
    )
