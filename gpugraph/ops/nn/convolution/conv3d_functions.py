"""`tf.nn.conv3d` and its like: convolution and pooling of volumes, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.nn.convolution.conv3d_ops import conv3d_op
from gpugraph.ops.nn.pooling.pool_ops import avg_pool3d_op, max_pool3d_op


def _one_of(name: str, value: Any, newer: str, new_value: Any) -> Any:
    """The argument by its name or its newer one; ValueError for both, and for neither."""
    if (value is None) == (new_value is None):
        raise ValueError(f"Must specify '{newer}', and not '{name}' besides")
    return new_value if value is None else value


def of_five(value: Any, data_format: str, name: str) -> list[int]:
    """`value` as an entry for each dimension; ValueError unless it has 1, 3 or 5 entries."""
    flat = [int(each) for each in np.ravel(np.asarray([1] if value is None else value))]
    if len(flat) == 1:
        flat *= 3
    if len(flat) == 3:
        return [1, *flat, 1] if data_format.endswith("C") else [1, 1, *flat]
    if len(flat) != 5:
        raise ValueError(f"{name} should be of length 1, 3 or 5 but was {len(flat)}: {flat}")
    return flat


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Each window of `input` [n, d, h, w, c] times `filter` [kd, kh, kw, c, out].

    strides, dilations: how far windows, and their elements, are apart: five numbers.
    padding: "SAME" or "VALID". data_format: "NDHWC", or "NCDHW" for volumes [n, c, d, h, w].

    ValueError for windows larger than the volume, and for other numbers of channels.
    """
    return conv3d_op(
        input,
        _one_of("filter", filter, "filters", filters),
        strides=of_five(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        dilations=of_five(dilations, data_format, "dilations"),
        name=name,
    )


def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of `input` [n, d, h, w, c], channel by channel.

    ksize, strides: the windows' size, and how far they are apart. padding: "SAME" or "VALID".

    ValueError for windows that are larger than the volume, or over batch or channels.
    """
    return _pool(max_pool3d_op, name, input, ksize, strides, padding, data_format)


def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of `input` [n, d, h, w, c]; what is outside does not count.

    ksize, strides, padding, errors: as of `max_pool3d`.
    """
    return _pool(avg_pool3d_op, name, input, ksize, strides, padding, data_format)


def _pool(
    function: Any,
    name: str | None,
    source: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str,
) -> Tensor:
    return function(
        source,
        ksize=of_five(ksize, data_format, "ksize"),
        strides=of_five(strides, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )
