"""Batch normalization as a function. The class of `tf.layers` implements the normalization.

Ioffe and Szegedy 2015, Batch Normalization: Accelerating Deep Network Training by Reducing Internal
Covariate Shift.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.control_flow.smart_cond import static_bool
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs, collect_variable
from gpugraph.library.contrib.layers.layer_options import model_variable_getter
from gpugraph.library.layers import BatchNormalization
from gpugraph.library.train.moving_averages import assign_moving_average
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.normalization.l2_normalize import weighted_moments
from gpugraph.ops.random.variable_initializers import Ones, Zeros

_VARIABLES = {
    "beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones(),
}  # fmt: skip
"""The names of the layer's variables, with their default initializers."""


class _BatchNorm(BatchNormalization):
    """The batch normalization layer of `tf.layers`, with weights for examples and a debiased moving
    mean.

    `follow` returns the op that updates one moving average. The layer stores these ops but adds
    them to no collection. `batch_norm` adds them to collections.
    """

    def __init__(self, batch_weights: Any, zero_debias_moving_mean: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.batch_weights, self.debiases_mean = batch_weights, zero_debias_moving_mean

    def batch_moments(self, inputs: Tensor, axes: list[int], keepdims: bool) -> tuple[Any, Any]:
        """Return the mean and variance of the inputs, with each example weighted by
        `batch_weights`.
        """
        if self.batch_weights is None:
            return super().batch_moments(inputs, axes, keepdims)
        weights = convert_to_tensor(self.batch_weights)
        inputs.shape[:1].assert_is_compatible_with(weights.shape)
        spread = reshape(weights, [-1, *[1] * (int(inputs.shape.rank or 0) - 1)])
        return weighted_moments(inputs, axes, spread, keepdims=keepdims)

    def update_fused(self, moments_of_batch: list[Any], training: Any) -> None:
        """Add the updates of the moving averages, unless `training` is known to be false.

        The debiasing divides the mean by a weight that grows with the number of updates. The mean
        must therefore be updated only in training steps.
        """
        if static_bool(training) is not False:
            self.update_averages(moments_of_batch, training)

    def follow(self, average: Any, value: Any, momentum: Any = None) -> Tensor:
        """Return the op that moves `average` towards `value`."""
        if self.debiases_mean and average is self.moving_mean:
            return assign_moving_average(average, value, self.momentum)
        return super().follow(average, value, momentum)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Store the op of an update in the layer, but add it to no collection."""
        del inputs
        self._updates.append(updates)


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Tensor:
    """Normalize inputs to mean 0 and standard deviation 1 over all axes except the channels.

    Raises ValueError for an unsupported data format, for an unknown rank or number of channels of
    the inputs, and for `renorm` together with `batch_weights`, `zero_debias_moving_mean` or
    `updates_collections` that are not the default.

    Args:
      decay: the decay of the moving averages of mean and variance, which are used outside of
        training.
      center: whether `beta` is added.
      scale: whether the result is multiplied by `gamma`.
      param_initializers, param_regularizers: dicts with the keys `beta`, `gamma`, `moving_mean`,
        `moving_variance`.
      updates_collections: the collections for the updates of the averages. A program must run these
        in each training step. If it is None, the updates run before the outputs are computed.
      is_training: a bool, or a bool tensor or variable that each run evaluates.
      batch_weights: [n], the weight of each example in mean and variance.
      fused: whether a single fused op normalizes inputs of rank 2 or 4, which is the default. The
        moving variance then averages the sample variance, otherwise the population variance.
      data_format: "NHWC" for channels last, or "NCHW" for channels second, for any rank.
      zero_debias_moving_mean: whether the moving mean is corrected for its initial value of 0.
      renorm, renorm_clipping, renorm_decay, adjustment: see `tf.layers.batch_normalization`.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")
    is_plain = updates_collections == GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
    if renorm and not (is_plain and batch_weights is None):
        raise ValueError(
            "renorm is not supported with batch_weights, updates_collections or "
            "zero_debias_moving_mean"
        )
    initializers = {**_VARIABLES, **(param_initializers or {})}
    regularizers = param_regularizers or {}
    with variable_scope(
        scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=model_variable_getter({})
    ) as within:
        source = convert_to_tensor(inputs)
        images = _images(source, data_format, fused, batch_weights, renorm, adjustment)
        layer = _BatchNorm(
            batch_weights, zero_debias_moving_mean, axis=1 if data_format == "NCHW" else -1,
            momentum=decay, epsilon=epsilon, center=center, scale=scale,
            **{f"{name}_initializer": initializers[name] for name in _VARIABLES},
            **{f"{name}_regularizer": regularizers.get(name) for name in ("beta", "gamma")},
            renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay,
            fused=fused is not False and batch_weights is None, trainable=trainable,
            adjustment=adjustment, name=within.name, _scope=within, _reuse=reuse,
        )  # fmt: skip
        if not is_plain or images is not source or batch_weights is not None:
            layer.parameter_order = (
                "beta",
                "gamma",
            )  # TensorFlow creates the variables in this order
        outputs = layer.apply(images, training=is_training)
        for name in _VARIABLES:
            collect_variable(getattr(layer, name), variables_collections, name)
        if images is not source:
            outputs = reshape(outputs, shape(source))
        outputs = _collect_updates(layer.updates, updates_collections, outputs)
        outputs.set_shape(source.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_outputs(outputs_collections, within.name, outputs)


def _images(
    source: Tensor, data_format: str, fused: bool | None, batch_weights: Any, renorm: bool,
    adjustment: Any,
) -> Tensor:  # fmt: skip
    """Return inputs of rank 2 as images of one pixel if the fused op can normalize them.

    Other inputs are returned unchanged. Raises ValueError if the rank or the number of channels is
    unknown.
    """
    sizes = source.shape.sizes
    if sizes is None:
        raise ValueError(f"Inputs {source.name} has undefined rank.")
    axis = 1 if data_format == "NCHW" else len(sizes) - 1
    if len(sizes) < 2 or sizes[axis] is None:
        raise ValueError(f"Inputs {source.name} has undefined channels dimension {source.shape}.")
    if fused is False or len(sizes) != 2 or batch_weights is not None or renorm or adjustment:
        return source
    channels = sizes[1]
    return reshape(
        source,
        [-1, channels, 1, 1] if axis == 1 and data_format == "NCHW" else [-1, 1, 1, channels],
    )


def _collect_updates(updates: list[Any], collections: Any, outputs: Tensor) -> Tensor:
    """Add the updates to `collections`, and return the outputs. If `collections` is None, the
    outputs wait for the updates instead.
    """
    graph = get_default_graph()
    if collections is not None:
        for update in updates:
            graph.add_to_collections(collections, update)
        return outputs
    if not updates:
        return outputs
    with graph.control_dependencies([update.op for update in updates]):
        return identity(outputs)
