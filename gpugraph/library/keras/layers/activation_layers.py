"""Layers that apply an activation function with parameters, such as LeakyReLU and PReLU."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import cast_to_floatx
from gpugraph.library.keras.backend.elementwise_and_reductions import elu, relu, softmax
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.configured_layer import SameShape
from gpugraph.ops.arrays.cast import cast


def _rounded(value: Any) -> float:
    """Round a number to the dtype `floatx()`, because the numbers in TensorFlow's configurations
    are rounded.
    """
    return float(cast_to_floatx(value))


class LeakyReLU(SameShape):
    """A layer that returns x where it is positive, else alpha * x."""

    def __init__(self, alpha: Any = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = _rounded(alpha)
        self.keep_arguments(locals())

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        return relu(inputs, alpha=self.alpha)


class PReLU(SameShape):
    """A layer that returns x where it is positive, else alpha * x. Each element has its own trained
    alpha.

    Args:
      shared_axes: axes (from 1 on, without the batch axis) along which all elements have the same
        alpha.
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.keep_arguments(locals())
        self.alpha: Any = None

    def build(self, input_shape: Any) -> None:
        """Create the variable `alpha`. The variable has the shape of an example, with size 1 along
        `shared_axes`.
        """
        sizes = as_shape(input_shape).as_list()
        shared = self.shared_axes or ()
        shape = [1 if axis in shared else sizes[axis] for axis in range(1, len(sizes))]
        self.alpha = self.add_parameter("alpha", shape)
        axes = {axis: sizes[axis] for axis in range(1, len(sizes)) if axis not in shared}
        self.input_spec = InputSpec(ndim=len(sizes), axes=axes)
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        return relu(inputs) - self.alpha * relu(-inputs)


class ELU(SameShape):
    """A layer that returns x where it is positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = _rounded(alpha)
        self.keep_arguments(locals())

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        return elu(inputs, self.alpha)


class ThresholdedReLU(SameShape):
    """A layer that returns x where it is greater than theta, else 0."""

    def __init__(self, theta: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = _rounded(theta)
        self.keep_arguments(locals())

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        above: Tensor = inputs * cast(inputs > self.theta, inputs.dtype.base_dtype)
        return above


class Softmax(SameShape):
    """A layer that returns exp(x) / sum(exp(x)), where the sum is along `axis`."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self.keep_arguments(locals())

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        return softmax(inputs, axis=self.axis)


class ReLU(SameShape):
    """A layer that returns min(x, max_value) where x > threshold, else negative_slope * (x -
    threshold).

    The constructor raises ValueError for a negative `max_value` or `negative_slope`.
    """

    def __init__(
        self, max_value: Any = None, negative_slope: Any = 0, threshold: Any = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_value = None if max_value is None else _rounded(max_value)
        self.negative_slope, self.threshold = _rounded(negative_slope), _rounded(threshold)
        self.keep_arguments(locals())
        for limit in ("max_value", "negative_slope"):
            if (getattr(self, limit) or 0.0) < 0.0:
                raise ValueError(
                    f"{limit} of Relu layer cannot be negative value: {getattr(self, limit)} "
                    f"(layer {self.name})"
                )

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of the inputs."""
        return relu(inputs, self.negative_slope, self.max_value, self.threshold)
