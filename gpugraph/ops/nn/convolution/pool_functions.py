"""Pooling by its further names: of sequences, by rank, and with the places of the largest.

Sequences are pooled as images that are one pixel high.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, squeeze
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.nn.convolution.conv1d import of_three, sequence_format
from gpugraph.ops.nn.convolution.conv2d_functions import avg_pool, max_pool
from gpugraph.ops.nn.convolution.conv3d_functions import avg_pool3d, max_pool3d


def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of sequences [n, steps, c], channel by channel.

    ksize, strides: the windows' size, and how far they are apart: a number, or three.
    padding: "SAME" or "VALID". data_format: "NWC", or "NCW" for sequences [n, c, steps].

    ValueError for another format, and for windows that are longer than the sequences.
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
    """The mean of each window of sequences [n, steps, c]; what is outside does not count.

    ksize, strides, padding, data_format, errors: as of `max_pool1d`.
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
        last = sequence_format(data_format)
        axis = 1 if last else 2
        made = function(
            expand_dims(source, axis),
            of_three(ksize, last, "ksize"),
            of_three(strides, last, "strides"),
            padding,
            "NHWC" if last else "NCHW",
            scope,
        )
        return squeeze(made, [axis])


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """`max_pool`, by its newer name."""
    with op_scope(name, "MaxPool2d", input) as scope:
        return max_pool(input, ksize, strides, padding, data_format or "NHWC", scope)


_MAX = {1: max_pool1d, 2: max_pool, 3: max_pool3d}
_MEAN = {1: avg_pool1d, 2: avg_pool, 3: avg_pool3d}


def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool1d`, `max_pool` or `max_pool3d`, by the rank of `input`; else ValueError."""
    return _by_rank(_MAX, input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool1d`, `avg_pool` or `avg_pool3d`, by the rank of `input`; else ValueError."""
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
    """(largest, where) of each window of images [n, h, w, c], channel by channel.

    where: (y * w + x) * c + channel, of the first of equals; with `include_batch_in_index` that of
      the whole tensor. Of dtype `output_dtype` (older: `Targmax`), int64 by default, or int32.

    ValueError for another data format than "NHWC", and as `max_pool`.
    """
    if data_format != "NHWC":
        raise ValueError(f"Data formats other than 'NHWC' are not yet supported: {data_format!r}")
    if Targmax is not None and output_dtype is not None:
        raise ValueError("Cannot specify both 'output_dtype' and 'Targmax'")
    dtype = Targmax if output_dtype is None else output_dtype
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
