"""Batch normalization, with moving averages of mean and variance for when it does not train.

Ioffe and Szegedy 2015, Batch Normalization: Accelerating Deep Network Training by Reducing
Internal Covariate Shift.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import float32
from gpugraph.contrib_layers.layer_collections import collect_outputs, collections_of
from gpugraph.contrib_layers.model_variables import model_variable
from gpugraph.control_flow.smart_cond import smart_cond, static_bool
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.nn.normalization.bias_and_moments import batch_normalization, moments
from gpugraph.ops.nn.normalization.fused_batch_norm import fused_batch_norm
from gpugraph.ops.random.variable_initializers import Ones, Zeros
from gpugraph.ops.reductions.reduction_functions import reduce_prod
from gpugraph.train.moving_averages import assign_moving_average
from gpugraph.variable_scope import get_variable_scope, variable_scope
from gpugraph.variable_scope.arg_scope import add_arg_scope


class _Inputs(NamedTuple):
    """The inputs, normalized by channel over `axes`. `shape` is that of a value per channel."""

    tensor: Tensor
    channels: int
    axes: list[int]
    shape: list[int]

    @property
    def by_channel(self) -> bool:
        """Whether a vector of the channels broadcasts against it as it is."""
        return len(self.shape) == 1


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
    """Inputs less their mean, by their deviation, over all dimensions but the channels'.

    decay: of the moving averages of mean and variance, which are used where it does not train.
    center, scale: whether `beta` is added, and `gamma` multiplied by.
    param_initializers: of `beta`, `gamma`, `moving_mean`, `moving_variance`.
    updates_collections: which the updates of the averages join, to be run with each step; None:
      they run before the outputs are computed.
    is_training: a bool, or a bool tensor that each run evaluates.
    fused: False: the moving variance is that of the batch as a population. By default, and with
      True, for inputs of rank 2 or 4, it is that of a sample, and float32 inputs with their
      channels last go through one op for all.
    data_format: "NHWC", channels last, or "NCHW", second, for any rank.

    ValueError for another data format, for inputs of unknown rank or channels, and for what is
    not there: batch_weights, zero_debias_moving_mean, renorm, adjustment.
    """
    _refuse(
        batch_weights=batch_weights, zero_debias_moving_mean=zero_debias_moving_mean,
        renorm=renorm, renorm_clipping=renorm_clipping, adjustment=adjustment,
    )  # fmt: skip
    del renorm_decay
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as within:
        source = _inputs(convert_to_tensor(inputs), data_format)
        initializers, regularizers = param_initializers or {}, param_regularizers or {}

        def make(name: str, default: Any, trained: bool) -> Any:
            return model_variable(
                name,
                shape=source.shape,
                dtype=source.tensor.dtype.base_dtype,
                initializer=initializers.get(name, default),
                regularizer=regularizers.get(name),
                collections=collections_of(variables_collections, name),
                trainable=trained,
            )

        as_sample = fused is not False and source.tensor.shape.rank in (2, 4)
        parameters = {"beta": (center, Zeros()), "gamma": (scale, Ones())}
        order = ["beta", "gamma"]
        if updates_collections == GraphKeys.UPDATE_OPS and not (
            as_sample and len(source.axes) == 1
        ):
            order.reverse()  # TensorFlow's order on this path, so that lists of variables are alike
        trained = {
            name: make(name, default, trainable)
            for name, (is_wanted, default) in ((key, parameters[key]) for key in order)
            if is_wanted
        }
        with variable_scope(get_variable_scope()) as moving:
            moving.set_partitioner(None)  # averages are not partitioned
            averages = [make("moving_mean", Zeros(), False), make("moving_variance", Ones(), False)]
        options = decay, is_training, updates_collections
        if as_sample and source.by_channel and source.tensor.dtype == float32:
            outputs = _fused(source, trained, averages, epsilon, *options)
        else:
            mean, variance = _mean_and_variance(source, averages, *options, as_sample)
            outputs = batch_normalization(
                source.tensor, mean, variance, trained.get("beta"), trained.get("gamma"), epsilon
            )
        outputs.set_shape(source.tensor.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_outputs(outputs_collections, within.name, outputs)


def _refuse(**arguments: Any) -> None:
    """ValueError for arguments that TensorFlow supports and this does not."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise ValueError(f"batch_norm takes no {name} here, but it is {value!r}")


