"""Layer normalization: normalizes each example with the mean and variance of its elements."""

from __future__ import annotations

from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import SameShape
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.nn.normalization.bias_and_moments import batch_normalization, moments


class LayerNormalization(SameShape):
    """A layer that returns (inputs - mean) / sqrt(variance + epsilon) * gamma + beta.

    The mean and variance are computed for each example along `axis`. `gamma` and `beta` have the
    sizes of these axes. The method is from Ba, Kiros and Hinton 2016, Layer Normalization
    (arXiv:1607.06450). Raises TypeError for an axis that is not a number, and ValueError for an
    axis that does not exist or occurs twice.

    Args:
      axis: an axis, or a list of axes.
      center, scale: whether there are `beta` and `gamma`.
    """

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(
                f"Expected an int or a list/tuple of ints for the argument 'axis', got {axis!r}"
            )
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.keep_arguments(locals())
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Create `gamma` and `beta`."""
        sizes = as_shape(input_shape).as_list()
        listed = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + len(sizes) if axis < 0 else axis for axis in listed]
        if any(not 0 <= axis < len(sizes) for axis in axes):
            raise ValueError(f"Invalid axis: {self.axis} for inputs {input_shape}")
        if len(set(axes)) < len(axes):
            raise ValueError(f"Duplicate axis: {axes}")
        self.axis = axes
        shape = [sizes[axis] for axis in axes]
        if self.scale:
            self.gamma = self.add_parameter("gamma", shape)
        if self.center:
            self.beta = self.add_parameter("beta", shape)
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized inputs."""
        sizes = inputs.shape.as_list()
        mean, variance = moments(inputs, self.axis, keepdims=True)
        spread = [sizes[axis] if axis in self.axis else 1 for axis in range(len(sizes))]

        def wide(vector: Any) -> Any:
            return vector if vector is None else reshape(vector, spread)

        outputs = batch_normalization(
            inputs, mean, variance, wide(self.beta), wide(self.gamma), self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs
