"""The public pooling functions: for sequences, images, volumes, and inputs of any of these ranks.
`pool` receives the pooling type as an argument.

Sequences are pooled as images that are one pixel high.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.pooling.pool_ops import avg_pool3d_op, avg_pool_op, max_pool3d_op, max_pool_op
from gpugraph.ops.nn.windows.window_arguments import (
    check_strides_and_rates,
    format_of_rank,
    image_format,
    one_of,
    sequence_format,
    spatial_entries,
    spatial_rank,
    whole_entries,
)
from gpugraph.ops.nn.windows.with_space_to_batch import with_space_to_batch
from gpugraph.ops.reductions.reduction_functions import either


def _pool(
    function: Any,
    count: int,
    source: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
    name: str | None,
) -> Tensor:
    """Call `function`, a pooling op over `count` spatial dimensions.

    Args:
      ksize, strides: one number, one number for each spatial dimension, or one number for each
        dimension.
    """
    return function(
        source,
        ksize=whole_entries(ksize, count, data_format, "ksize"),
        strides=whole_entries(strides, count, data_format, "strides"),
        padding=padding,
        data_format=data_format,
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
    """Return the maximum of each window of `value` [n, h, w, c] in each channel.

    Raises ValueError if a window is larger than the image. Windows over the batch, or over both
    channels and pixels, are not supported.

    Args:
      ksize: the size of the windows, as one number, two numbers (height, width), or one number for
        each dimension.
      strides: the distance between windows, in the same form.
      padding: "SAME" or "VALID".

    >>> images = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> session.run(tf.nn.max_pool(images, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")).ravel()
    array([3.], dtype=float32)
    """
    source, layout = one_of("value", value, "input", input), image_format(data_format)
    return _pool(max_pool_op, 2, source, ksize, strides, padding, layout, name or "MaxPool")


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Return the mean of each window of `value` [n, h, w, c], over the elements inside the image.

    Raises ValueError if a window is larger than the image, or extends over the batch or the
    channels.

    Args:
      ksize: the size of the windows, as one number, two numbers (height, width), or one number for
        each dimension.
      strides: the distance between windows, in the same form.
      padding: "SAME" or "VALID".

    >>> images = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
    >>> session.run(tf.nn.avg_pool(images, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")).ravel()
    array([1.5], dtype=float32)
    """
    source, layout = one_of("value", value, "input", input), image_format(data_format)
    return _pool(avg_pool_op, 2, source, ksize, strides, padding, layout, name or "AvgPool")


def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Return the maximum of each window of `input` [n, d, h, w, c] in each channel.

    Raises ValueError if a window is larger than the volume, or extends over the batch or the
    channels.

    Args:
      ksize: the size of the windows, as one number, three numbers, or one number for each
        dimension.
      strides: the distance between windows, in the same form.
      padding: "SAME" or "VALID".
    """
    return _pool(max_pool3d_op, 3, input, ksize, strides, padding, data_format, name)


def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of `input` [n, d, h, w, c], over the elements inside the
    volume.

    See `max_pool3d` for the arguments and errors.
    """
    return _pool(avg_pool3d_op, 3, input, ksize, strides, padding, data_format, name)


def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Return the maximum of each window of sequences [n, steps, c] in each channel.

    Raises ValueError if the data format is unknown, or if a window is longer than the sequences.

    Args:
      ksize: the size of the windows, as one number, or as one number for each of the three
        dimensions.
      strides: the distance between windows, in the same form.
      padding: "SAME" or "VALID".
      data_format: "NWC", or "NCW" for sequences [n, c, steps].
    """
    return _of_sequences(max_pool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of sequences [n, steps, c], over the elements inside the
    sequence.

    See `max_pool1d` for the arguments and errors.
    """
    return _of_sequences(avg_pool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


def _of_sequences(
    function: Any,
    default: str,
    source: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    with op_scope(name, default, source) as scope:
        layout = sequence_format(data_format)
        pooled = function(
            expand_dims(source, layout.axis),
            layout.entries(ksize, "ksize"),
            layout.entries(strides, "strides"),
            padding,
            layout.data_format,
            scope,
        )
        return squeeze(pooled, [layout.axis])


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Return the maximum of each window in each channel. This is a newer name of `max_pool`."""
    with op_scope(name, "MaxPool2d", input) as scope:
        return max_pool(input, ksize, strides, padding, data_format or "NHWC", scope)


_MAX: dict[int, Any] = {1: max_pool1d, 2: max_pool, 3: max_pool3d}
_MEAN: dict[int, Any] = {1: avg_pool1d, 2: avg_pool, 3: avg_pool3d}


def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `max_pool1d`, `max_pool` or `max_pool3d` if the input has rank 3, 4 or 5 respectively.

    If the rank is unknown, the length of `data_format` is used instead. Raises ValueError if the
    rank is none of these.
    """
    return _by_rank(_MAX, input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `avg_pool1d`, `avg_pool` or `avg_pool3d` if the input has rank 3, 4 or 5 respectively.

    If the rank is unknown, the length of `data_format` is used instead. Raises ValueError if the
    rank is none of these.
    """
    return _by_rank(_MEAN, input, ksize, strides, padding, data_format, name)


def _by_rank(
    functions: dict[int, Any],
    source: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    rank = source.shape.rank if isinstance(source, Tensor) else np.ndim(source)
    if rank is None and data_format is not None:
        rank = len(data_format)
    if rank is None:
        raise ValueError("The input must have a rank or a data format must be given.")
    if not 3 <= rank <= 5:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    layout = data_format or ("NWC", "NHWC", "NDHWC")[rank - 3]
    return functions[rank - 2](source, ksize, strides, padding, layout, name=name)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return (largest, where) of each window of images [n, h, w, c] in each channel.

    `largest` is the largest element of each window, and `where` is its position. The position is (y
    * w + x) * c + channel in the image. If `include_batch_in_index` is true, it is the index in the
    flattened batch. If several elements are equal, it is the position of the first. The dtype of
    `where` is `output_dtype` (older name: `Targmax`), which is int64 (the default) or int32.

    Raises ValueError if the data format is not "NHWC", or if a window is larger than the image.
    """
    if data_format != "NHWC":
        raise ValueError(f"Data formats other than 'NHWC' are not yet supported: {data_format!r}")
    dtype = either(output_dtype, Targmax, "output_dtype", "Targmax")
    largest, where = raw_ops.MaxPoolWithArgmax(
        input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        Targmax=int64 if dtype is None else as_dtype(dtype),
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
    return largest, where


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Return the largest element ("MAX") or the mean ("AVG") of each window of an input.

    The input has rank 3, 4 or 5. Raises ValueError if `pooling_type` is unknown, if the rank is
    none of these, or if a rate above 1 is combined with a stride above 1 or with padding "SAME".

    Args:
      window_shape, strides: a number for each dimension except batch and channels.
      dilation_rate: the distances between the elements of a window, in the same form. `dilations`
        is a newer name of this argument.
    """
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be either AVG or MAX, but it is {pooling_type!r}")
    with op_scope(name, f"{pooling_type.lower()}_pool", input) as scope:
        source = convert_to_tensor(input, name="input")
        count = spatial_rank(source)
        layout = format_of_rank(data_format, count)
        rate = dilations if dilation_rate is None else dilation_rate
        rates = spatial_entries(rate, count, "dilation_rate")
        size = spatial_entries(window_shape, count, "window_shape")
        steps = spatial_entries(strides, count, "strides")
        check_strides_and_rates(steps, rates)
        if max(rates) > 1 and padding == "SAME":
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")

        function = (_MAX if pooling_type == "MAX" else _MEAN)[count]

        def pool_batches(batches: Tensor, _: int, batches_padding: str) -> Tensor:
            return function(batches, size, steps, batches_padding, layout, scope)

        return with_space_to_batch(source, rates, padding, pool_batches, data_format=layout)
