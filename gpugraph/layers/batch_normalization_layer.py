"""Batch normalization, with moving averages of mean and variance for when it does not train.

Ioffe and Szegedy 2015, Batch Normalization: Accelerating Deep Network Training by Reducing
Internal Covariate Shift.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.control_flow.smart_cond import smart_cond, static_bool
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.base_layer import Layer
from gpugraph.layers.layer_arguments import ONES, ZEROS, WeightOptions, layer_function
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import identity, shape as shape_of
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.nn.normalization.bias_and_moments import (
    batch_normalization as normalized_by,
    moments,
)
from gpugraph.ops.nn.normalization.fused_batch_norm import fused_batch_norm
from gpugraph.ops.state.reference_variable_ops import assign_sub

_NARROW = (dtypes.float16, dtypes.bfloat16)
"""Inputs whose means and variances are float32."""


class BatchNormalization(Layer):
    """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta, along `axis`, the channels'.

    While training, mean and variance are those of the inputs, and `moving_mean` and
    `moving_variance` follow them by 1 - momentum each time the ops in UPDATE_OPS run; else they
    are these averages.

    axis: the channels' dimension. center, scale: whether there are `beta` and `gamma`.
    *_initializer, *_regularizer, *_constraint: of these, and of the averages.
    fused: whether images (rank 4) go through one op for all; by default they do. The average of
      the variance then is that of the sample, over n - 1.
    adjustment: a function from the shape of the inputs, a tensor, to a scale and a bias that change
      the normalized inputs before `gamma` and `beta`, while it trains; never `fused`.

    ValueError for inputs of unknown rank or channels, another axis, and for `renorm` and
    `virtual_batch_size`, which TensorFlow supports and this does not.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = ZEROS,
        gamma_initializer: Any = ONES,
        moving_mean_initializer: Any = ZEROS,
        moving_variance_initializer: Any = ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        _refuse(renorm=renorm, virtual_batch_size=virtual_batch_size)
        del renorm_clipping, renorm_momentum
        if adjustment is not None:
            if fused:
                raise ValueError("Passing fused=True is not supported when adjustment is specified")
            fused = False
        self.adjustment = adjustment
        self.axis = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.fused = fused
        self._gamma = self._beta = None
        if scale:
            self._gamma = WeightOptions(gamma_initializer, gamma_regularizer, gamma_constraint)
        if center:
            self._beta = WeightOptions(beta_initializer, beta_regularizer, beta_constraint)
        self._averages = moving_mean_initializer, moving_variance_initializer
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, inputs_shape: Any) -> None:
        """Adds `gamma`, `beta` and the moving averages."""
        axis: Any = self.axis
        sizes = inputs_shape.sizes
        if sizes is None:
            raise ValueError(f"Input has undefined rank: {inputs_shape} (layer {self.name}).")
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        if len(axes) != 1 or not -len(sizes) <= axes[0] < len(sizes):
            raise ValueError(f"Invalid axis: {self.axis} for inputs of shape {inputs_shape}")
        self._channel_axis = axes[0] % len(sizes)
        channels = sizes[self._channel_axis]
        if channels is None:
            raise ValueError(f"Input has undefined `axis` dimension: {inputs_shape}")
        self.input_axes = {self._channel_axis: int(channels)}
        images = len(sizes) == 4 and self._channel_axis in (1, 3)
        if self.fused and not images:
            raise ValueError(
                f"Fused batch norm is of images, with channels at axis 1 or 3: not {inputs_shape} "
                f"with axis {self.axis}"
            )
        self._fuses = images and self.fused is not False
        self._add_weights(int(channels))

    def _add_weights(self, channels: int) -> None:
        input_type = self.dtype or dtypes.float32
        dtype = dtypes.float32 if input_type in _NARROW else input_type
        if self._gamma is not None:
            self.gamma = self._gamma.add_to(self, "gamma", [channels], dtype)
        if self._beta is not None:
            self.beta = self._beta.add_to(self, "beta", [channels], dtype)
        names = ("moving_mean", "moving_variance")
        with self._in_one_part():
            self.moving_mean, self.moving_variance = (
                self.add_weight(name, [channels], dtype, initializer, trainable=False)
                for name, initializer in zip(names, self._averages)
            )
        self._channels, self._variable_type = channels, dtype

    @contextmanager
    def _in_one_part(self) -> Iterator[None]:
        """Variables inside are not partitioned, whatever partitioner the scope has."""
        assert self._scope is not None
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            yield
        finally:
            self._scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """training: a bool, or a bool tensor that each run evaluates."""
        return self._fused(inputs, training) if self._fuses else self._plain(inputs, training)

    # -- as one op

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        gamma = self._constant(1.0) if self.gamma is None else self.gamma
        beta = self._constant(0.0) if self.beta is None else self.beta
        layout = "NHWC" if self._channel_axis == 3 else "NCHW"

        def of_batch() -> Any:
            return fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=layout)

        def of_averages() -> Any:
            return fused_batch_norm(
                inputs, gamma, beta, self.moving_mean, self.moving_variance, self.epsilon,
                layout, is_training=False,
            )  # fmt: skip

        outputs, mean, variance = smart_cond(training, of_batch, of_averages)
        known = static_bool(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        if known is not False:
            self.add_update(self._follow(self.moving_mean, mean, momentum))
            self.add_update(self._follow(self.moving_variance, variance, momentum))
        return outputs

    def _constant(self, value: float) -> Any:
        return constant(value, self._variable_type, [self._channels])

    # -- by elementwise ops

    def _plain(self, inputs: Tensor, training: Any) -> Tensor:
        input_type = inputs.dtype.base_dtype
        if input_type in _NARROW:
            inputs = cast(inputs, dtypes.float32)
        rank = int(inputs.shape.rank or 0)
        axes = [axis for axis in range(rank) if axis != self._channel_axis]
        shape = [self._channels if axis == self._channel_axis else 1 for axis in range(rank)]

        def spread(vector: Any) -> Any:
            return (
                vector
                if vector is None or self._channel_axis == rank - 1
                else reshape(vector, shape)
            )

        gamma, beta = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if static_bool(training) is not False:
            mean, variance = self._choose(inputs, axes, training)
        mean, variance = spread(mean), spread(variance)
        if self.adjustment is not None and static_bool(training) is not False:
            beta, gamma = self._adjust(inputs, beta, gamma, training)
        outputs = normalized_by(inputs, mean, variance, beta, gamma, self.epsilon)
        outputs.set_shape(inputs.shape)
        return cast(outputs, input_type)

    def _adjust(self, inputs: Tensor, beta: Any, gamma: Any, training: Any) -> tuple[Any, Any]:
        """`beta` and `gamma` after the scale and bias of `adjustment`, where it trains."""
        adjustments = [convert_to_tensor(value) for value in self.adjustment(shape_of(inputs))]
        scale, bias = (
            smart_cond(training, partial(identity, value), partial(neutral, value))
            for value, neutral in zip(adjustments, (ones_like, zeros_like))
        )
        if gamma is not None:
            scale, bias = scale * gamma, bias * gamma
        return bias if beta is None else bias + beta, scale

    def _choose(self, inputs: Tensor, axes: list[int], training: Any) -> tuple[Any, Any]:
        """The mean and variance to normalize by; while training the averages follow."""
        batch_moments = [cast(moment, self._variable_type) for moment in moments(inputs, axes)]
        averages = [self.moving_mean, self.moving_variance]
        mean, variance = (
            smart_cond(
                training, partial(convert_to_tensor, value), partial(convert_to_tensor, average)
            )
            for value, average in zip(batch_moments, averages)
        )
        for average, value in zip(averages, (mean, variance)):
            follow = partial(self._follow, average, value, self.momentum)
            self.add_update(smart_cond(training, follow, partial(convert_to_tensor, average)))
        return mean, variance

    def _follow(self, average: Any, value: Any, momentum: Any) -> Tensor:
        """The op of average = average * momentum + value * (1 - momentum)."""
        graph = get_default_graph()
        with op_scope(None, "AssignMovingAvg", average) as scope, graph.colocate_with(average.op):
            decay = convert_to_tensor(1.0 - momentum, name="decay")
            rate = cast(decay, average.dtype.base_dtype)
            return assign_sub(
                average, (average - cast(value, average.dtype.base_dtype)) * rate, name=scope
            )


def _refuse(**arguments: Any) -> None:
    """ValueError for arguments that TensorFlow supports and this does not."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise ValueError(f"batch normalization takes no {name} here, but it is {value!r}")


batch_normalization = layer_function(
    BatchNormalization,
    "axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint "
    "gamma_constraint training trainable name renorm renorm_clipping renorm_momentum fused "
    "virtual_batch_size adjustment",
)
