"""Convolution of sequences, which are treated as images that are one pixel high."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_ops import conv2d_op
from gpugraph.ops.nn.windows.window_arguments import one_of, sequence_format


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolve sequences [n, steps, c] with `filters` [size, c, out].

    The result has shape [n, windows, out]. Raises the same errors as `tf.nn.conv2d`, and ValueError
    if the data format is unknown.

    Args:
      stride: the distance between windows, as one number, or as one number for each of the three
        dimensions.
      padding: "SAME" or "VALID".
      data_format: "NWC", or "NCW" for sequences [n, c, steps].
      dilations: the distance between the elements of a window, in the same form as `stride`.
    """
    source = one_of("input", input, "value", value)
    with op_scope(name, "conv1d", source, filters) as scope:
        layout = sequence_format(data_format)
        images = expand_dims(convert_to_tensor(source, name="value"), layout.axis)
        weights = expand_dims(convert_to_tensor(filters, name="filters"), 0)
        convolved = conv2d_op(
            images,
            weights,
            strides=layout.entries(stride, "stride"),
            padding=padding,
            use_cudnn_on_gpu=use_cudnn_on_gpu is not False,
            data_format=layout.data_format,
            dilations=layout.entries(dilations, "dilations"),
            name=scope,
        )
        return squeeze(convolved, [layout.axis])
