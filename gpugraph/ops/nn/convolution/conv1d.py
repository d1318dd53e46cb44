"""Convolution of sequences, as of images that are one pixel high."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv2d_ops import conv2d_op


def of_three(value: Any, last: bool, name: str) -> list[int]:
    """`value` as an entry for each of the four dimensions of an image one pixel high."""
    flat = [1] if value is None else [int(each) for each in np.ravel(np.asarray(value))]
    if len(flat) not in (1, 3):
        raise ValueError(f"{name} should be of length 1, 1 or 3 but was {len(flat)}")
    if len(flat) == 1:
        flat = [1, *flat, 1] if last else [1, 1, *flat]
    return [flat[0], 1, *flat[1:]] if last else [*flat[:2], 1, flat[2]]


def sequence_format(data_format: str | None) -> bool:
    """Whether channels come last; ValueError for an unknown format of sequences."""
    known = {None: True, "NHWC": True, "NWC": True, "NCHW": False, "NCW": False}
    if data_format not in known:
        raise ValueError(f'`data_format` must be "NWC" or "NCW". Received: {data_format!r}')
    return known[data_format]


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
    """Each window of sequences [n, steps, c] times `filters` [size, c, out]: [n, windows, out].

    stride, dilations: how far windows, and their elements, are apart: a number, or three.
    padding: "SAME" or "VALID". data_format: "NWC", or "NCW" for sequences [n, c, steps].

    ValueError for another data format, and as `tf.nn.conv2d`.
    """
    if (value is None) == (input is None):
        raise ValueError("Must specify 'input', and not 'value' besides")
    source = input if value is None else value
    with op_scope(name, "conv1d", source, filters) as scope:
        last = sequence_format(data_format)
        axis = 1 if last else 2
        images = expand_dims(convert_to_tensor(source, name="value"), axis)
        weights = expand_dims(convert_to_tensor(filters, name="filters"), 0)
        made = conv2d_op(
            images,
            weights,
            strides=of_three(stride, last, "stride"),
            padding=padding,
            use_cudnn_on_gpu=use_cudnn_on_gpu is not False,
            data_format="NHWC" if last else "NCHW",
            dilations=of_three(dilations, last, "dilations"),
            name=scope,
        )
        return squeeze(made, [axis])
