"""The family of `tf.nn.conv2d`: convolution and depthwise convolution of images, their gradients,
and transposed convolution.

Strides and dilations are passed as one number, two numbers (height, width), or four numbers, one
for each dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_ops import conv2d_op
from gpugraph.ops.nn.convolution.depthwise_ops import depthwise_op
from gpugraph.ops.nn.windows.window_arguments import image_format, one_of, whole_entries
from gpugraph.ops.reductions.reduction_functions import either


def window_attrs(
    strides: Any, padding: Any, data_format: str | None, dilations: Any
) -> dict[str, Any]:
    """Return the attrs of a convolution op. A list of pairs as `padding` becomes the attr of
    explicit paddings.
    """
    layout = image_format(data_format)
    attrs: dict[str, Any] = {
        "strides": whole_entries(strides, 2, layout, "strides"),
        "padding": padding,
        "data_format": layout,
        "dilations": whole_entries(dilations, 2, layout, "dilations"),
    }
    if padding is None:
        raise ValueError("padding must be 'SAME', 'VALID', or a pair for each dimension, not None")
    if not isinstance(padding, str):
        pairs = [list(pair) for pair in padding]
        if len(pairs) != 4 or any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                "An explicit padding is a (before, after) for each of the 4 dimensions, but it is "
                f"{padding!r}"
            )
        attrs.update(
            padding="EXPLICIT", explicit_paddings=[int(size) for pair in pairs for size in pair]
        )
    return attrs


# -- convolution


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolve `input` [n, h, w, c] with `filter` [kh, kw, c, out]. The result has shape [n, oh,
    ow, out].

    Raises ValueError if a window is larger than the image, if the numbers of channels differ, or if
    a stride or dilation of the batch or the channels is not 1.

    Args:
      strides: the distance between windows, 1 by default.
      padding: with "SAME", there are size / stride windows along each axis, rounded up. With
        "VALID", there are only windows that are inside the image. It may also be a list of (before,
        after), the numbers of zeros for each of the four dimensions.
      dilations: the distance between the elements of a window.

    >>> images, kernel = tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1])
    >>> y = tf.nn.conv2d(images, kernel, strides=[1, 1, 1, 1], padding="VALID")
    >>> session.run(y)[0, ..., 0]
    array([[4., 4.],
           [4., 4.]], dtype=float32)
    """
    weights = one_of("filters", filters, "filter", filter)
    attrs = window_attrs(strides, padding, data_format, dilations)
    return conv2d_op(
        input, weights, use_cudnn_on_gpu=use_cudnn_on_gpu, **attrs, name=name or "Conv2D"
    )


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its input.

    Args:
      input_sizes: the four sizes of the input.
      out_backprop: the gradient with respect to the result of `conv2d`.
    """
    weights = one_of("filters", filters, "filter", filter)
    attrs = window_attrs(strides, padding, data_format, dilations)
    return raw_ops.Conv2DBackpropInput(
        int_argument(input_sizes), weights, out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu,
        **attrs, name=name,
    )  # fmt: skip


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its filter.

    Args:
      filter_sizes: the four sizes of the filter.
      out_backprop: the gradient with respect to the result of `conv2d`.
    """
    attrs = window_attrs(strides, padding, data_format, dilations)
    return raw_ops.Conv2DBackpropFilter(
        input, int_argument(filter_sizes), out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu,
        **attrs, name=name,
    )  # fmt: skip


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Apply the transpose of `conv2d` with a filter [kh, kw, out, c] to `value` [n, h, w, c].

    Raises ValueError unless a `conv2d` of an input of shape `output_shape` has a result of the
    shape of `value`.

    Args:
      output_shape: the shape of the result, [n, oh, ow, out].

    >>> kernel = tf.ones([2, 2, 1, 1])
    >>> y = tf.nn.conv2d_transpose(tf.ones([1, 1, 1, 1]), kernel, [1, 2, 2, 1], [1, 2, 2, 1])
    >>> session.run(y).shape
    (1, 2, 2, 1)
    """
    source = one_of("input", input, "value", value)
    weights = one_of("filters", filters, "filter", filter)
    with op_scope(name, "conv2d_transpose", source, weights, output_shape) as scope:
        return conv2d_backprop_input(
            output_shape, weights, source, strides, padding,
            data_format=data_format, dilations=dilations, name=scope,
        )  # fmt: skip


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Convolve each channel of `input` [n, h, w, c] separately with `filter` [kh, kw, c, m].

    Each channel of the input gives m channels of the result, which has c * m channels in total.
    Raises the same errors as `conv2d`.
    """
    attrs = window_attrs(strides, padding, data_format, dilations)
    return depthwise_op(input, filter, **attrs, name=name or "DepthwiseConv2dNative")


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `depthwise_conv2d_native` with respect to its input.

    Args:
      input_sizes: the four sizes of the input.
      out_backprop: the gradient with respect to the result.
    """
    attrs = window_attrs(strides, padding, data_format, dilations)
    return raw_ops.DepthwiseConv2dNativeBackpropInput(
        int_argument(input_sizes), filter, out_backprop, **attrs, name=name
    )


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `depthwise_conv2d_native` with respect to its filter.

    Args:
      filter_sizes: the four sizes of the filter.
      out_backprop: the gradient with respect to the result.
    """
    attrs = window_attrs(strides, padding, data_format, dilations)
    return raw_ops.DepthwiseConv2dNativeBackpropFilter(
        input, int_argument(filter_sizes), out_backprop, **attrs, name=name
    )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolve each channel of `input` separately, as `depthwise_conv2d_native` does.

    Args:
      rate: the vertical and the horizontal dilation. `dilations` is a newer name of `rate`.

    >>> images, kernel = tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 3, 2])
    >>> tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], "SAME").shape.as_list()
    [1, 4, 4, 6]
    """
    rates = either(dilations, rate, "dilations", "rate")
    with op_scope(name, "depthwise", input, filter) as scope:
        weights = convert_to_tensor(filter, name="filter_in")
        shape(weights)  # two ops that TensorFlow 1 adds: seeds count the ops of a graph
        convert_to_tensor([1, 1] if rates is None else rates, dtypes.int32, name="dilation_rate")
        return depthwise_conv2d_native(
            input, weights, strides, padding, image_format(data_format), rates, name=scope
        )


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Apply `depthwise_conv2d`, and then `conv2d` with `pointwise_filter` [1, 1, c * m, out].

    Raises the same errors as these two functions, and ValueError if the pointwise filter is larger
    than 1 x 1.
    """
    with op_scope(name, "separable_conv2d", input, depthwise_filter, pointwise_filter) as scope:
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        height, width, *_ = of_rank(pointwise.shape, 4, "pointwise_filter")
        if (height or 1, width or 1) != (1, 1):
            raise ValueError(f"pointwise_filter must be of size [1, 1], but is {pointwise.shape}")
        channelwise = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations
        )
        return conv2d(
            channelwise, pointwise, 1, "VALID", data_format=image_format(data_format), name=scope
        )
