"""Batch normalization with the mean and variance of the batch in training, otherwise with moving
averages.

Ioffe and Szegedy 2015, Batch Normalization: Accelerating Deep Network Training by Reducing Internal
Covariate Shift.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.shapes import as_shape
from gpugraph.building.control_flow.smart_cond import smart_cond, static_bool
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.keras.layers.batch_renormalization import (
    DeviationInitializer,
    checked_clipping,
    composed,
    corrected,
)
from gpugraph.library.keras.layers.configured_layer import SameShape
from gpugraph.library.train.moving_averages import assign_moving_average
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.unary_functions import sqrt
from gpugraph.ops.framework.identity_and_shape import identity, shape as shape_of, size
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import (
    batch_normalization as normalized_by,
    moments,
)
from gpugraph.ops.nn.normalization.fused_batch_norm import fused_batch_norm
from gpugraph.ops.reductions.reduction_functions import reduce_mean
from gpugraph.ops.state.reference_variable_ops import assign

_NARROW = (dtypes.float16, dtypes.bfloat16)
"""Dtypes of inputs whose means and variances are computed and stored as float32."""

_TENSORFLOWS = {
    "renorm": False, "renorm_clipping": None, "renorm_momentum": None, "fused": None,
    "virtual_batch_size": None, "adjustment": None,
}  # fmt: skip
"""Arguments that only TensorFlow has, not Keras. Configurations omit an argument that has its value
in this dict.
"""


class BatchNormalization(SameShape):
    """A layer that normalizes: (inputs - mean) / sqrt(variance + epsilon) * gamma + beta.

    Each channel along `axis` is normalized. In training, mean and variance are computed from the
    batch. The layer's updates then set `moving_mean` and `moving_variance` to average * momentum +
    value * (1 - momentum). Outside of training, mean and variance are these moving averages. The
    arguments `*_initializer`, `*_regularizer` and `*_constraint` are options of `gamma`, `beta` and
    the averages.

    Raises TypeError for an axis that is not a number. Raises ValueError for inputs of unknown rank
    or an unknown number of channels, for an axis that does not exist or occurs twice, for an
    unknown key in `renorm_clipping`, and for a virtual batch size that is not positive or is
    combined with `adjustment` or with channels on axis 0.

    Source: Ioffe, 2017 (arXiv:1702.03275).

    Args:
      axis: the channel axis, or a list of axes whose elements are normalized separately.
      center, scale: whether there are `beta` and `gamma`.
      renorm: whether to correct the outputs in training towards averages of mean and standard
        deviation, `renorm_mean` and `renorm_stddev`, which are updated with `renorm_momentum`.
      renorm_clipping: a dict with the bounds `rmin`, `rmax` and `dmax` of the correction.
      fused: whether images (rank 4) are normalized by a single op, which is the default. The fused
        op is never used with renorm, virtual batches, an adjustment, float64, or a channel axis
        other than the second or last. With this op, `moving_variance` averages sample variances,
        with the divisor n - 1.
      virtual_batch_size: the number of examples in a virtual batch. A batch is split into virtual
        batches, which are normalized separately.
      adjustment: a function that receives the shape of the inputs, as a tensor, and returns a scale
        and a bias. In training, the scale and the bias are applied to the normalized inputs before
        `gamma` and `beta`.
    """

    moving_mean_initializer: Any
    moving_variance_initializer: Any
    _bessels_correction_test_only = True  # tests of user programs set it to False
    parameter_order = ("gamma", "beta")
    """The order in which `build` creates the trained variables."""

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
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
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.fused = fused is not False
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.renorm = renorm
        self.renorm_clipping = checked_clipping(renorm_clipping) if renorm else None
        self.renorm_momentum = renorm_momentum
        self.keep_arguments(locals())
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor. Arguments that only TensorFlow's class has are
        omitted if they are not set.
        """
        config = super().get_config()
        for name, plain in _TENSORFLOWS.items():
            if name == "fused" or config[name] == plain or (not self.renorm and "renorm" in name):
                del config[name]
        return config

    def build(self, input_shape: Any) -> None:
        """Create `gamma`, `beta` and the moving averages."""
        sizes = as_shape(input_shape).sizes
        if sizes is None:
            raise ValueError(f"Input has undefined rank: {input_shape} (layer {self.name}).")
        self.axis = axes = self._axes(len(sizes))
        channels = {axis: sizes[axis] for axis in axes}
        if None in channels.values():
            raise ValueError(f"Input has undefined `axis` dimension. Input shape: {input_shape}")
        self.input_spec = InputSpec(ndim=len(sizes), axes=channels)
        self._check_virtual_batches()
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        plain = (
            plain and self.dtype != dtypes.float64
        )  # as in later versions; with float64, TensorFlow 1.15 fails
        self.fused = self.fused and plain and len(sizes) == 4 and axes in ([1], [3])
        if len(axes) == 1 and self.virtual_batch_size is None:
            shape = [int(sizes[axes[0]] or 0)]
        else:
            shape = [int(channels.get(axis) or 1) for axis in range(len(sizes))]
        if self.virtual_batch_size is not None:
            shape.insert(1, 1)
        is_divided = self.virtual_batch_size is not None
        self._kept_axes = [axis + is_divided for axis in axes]
        self._add_weights(shape)
        self.built = True

    def _axes(self, rank: int) -> list[int]:
        """Return the channel axes for inputs of this rank as non-negative indices."""
        listed = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + rank if axis < 0 else axis for axis in listed]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis} for inputs of rank {rank}")
        if len(set(axes)) < len(axes):
            raise ValueError(f"Duplicate axis: {axes}")
        return axes

    def _check_virtual_batches(self) -> None:
        size = self.virtual_batch_size
        if size is None:
            return
        if size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of "
                f"the input Tensor, but it is {size}"
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot "
                f"contain 0: {self.axis}"
            )
        if self.adjustment is not None:
            raise ValueError(
                "When using virtual_batch_size, adjustment cannot be specified: both change how "
                "the inputs are normalized"
            )

    def _add_weights(self, shape: list[int]) -> None:
        input_type = self.dtype or dtypes.float32
        dtype = dtypes.float32 if input_type in _NARROW else input_type
        self._shape, self._variable_type = shape, dtype
        for name in self.parameter_order:
            if self.scale if name == "gamma" else self.center:
                setattr(self, name, self.add_parameter(name, shape, dtype))
        with self._in_one_part():
            self.moving_mean = self._add_average("moving_mean", self.moving_mean_initializer)
            self.moving_variance = self._add_average(
                "moving_variance", self.moving_variance_initializer
            )
            if self.renorm:
                deviation = DeviationInitializer(self.moving_variance_initializer)
                self.moving_stddev = self._add_average("moving_stddev", deviation)
                self.renorm_mean = self._add_average("renorm_mean", self.moving_mean_initializer)
                self.renorm_stddev = self._add_average("renorm_stddev", deviation)

    def _add_average(self, name: str, initializer: Any) -> Any:
        return self.add_weight(
            name, self._shape, self._variable_type, initializer, trainable=False,
            synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN,
        )  # fmt: skip

    @contextmanager
    def _in_one_part(self) -> Iterator[None]:
        """Create variables inside this block without partitions, even if the variable scope has a
        partitioner.
        """
        scope = getattr(self, "_scope", None)
        if scope is None:  # a layer in the style of tf.keras has no scope and partitions nothing
            yield
            return
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        try:
            yield
        finally:
            scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: Any = None) -> Tensor:
        """Normalize the inputs.

        Args:
          training: a bool, or a tensor that each run evaluates; by default the learning phase.
        """
        training = learning_phase() if training is None else training
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._plain(inputs, training)
        sizes: Any = [-1, *inputs.shape.as_list()[1:]]
        parts: Any = [self.virtual_batch_size, *sizes]
        if None in sizes:
            sizes = shape_of(inputs)
            parts = concat([[self.virtual_batch_size, -1], sizes[1:]], 0)
        divided = reshape(inputs, parts)
        divided.set_shape([self.virtual_batch_size, None, *inputs.shape.as_list()[1:]])
        outputs = reshape(self._plain(divided, training), sizes)
        outputs.set_shape(inputs.shape)
        return outputs

    # -- by a single op

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        gamma = self._constant(1.0) if self.gamma is None else self.gamma
        beta = self._constant(0.0) if self.beta is None else self.beta
        layout = "NHWC" if self.axis == [3] else "NCHW"

        def of_batch() -> Any:
            return fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=layout)

        def of_averages() -> Any:
            return fused_batch_norm(
                inputs, gamma, beta, self.moving_mean, self.moving_variance, self.epsilon,
                layout, is_training=False,
            )  # fmt: skip

        outputs, mean, variance = smart_cond(training, of_batch, of_averages)
        if not self._bessels_correction_test_only:
            count = cast(size(inputs) / size(variance), variance.dtype)
            variance = variance * ((count - 1) / count)
        self.update_fused([mean, variance], training)
        return outputs

    def update_fused(self, moments_of_batch: list[Any], training: Any) -> None:
        """Add updates of the averages with the batch's mean and variance, for the fused op.

        If `training` is a tensor, the momentum is 1 outside of training, so that the averages do
        not change.
        """
        known = static_bool(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        if known is not False:
            for average, value in zip([self.moving_mean, self.moving_variance], moments_of_batch):
                self.add_update(self.follow(average, value, momentum), inputs=value)

    def _constant(self, value: float) -> Any:
        return constant(value, self._variable_type, self._shape)

    # -- by elementwise ops

    def _plain(self, inputs: Tensor, training: Any) -> Tensor:
        input_type = inputs.dtype.base_dtype
        if input_type in _NARROW:
            inputs = cast(inputs, dtypes.float32)
        rank = int(inputs.shape.rank or 0)

        def spread(vector: Any) -> Any:
            """Reshape a vector with one value per channel, so that it broadcasts to the shape of
            the inputs.
            """
            if vector is None or len(vector.shape) == rank or self._kept_axes == [rank - 1]:
                return vector
            return reshape(vector, [-1 if axis in self._kept_axes else 1 for axis in range(rank)])

        gamma, beta = spread(self.gamma), spread(self.beta)
        mean, variance = self.moving_mean, self.moving_variance
        if static_bool(training) is not False:
            if self.adjustment is not None:
                scale, bias = self._adjustments(inputs, training)
                gamma, beta = composed(scale, bias, gamma, beta)
            mean, variance, followed = self._choose(inputs, training)
            if self.renorm:
                scale, bias, *followed = corrected(self, followed, training)
                gamma, beta = composed(spread(scale), spread(bias), gamma, beta)
            self.update_averages(followed, training)
        outputs = normalized_by(inputs, spread(mean), spread(variance), beta, gamma, self.epsilon)
        outputs.set_shape(inputs.shape)
        return cast(outputs, input_type)

    def _adjustments(self, inputs: Tensor, training: Any) -> list[Any]:
        """Return the scale and bias from the function `adjustment` in training, otherwise 1 and
        0.
        """
        adjustments = [convert_to_tensor(value) for value in self.adjustment(shape_of(inputs))]
        return [
            smart_cond(training, partial(identity, value), partial(neutral, value))
            for value, neutral in zip(adjustments, (ones_like, zeros_like))
        ]

    def batch_moments(self, inputs: Tensor, axes: list[int], keepdims: bool) -> tuple[Any, Any]:
        """Return the mean and variance of the inputs over `axes`."""
        return moments(inputs, axes, keepdims=keepdims)

    def _choose(self, inputs: Tensor, training: Any) -> tuple[Any, Any, list[Any]]:
        """Return the mean and variance for the normalization, and a list of the mean and variance
        for the updates of the averages.

        The items of the list are averages over the virtual batches.
        """
        axes = [axis for axis in range(int(inputs.shape.rank or 0)) if axis not in self._kept_axes]
        is_divided = self.virtual_batch_size is not None
        if is_divided:
            axes.remove(1)
        moments_of_batch = self.batch_moments(inputs, axes, is_divided or len(self._kept_axes) > 1)
        values = [cast(moment, self._variable_type) for moment in moments_of_batch]
        averages = [self.moving_mean, self.moving_variance]
        mean, variance = (
            smart_cond(
                training, partial(convert_to_tensor, value), partial(convert_to_tensor, average)
            )
            for value, average in zip(values, averages)
        )
        if not is_divided:
            return mean, variance, [mean, variance]
        followed = [reduce_mean(value, axis=1, keepdims=True) for value in (mean, variance)]
        return mean, variance, followed

    # -- averages

    def update_averages(self, moments_of_batch: list[Any], training: Any) -> None:
        """Add updates of the averages. Outside of training, these updates change nothing."""
        mean, variance = moments_of_batch
        self._add_training_update(self.moving_mean, mean, training)
        if not self.renorm:
            self._add_training_update(self.moving_variance, variance, training)
            return

        def follow_deviation() -> Any:
            deviation = self.follow(self.moving_stddev, sqrt(variance + self.epsilon))
            return assign(self.moving_variance, relu(deviation * deviation - self.epsilon))

        keep = partial(convert_to_tensor, self.moving_variance)
        self.add_update(smart_cond(training, follow_deviation, keep), inputs=variance)

    def _add_training_update(self, average: Any, value: Any, training: Any) -> None:
        update = partial(self.follow, average, value)
        keep = partial(convert_to_tensor, average)
        self.add_update(smart_cond(training, update, keep), inputs=value)

    def follow(self, average: Any, value: Any, momentum: Any = None) -> Tensor:
        """Return an op that sets `average` to average * momentum + value * (1 - momentum).

        Args:
          momentum: by default the momentum of the layer.
        """
        decay = self.momentum if momentum is None else momentum
        return assign_moving_average(average, value, decay, zero_debias=False)
