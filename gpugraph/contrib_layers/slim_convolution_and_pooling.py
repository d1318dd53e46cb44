"""Layers over images: convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.named_function import named
from gpugraph.contrib_layers.fully_connected import XAVIER, ZEROS, finish
from gpugraph.contrib_layers.layer_collections import collect_outputs, layer_variable, pair
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.convolution import conv2d_functions as convolution_functions
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.nn.pooling.pool_functions import avg_pool, max_pool
from gpugraph.variable_scope import variable_scope
from gpugraph.variable_scope.arg_scope import add_arg_scope


def _format(data_format: str | None) -> str:
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")
    return data_format or "NHWC"


@add_arg_scope
def convolution2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """activation_fn(conv2d(inputs, weights) + biases), for images [n, h, w, channels].

    kernel_size, stride, rate: a number, or two (height, width).
    data_format: "NHWC", or "NCHW" for images [n, channels, h, w].
    normalizer_fn: `f(outputs, **normalizer_params)`, in place of the biases.
    biases_initializer: None for no biases.
    variables_collections: what `weights` and `biases` join, or a dict of that.

    ValueError for another data format, for inputs that are not of rank 4 or whose channels are
    unknown, and for a stride and a rate that both are more than 1.
    """
    layout = _format(data_format)
    apart, steps = pair(rate, "rate"), pair(stride, "stride")
    if max(apart) > 1 and max(steps) > 1:
        raise ValueError(f"A rate {rate} does not go with a stride {stride}: one of them must be 1")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        channels = _channels(source, layout)
        dtype = source.dtype.base_dtype
        weights = layer_variable(
            "weights", [*pair(kernel_size, "kernel_size"), channels, num_outputs], dtype,
            weights_initializer, weights_regularizer, trainable, variables_collections, "kernel",
        )  # fmt: skip
        biases = None
        if normalizer_fn is None and biases_initializer is not None:
            biases = layer_variable(
                "biases", [num_outputs], dtype, biases_initializer, biases_regularizer,
                trainable, variables_collections, "bias",
            )  # fmt: skip
        outputs = convolution_functions.conv2d(
            source, weights, steps, padding.upper(), data_format=layout, dilations=apart
        )
        if biases is not None:
            outputs = bias_add(outputs, biases, data_format=layout)
        outputs = finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_outputs(outputs_collections, within.original_name_scope, outputs)


conv2d = convolution2d


def _channels(inputs: Tensor, layout: str) -> int:
    if inputs.shape.rank != 4:
        raise ValueError(f"Convolution expects input with rank 4, got {inputs.shape}: {inputs}")
    channels = inputs.shape[3 if layout == "NHWC" else 1].value
    if channels is None:
        raise ValueError(
            f"The channel dimension of the inputs should be defined, but they are {inputs.shape}"
        )
    return int(channels)


def _pool(
    name: str, scope_name: str, pool: Callable[..., Tensor], summary: str
) -> Callable[..., Tensor]:
    """The layer that applies `pool` to images."""

    @add_arg_scope
    @named(
        name,
        f"""{summary}

    kernel_size, stride: a number, or two (height, width). ValueError for another data format.
    """,
    )
    def layer(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = "NHWC",
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Tensor:
        layout = _format(data_format)
        with name_scope(scope, scope_name, [inputs]) as within:
            source = convert_to_tensor(inputs)
            size, steps = pair(kernel_size, "kernel_size"), pair(stride, "stride")
            outputs = pool(source, size, steps, padding.upper(), data_format=layout)
            return collect_outputs(outputs_collections, within, outputs)

    return layer


max_pool2d = _pool(
    "max_pool2d",
    "MaxPool2D",
    max_pool,
    "The largest element of each window of images, channel by channel; see `tf.nn.max_pool`.",
)
avg_pool2d = _pool(
    "avg_pool2d",
    "AvgPool2D",
    avg_pool,
    "The mean of each window of images, channel by channel; see `tf.nn.avg_pool`.",
)
