"""`tf.nn.convolution`, which calls the function for one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv1d import conv1d
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d
from gpugraph.ops.nn.convolution.conv3d_functions import conv3d
from gpugraph.ops.nn.windows.window_arguments import (
    check_strides_and_rates,
    format_of_rank,
    spatial_entries,
    spatial_rank,
)


def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = None,
    strides: Sequence[int] | None = None,
    dilation_rate: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Call `conv1d`, `conv2d` or `conv3d` if `input` has rank 3, 4 or 5 respectively.

    Raises ValueError if the rank is none of these, or if both a stride and a rate exceed 1.

    Args:
      strides: a number for each dimension except batch and channels.
      dilation_rate: the dilations, in the same form. `dilations` is a newer name of this argument.

    >>> images, kernel = tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4])
    >>> tf.nn.convolution(images, kernel, padding="SAME").shape.as_list()
    [1, 8, 8, 4]
    """
    source = convert_to_tensor(input, name="input")
    weights = filters if filter is None else filter
    count = spatial_rank(source)
    layout = format_of_rank(data_format, count)
    steps = spatial_entries(strides, count, "strides")
    rates = spatial_entries(
        dilations if dilation_rate is None else dilation_rate, count, "dilation_rate"
    )
    check_strides_and_rates(steps, rates)
    with op_scope(name, "convolution", source, weights) as scope:
        if set(rates) != {1}:  # an op that TensorFlow 1 adds: seeds count the ops of a graph
            convert_to_tensor(rates, dtypes.int32, name="dilation_rate")
        if count == 1:
            return conv1d(
                source, weights, steps[0], padding, data_format=layout, dilations=rates[0]
            )
        function = conv2d if count == 2 else conv3d
        return function(
            source, weights, steps, padding, data_format=layout, dilations=rates, name=scope
        )


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Apply `conv2d` with stride 1 and `rate` as the dilation of height and width."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)
