"""Convolution and pooling of any number of dimensions, by those of one, two and three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.convolution.conv1d import conv1d
from gpugraph.ops.nn.convolution.conv2d_functions import avg_pool, conv2d, max_pool
from gpugraph.ops.nn.convolution.conv3d_functions import avg_pool3d, conv3d, max_pool3d
from gpugraph.ops.nn.convolution.pool_functions import avg_pool1d, max_pool1d
from gpugraph.ops.nn.convolution.with_space_to_batch import with_space_to_batch

_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_POOLING: dict[tuple[str, int], Any] = {
    ("MAX", 1): max_pool1d,
    ("MAX", 2): max_pool,
    ("MAX", 3): max_pool3d,
    ("AVG", 1): avg_pool1d,
    ("AVG", 2): avg_pool,
    ("AVG", 3): avg_pool3d,
}


def _dimensions(source: Tensor) -> int:
    rank = source.shape.rank
    if rank is None or not 3 <= rank <= 5:
        raise ValueError(f"The input must be of rank 3, 4 or 5, but its shape is {source.shape}")
    return rank - 2


def _layout(data_format: str | None, count: int) -> str:
    """The data format; ValueError for one that inputs of this rank have not."""
    if data_format not in (None, _LAST[count], _FIRST[count]):
        raise ValueError(
            f"data_format must be {_LAST[count]} or {_FIRST[count]}, but it is {data_format!r}"
        )
    return data_format or _LAST[count]


def _spatial(value: Any, count: int, name: str) -> list[int]:
    found = [1] * count if value is None else [int(each) for each in value]
    if len(found) != count:
        raise ValueError(f"{name} must have {count} entries, one a dimension, but it is {value!r}")
    return found


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
    """`conv1d`, `conv2d` or `conv3d`, by the rank of `input`.

    strides, dilation_rate (newer: `dilations`): one for each dimension but batch and channels.

    ValueError for inputs of another rank, and for a stride and a rate that both are more than 1.
    """
    source = convert_to_tensor(input, name="input")
    chosen = filters if filter is None else filter
    count = _dimensions(source)
    layout = _layout(data_format, count)
    steps = _spatial(strides, count, "strides")
    apart = _spatial(dilations if dilation_rate is None else dilation_rate, count, "dilation_rate")
    if max(steps) > 1 and max(apart) > 1:
        raise ValueError(
            f"strides > 1 not supported in conjunction with dilation_rate > 1: {steps}"
        )
    with op_scope(name, "convolution", source, chosen) as scope:
        if count == 1:
            return conv1d(source, chosen, steps[0], padding, data_format=layout, dilations=apart[0])
        function = conv2d if count == 2 else conv3d
        return function(
            source, chosen, steps, padding, data_format=layout, dilations=apart, name=scope
        )


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """`conv2d` whose windows' elements are `rate` apart."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


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
    """The largest element ("MAX") or the mean ("AVG") of windows, by the rank of `input`.

    window_shape, strides: one for each dimension but batch and channels.

    dilation_rate (newer: `dilations`): how far the elements of a window are apart.

    ValueError for another type, for inputs of another rank, and for a rate of more than 1 with a
    stride of more than 1 or padding "SAME".
    """
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be either AVG or MAX, but it is {pooling_type!r}")
    with op_scope(name, f"{pooling_type.lower()}_pool", input) as scope:
        source = convert_to_tensor(input, name="input")
        count = _dimensions(source)
        layout = _layout(data_format, count)
        rate = dilations if dilation_rate is None else dilation_rate
        apart = _spatial(rate, count, "dilation_rate")
        size = _spatial(window_shape, count, "window_shape")
        steps = _spatial(strides, count, "strides")
        _check_rate(apart, steps, padding)

        def pooled(converted: Tensor, _: int, converted_padding: str) -> Tensor:
            return _POOLING[pooling_type, count](
                converted, size, steps, converted_padding, layout, scope
            )

        return with_space_to_batch(source, apart, padding, pooled, data_format=layout)


def _check_rate(apart: list[int], steps: list[int], padding: str) -> None:
    """ValueError for what windows whose elements are apart can't be."""
    if max(apart) > 1 and max(steps) > 1:
        raise ValueError(
            f"strides > 1 not supported in conjunction with dilation_rate > 1: {steps}"
        )
    if max(apart) > 1 and padding == "SAME":
        raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
