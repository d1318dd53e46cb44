"""Generalized divisive normalization: divides inputs by a learned norm over their channels.

Ballé, Laparra and Simoncelli 2016, Density Modeling of Images Using a Generalized Normalization
Transformation (arXiv:1511.06281).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.gradients import custom_gradient
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.layers import InputSpec, Layer
from gpugraph.ops.arrays.constants_and_placeholders import zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.unary_functions import sqrt, square
from gpugraph.ops.linalg.tensordot import tensordot
from gpugraph.ops.random.variable_initializers import Constant


class GDN(Layer):
    """The layer inputs / sqrt(beta + inputs ** 2 @ gamma), with gamma [channels, channels].

    Raises ValueError for an unknown data format, for inputs that do not have 3 to 5 axes, and for
    an unknown number of channels.

    Args:
      inverse: whether to multiply by the root instead of dividing, which approximately inverts the
        layer.
      beta_min: the minimum of `beta`.
      gamma_init: the initial diagonal of `gamma`.
      reparam_offset: a number that keeps the variables away from 0, where their gradients vanish.
        beta and gamma are the squares of the variables minus the square of this number.
      data_format: "channels_last" or "channels_first".
    """

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in ("channels_first", "channels_last"):
            raise ValueError(f"Unknown data format: '{data_format}'.")
        if (
            not abs(reparam_offset) < 1e150
        ):  # the square of the offset must be finite, because it is stored
            raise ValueError(f"reparam_offset must be a small number, but is {reparam_offset}")
        self.inverse = inverse
        self.data_format = data_format
        self._beta_min, self._gamma_init = beta_min, gamma_init
        self._offset, self._pedestal = reparam_offset, reparam_offset**2
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape: Any) -> None:
        """Add the variables `reparam_beta` and `reparam_gamma`."""
        shape = as_shape(input_shape)
        axis = 1 if self.data_format == "channels_first" else int(shape.rank or 0) - 1
        channels = shape[axis].value
        if channels is None:
            raise ValueError(
                f"The channel dimension of the inputs to `GDN` must be defined: {shape}"
            )
        self._axis = axis
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5, axes={axis: channels})
        ones, eye = np.ones(channels), self._gamma_init * np.eye(channels)
        self._reparam_beta = self.add_weight(
            "reparam_beta", [channels], initializer=Constant(np.sqrt(ones + self._pedestal))
        )
        self._reparam_gamma = self.add_weight(
            "reparam_gamma", [channels] * 2, initializer=Constant(np.sqrt(eye + self._pedestal))
        )
        self.built = True

    @property
    def beta(self) -> Tensor:
        """The constant [channels] that is added to the sums of squares. It is at least
        `beta_min`.
        """
        bound = (self._beta_min + self._pedestal) ** 0.5
        value: Tensor = square(_bounded(self._reparam_beta, bound)) - self._pedestal
        return value

    @property
    def gamma(self) -> Tensor:
        """The non-negative weights [channels, channels] of the squares."""
        value: Tensor = square(_bounded(self._reparam_gamma, self._offset)) - self._pedestal
        return value

    def call(self, inputs: Tensor) -> Tensor:
        """Return the normalized inputs."""
        rank = int(inputs.shape.rank or 0)
        sums = tensordot(square(inputs), self.gamma, [[self._axis], [0]])
        if self._axis != rank - 1:
            sums = transpose(sums, [0, rank - 1, *range(1, rank - 1)])
        spread = [-1 if axis == self._axis else 1 for axis in range(rank)]
        norm = sqrt(sums + reshape(self.beta, spread))
        outputs: Tensor = inputs * norm if self.inverse else inputs / norm
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the outputs, which is the shape of the inputs."""
        return as_shape(input_shape)


@custom_gradient
def _bounded(values: Tensor, bound: Any) -> Any:
    """Return the values, clipped so that they are at least `bound`.

    The gradient of a clipped value is passed only if the gradient is negative, so that gradient
    descent increases the value.
    """

    def back(gradient: Tensor) -> list[Any]:
        passes = (values >= bound) | (gradient < 0.0)
        return [where(passes, gradient, zeros_like(gradient)), None]

    return maximum(values, bound), back


def gdn(
    inputs: Any,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Apply a new `GDN` layer to `inputs`."""
    layer = GDN(
        inverse, beta_min, gamma_init, reparam_offset, data_format, activity_regularizer,
        trainable, name, _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs)
