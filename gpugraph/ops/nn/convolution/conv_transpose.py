"""Transposed convolution in one, two and three dimensions: the `tf.nn.conv_transpose` family.

A transposed convolution computes the gradient of a convolution with respect to its input. Its input
has the shape of the convolution's result, and its result has the shape of the convolution's images.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d_backprop_input, conv2d_transpose
from gpugraph.ops.nn.windows.window_arguments import sequence_format, volume_attrs


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Apply the transpose of `conv1d` with `filters` [size, out, c] to `input` [n, steps, c].

    Raises ValueError if the sizes do not match, or if the data format is neither "NWC" nor "NCW".

    Args:
      output_shape: the shape of the result, [n, output steps, out].
      strides, dilations: one number, or one number for each of the three dimensions.
    """
    with op_scope(name, "conv1d_transpose", input, filters, output_shape) as scope:
        layout = sequence_format(data_format)
        axis = layout.axis
        images = expand_dims(input, axis)
        weights = expand_dims(filters, 0)
        sizes = output_shape if isinstance(output_shape, Tensor) else list(output_shape)
        target = concat([sizes[:axis], [1], sizes[axis:]], 0)
        gradient = raw_ops.Conv2DBackpropInput(
            target,
            weights,
            images,
            strides=layout.entries(strides, "strides"),
            dilations=layout.entries(dilations, "dilations"),
            padding=padding,
            data_format=layout.data_format,
            name=scope,
        )
        return squeeze(gradient, [axis])


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Apply the transpose of `conv3d` with `filter` [kd, kh, kw, out, c] to `value` [n, d, h, w,
    c].

    Raises ValueError if the sizes do not match.

    Args:
      output_shape: the shape of the result, [n, od, oh, ow, out].
      strides, dilations: one, three or five numbers.
    """
    source = input if value is None else value
    weights = filters if filter is None else filter
    layout = data_format or "NDHWC"
    with op_scope(name, "conv3d_transpose", source, weights, output_shape) as scope:
        attrs = volume_attrs(strides, padding, layout, dilations)
        return raw_ops.Conv3DBackpropInputV2(
            int_argument(output_shape), weights, source, **attrs, name=scope
        )


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Call `conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose` if `output_shape` has 3, 4
    or 5 sizes respectively.

    Raises ValueError if `output_shape` has a different length.
    """
    with op_scope(name, "conv_transpose", input, filters, output_shape) as scope:
        if isinstance(output_shape, Tensor):
            length = output_shape.shape.with_rank(1)[0].value
        else:
            length = _length(output_shape)
        if length == 3:
            return conv1d_transpose(
                input, filters, output_shape, strides, padding, data_format, dilations, scope
            )
        if length == 4:
            return conv2d_transpose(
                input, filters, output_shape, strides, padding, data_format or "NHWC", scope,
                dilations=dilations,
            )  # fmt: skip
        if length == 5:
            return conv3d_transpose(
                input, filters, output_shape, strides, padding, data_format, scope,
                dilations=dilations,
            )  # fmt: skip
        raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {length}.")


def _length(output_shape: Any) -> int:
    try:
        return len(output_shape)
    except TypeError as error:
        raise ValueError(
            f"output_shape must be a tensor or sized collection, but is {output_shape!r}."
        ) from error


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Apply `conv2d_transpose` with stride 1 and `rate` as the dilation of height and width.

    Raises ValueError if the rate is below 1, if the numbers of channels differ, or if the sizes do
    not match.
    """
    with op_scope(name, "atrous_conv2d_transpose", value, filters, output_shape) as scope:
        source = convert_to_tensor(value, name="value")
        weights = convert_to_tensor(filters, name="filters")
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        return conv2d_backprop_input(
            output_shape, weights, source, [1, 1, 1, 1], padding, dilations=[rate, rate], name=scope
        )
