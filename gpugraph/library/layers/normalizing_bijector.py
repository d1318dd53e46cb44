"""Batch normalization as a bijector, for flows."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.bijectors.bijector import Bijector
from gpugraph.library.layers.layer_classes import BatchNormalization as BatchNormalizationLayer
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.unary_functions import log, sqrt
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import moments
from gpugraph.ops.reductions.reduction_functions import reduce_sum

_MINIMUM_SCALE = 1e-6


class BatchNormalization(Bijector):
    """A bijector whose inverse normalizes a batch. `forward` restores the moments that the layer
    has averaged.

    Raises ValueError if the layer is not a `tf.layers.BatchNormalization`, renormalizes, or has
    virtual batches, and if the shape of the data is not known. Source: Papamakarios et al., Masked
    Autoregressive Flow for Density Estimation, 2017.

    Args:
      batchnorm_layer: the layer. By default, it is a layer with positive scales.
      training: whether `inverse` uses the moments of the batch, and updates the averages.
      validate_args: whether runs check arguments.
      name: the name scope of the bijector's operations.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        layer = batchnorm_layer or BatchNormalizationLayer(
            gamma_constraint=lambda gamma: relu(gamma) + _MINIMUM_SCALE
        )
        if not isinstance(layer, BatchNormalizationLayer):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if layer.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if layer.virtual_batch_size:
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self.batchnorm, self._training = layer, training
        super().__init__(
            forward_min_event_ndims=len(layer.axis) if isinstance(layer.axis, (list, tuple)) else 1,
            validate_args=validate_args,
            name=name,
        )

    def _sizes(self, x: Tensor) -> list[int]:
        """Build the layer for the data, and return the shape to which its parameters must be
        reshaped so that they broadcast to the data.
        """
        if not x.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        if not self.batchnorm.built:
            self.batchnorm.build(x.shape)
        sizes: list[Any] = list(x.shape.as_list())
        axes = self._axes(x)
        return [size if axis in axes else 1 for axis, size in enumerate(sizes)]

    def _axes(self, x: Tensor) -> list[int]:
        axis = self.batchnorm.axis
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        return [number % (x.shape.ndims or 1) for number in axes]

    def _forward(self, x: Tensor) -> Any:
        layer, sizes = self.batchnorm, self._sizes(x)
        scale = sqrt(reshape(layer.moving_variance, sizes) + layer.epsilon)
        if layer.center:
            x = x - reshape(layer.beta, sizes)
        if layer.scale:
            x = x / reshape(layer.gamma, sizes)
        return x * scale + reshape(layer.moving_mean, sizes)

    def _inverse(self, y: Tensor) -> Any:
        return self.batchnorm(y, training=self._training)

    def _forward_log_det_jacobian(self, x: Tensor) -> Any:
        self._sizes(x)
        return -self._log_scale(self.batchnorm.moving_variance)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Any:
        self._sizes(y)
        variance: Any = self.batchnorm.moving_variance
        if self._training:
            axes = self._axes(y)
            others = [axis for axis in range(y.shape.ndims or 0) if axis not in axes]
            variance = moments(y, others, keep_dims=True)[1]
        return self._log_scale(variance)

    def _log_scale(self, variance: Any) -> Any:
        """Return the logarithm of the factor by which `inverse` scales volumes."""
        layer = self.batchnorm
        total = -0.5 * reduce_sum(log(variance + layer.epsilon))
        return total + reduce_sum(log(layer.gamma)) if layer.scale else total
