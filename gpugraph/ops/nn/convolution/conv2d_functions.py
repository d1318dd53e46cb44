"""`tf.nn.conv2d` and its like: convolution, its transpose, by channel, and pooling, by their names.

Sizes of windows, strides and dilations may be given as one number, as two (height, width), or as
one for each of the four dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_ops import conv2d_op
from gpugraph.ops.nn.convolution.depthwise_ops import depthwise_op
from gpugraph.ops.nn.pooling.pool2d_ops import avg_pool_op, max_pool_op


def of_four(value: Any, data_format: str, name: str) -> list[int]:
    """`value` as an entry for each dimension; ValueError unless it has 1, 2 or 4 entries."""
    given = [1] if value is None else value
    flat = [int(each) for each in np.ravel(np.asarray(given))]
    if len(flat) == 1:
        flat *= 2
    if len(flat) == 2:
        return [1, *flat, 1] if data_format.endswith("C") else [1, 1, *flat]
    if len(flat) != 4:
        raise ValueError(f"{name} should be of length 1, 2 or 4 but was {len(flat)}: {list(flat)} ")
    return flat


def _one_of(name: str, value: Any, older: str, old_value: Any) -> Any:
    """The argument by its name or its older one; ValueError for both, and for neither."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{name}' and '{older}'")
    found = old_value if value is None else value
    if found is None:
        raise ValueError(f"Must specify '{name}'")
    return found


def _layout(data_format: str | None) -> str:
    layout = data_format or "NHWC"
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', but it is {data_format!r}")
    return layout


def placing(strides: Any, padding: Any, data_format: str | None, dilations: Any) -> dict[str, Any]:
    """The attrs that say where the windows are. A list of pairs is an explicit padding."""
    layout = _layout(data_format)
    attrs: dict[str, Any] = {
        "strides": of_four(strides, layout, "strides"),
        "padding": padding,
        "data_format": layout,
        "dilations": of_four(dilations, layout, "dilations"),
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
        attrs.update(padding="EXPLICIT", explicit_paddings=[int(each) for p in pairs for each in p])
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
    """Each window of `input` [n, h, w, c] times `filter` [kh, kw, c, out]: [n, oh, ow, out].

    strides: how far windows are apart, 1 by default.
    padding: "SAME": as many windows as there are pixels, by strides; "VALID": those inside; or
      (before, after) for each dimension.
    dilations: how far the elements of a window are apart.

    ValueError for windows that are larger than the image, for other numbers of channels, and for
    entries of batch or channels that are not 1.
    """
    chosen = _one_of("filters", filters, "filter", filter)
    attrs = placing(strides, padding, data_format, dilations)
    return conv2d_op(
        input, chosen, use_cudnn_on_gpu=use_cudnn_on_gpu, **attrs, name=name or "Conv2D"
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
    """The gradient of `conv2d` by its input, of the sizes `input_sizes`, where the result's is
    `out_backprop`.
    """
    chosen = _one_of("filters", filters, "filter", filter)
    attrs = placing(strides, padding, data_format, dilations)
    made: Tensor = raw_ops.Conv2DBackpropInput(
        int_argument(input_sizes), chosen, out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu,
        **attrs, name=name,
    )  # fmt: skip
    return made


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
    """The gradient of `conv2d` by its filter, of the sizes `filter_sizes`, where the result's is
    `out_backprop`.
    """
    attrs = placing(strides, padding, data_format, dilations)
    made: Tensor = raw_ops.Conv2DBackpropFilter(
        input, int_argument(filter_sizes), out_backprop, use_cudnn_on_gpu=use_cudnn_on_gpu,
        **attrs, name=name,
    )  # fmt: skip
    return made


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
    """What `conv2d` with this filter [kh, kw, out, c] makes `value` [n, h, w, c] of, backwards.

    output_shape: of the result [n, oh, ow, out], whose convolution is of the shape of `value`.

    ValueError for sizes that do not fit.
    """
    source = _one_of("input", input, "value", value)
    chosen = _one_of("filters", filters, "filter", filter)
    with op_scope(name, "conv2d_transpose", source, chosen, output_shape) as scope:
        return conv2d_backprop_input(
            output_shape, chosen, source, strides, padding,
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
    """Each channel of `input` [n, h, w, c] by itself, with `filter` [kh, kw, c, m]: c * m channels.

    ValueError as `conv2d`.
    """
    attrs = placing(strides, padding, data_format, dilations)
    return depthwise_op(input, filter, **attrs, name=name or "DepthwiseConv2dNative")


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
    """As `depthwise_conv2d_native`; `rate`, by its newer name `dilations`, has two entries."""
    if rate is not None and dilations is not None:
        raise ValueError("Cannot specify both 'rate' and 'dilations'")
    apart = dilations if rate is None else rate
    with op_scope(name, "depthwise", input, filter) as scope:
        return depthwise_conv2d_native(
            input, filter, strides, padding, _layout(data_format), apart, name=scope
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
    """`depthwise_conv2d`, then `conv2d` with `pointwise_filter` [1, 1, c * m, out].

    ValueError as these, and for a pointwise filter that is larger than a pixel.
    """
    with op_scope(name, "separable_conv2d", input, depthwise_filter, pointwise_filter) as scope:
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        height, width, *_ = of_rank(pointwise.shape, 4, "pointwise_filter")
        if (height or 1, width or 1) != (1, 1):
            raise ValueError(f"pointwise_filter must be of size [1, 1], but is {pointwise.shape}")
        between = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations
        )
        return conv2d(between, pointwise, 1, "VALID", data_format=_layout(data_format), name=scope)


# -- pooling


def _pool(
    function: Any, name: str, value: Any, ksize: Any, strides: Any, padding: str, data_format: str
) -> Tensor:
    layout = _layout(data_format)
    return function(
        value,
        ksize=of_four(ksize, layout, "ksize"),
        strides=of_four(strides, layout, "strides"),
        padding=padding,
        data_format=layout,
        name=name,
    )


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest element of each window of `value` [n, h, w, c], channel by channel.

    ksize, strides: the windows' size, and how far they are apart. padding: "SAME" or "VALID".

    ValueError for windows that are larger than the image, or over batch or channels.
    """
    source = _one_of("value", value, "input", input)
    return _pool(max_pool_op, name or "MaxPool", source, ksize, strides, padding, data_format)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window of `value` [n, h, w, c]; what is outside the image does not count.

    ksize, strides: the windows' size, and how far they are apart. padding: "SAME" or "VALID".

    ValueError for windows that are larger than the image, or over batch or channels.
    """
    source = _one_of("value", value, "input", input)
    return _pool(avg_pool_op, name or "AvgPool", source, ksize, strides, padding, data_format)