def _inputs(tensor: Tensor, data_format: str) -> _Inputs:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")
    sizes = tensor.shape.sizes
    if sizes is None:
        raise ValueError(f"Inputs {tensor.name} has undefined rank.")
    axis = 1 if data_format == "NCHW" else len(sizes) - 1
    if len(sizes) < 2 or sizes[axis] is None:
        raise ValueError(f"Inputs {tensor.name} has undefined channels dimension {tensor.shape}.")
    channels = int(sizes[axis] or 0)
    after = [1] * (len(sizes) - 1 - axis)
    return _Inputs(
        tensor,
        channels,
        [i for i in range(len(sizes)) if i != axis],
        [1, channels, *after] if after else [channels],
    )


def _fused(
    source: _Inputs,
    trained: dict[str, Any],
    averages: list[Any],
    epsilon: float,
    decay: float,
    is_training: Any,
    updates_collections: Any,
) -> Tensor:
    """The outputs, by one op; while training the averages follow."""
    tensor = source.tensor
    flat = tensor.shape.rank == 2
    images = reshape(tensor, [-1, 1, 1, source.channels]) if flat else tensor
    gamma, beta = (
        trained[key] if key in trained else constant(value, float32, source.shape)
        for key, value in (("gamma", 1.0), ("beta", 0.0))
    )

    def by_sample() -> Any:
        return fused_batch_norm(images, gamma, beta, epsilon=epsilon)

    def by_averages() -> Any:
        mean, variance = averages
        return fused_batch_norm(
            images, gamma, beta, mean, variance, epsilon=epsilon, is_training=False
        )

    normalized, mean, variance = smart_cond(is_training, by_sample, by_averages)
    outputs: Tensor = reshape(normalized, shape(tensor)) if flat else normalized
    if static_bool(is_training) is False:
        return outputs

    def update() -> list[Tensor]:
        return [
            assign_moving_average(average, value, decay, zero_debias=False)
            for average, value in zip(averages, (mean, variance))
        ]

    graph = get_default_graph()
    if updates_collections is None:

        def after_updates() -> Tensor:
            with graph.control_dependencies(update()):
                return identity(outputs)

        return smart_cond(is_training, after_updates, lambda: outputs)

    def keep() -> list[Tensor]:
        return [identity(average) for average in averages]

    for average in smart_cond(is_training, update, keep):
        graph.add_to_collections(updates_collections, average)
    return outputs


def _mean_and_variance(
    source: _Inputs,
    averages: list[Any],
    decay: float,
    is_training: Any,
    updates_collections: Any,
    as_sample: bool,
) -> tuple[Any, Any]:
    """The mean and variance to normalize by; while training the averages follow."""
    moving_mean, moving_variance = averages
    if static_bool(is_training) is False:
        return moving_mean, moving_variance
    mean, variance = moments(source.tensor, source.axes, keepdims=not source.by_channel)
    followed = variance * _sample_factor(source) if as_sample else variance

    def update() -> list[Tensor]:
        return [
            assign_moving_average(moving_mean, mean, decay, zero_debias=False),
            assign_moving_average(moving_variance, followed, decay, zero_debias=False),
        ]

    def read_averages() -> list[Any]:
        return [identity(moving_mean), identity(moving_variance)]

    graph = get_default_graph()
    if updates_collections is None:

        def after_updates() -> list[Tensor]:
            with graph.control_dependencies(update()):
                return [identity(mean), identity(variance)]

        mean, variance = smart_cond(is_training, after_updates, read_averages)
        return mean, variance
    for average in smart_cond(is_training, update, read_averages):
        graph.add_to_collections(updates_collections, average)
    mean, variance = smart_cond(is_training, lambda: [mean, variance], read_averages)
    return mean, variance


def _sample_factor(source: _Inputs) -> Any:
    """n / (n - 1) for the n elements of a channel, 1 for a single one."""
    sizes = [source.tensor.shape[axis].value for axis in source.axes]
    dtype = source.tensor.dtype.base_dtype
    if None not in sizes:
        count = int(np.prod(sizes))  # type: ignore[arg-type]
        return convert_to_tensor(count / max(count - 1, 1), dtype)
    count_of_all = cast(reduce_prod(shape(source.tensor)), dtype)
    counted = count_of_all / float(source.channels)
    return counted / maximum(counted - 1.0, 1.0)
