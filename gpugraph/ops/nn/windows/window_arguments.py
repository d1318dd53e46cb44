"""Conversion of the arguments of public functions of convolution and pooling: sizes, strides and
data formats.

Users may pass these arguments in several forms. The functions here convert them to the form that
the ops require.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.graph.attr_values import text_of, whole_number
from gpugraph.graph.client.tensor import Tensor

_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def one_of(name: str, value: Any, older: str, old_value: Any) -> Any:
    """Return the value of an argument that has two names.

    Raises ValueError unless exactly one of the two names is used.
    """
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{name}' and '{older}'")
    if value is None and old_value is None:
        raise ValueError(f"Must specify '{name}'")
    return old_value if value is None else value


def whole_entries(value: Any, count: int, data_format: str, name: str) -> list[int]:
    """Return `value` as a list with one entry per dimension. There are `count` spatial entries, and
    an entry of 1 for the batch and for the channels.

    Raises ValueError if `value` has the wrong number of entries.

    Args:
      value: one number, one number for each spatial dimension, or one number for each dimension.
    """
    entries = [1] if value is None else np.ravel(np.asarray(value))
    flat = [whole_number(name, entry) for entry in entries]
    if len(flat) not in (1, count, count + 2):
        raise ValueError(
            f"{name} should be of length 1, {count} or {count + 2} but was {len(flat)}: {flat}"
        )
    if len(flat) == count + 2:
        return flat
    spatial = flat if len(flat) == count else flat * count
    is_last = text_of("data_format", data_format).endswith("C")
    return [1, *spatial, 1] if is_last else [1, 1, *spatial]


def volume_attrs(strides: Any, padding: str, data_format: str, dilations: Any) -> dict[str, Any]:
    """Return the attrs of a convolution of volumes. Strides and dilations may be in any form that
    `whole_entries` accepts.
    """
    return {
        "strides": whole_entries(strides, 3, data_format, "strides"),
        "padding": padding,
        "data_format": data_format,
        "dilations": whole_entries(dilations, 3, data_format, "dilations"),
    }


def spatial_entries(value: Any, count: int, name: str) -> list[int]:
    """Return `value` as a list of `count` ints. By default, all are 1.

    Raises ValueError if the list has the wrong length.
    """
    entries = [1] * count if value is None else [whole_number(name, entry) for entry in value]
    if len(entries) != count:
        raise ValueError(
            f"{name} must have {count} entries, one per dimension, but it is {value!r}"
        )
    return entries


def check_strides_and_rates(strides: list[int], rates: list[int]) -> None:
    """Raise ValueError if there are both a stride and a dilation rate above 1."""
    if max(strides) > 1 and max(rates) > 1:
        raise ValueError(
            f"strides > 1 not supported in conjunction with dilation_rate > 1: {strides}"
        )


def spatial_rank(source: Tensor) -> int:
    """Return the number of spatial dimensions. Raises ValueError unless the input's rank is 3, 4 or
    5.
    """
    rank = source.shape.rank
    if rank is None or not 3 <= rank <= 5:
        raise ValueError(f"The input must be of rank 3, 4 or 5, but its shape is {source.shape}")
    return rank - 2


def format_of_rank(data_format: str | None, count: int) -> str:
    """Return the data format for `count` spatial dimensions. By default, it has channels last.

    Raises ValueError if `data_format` is not a format for this number of dimensions.
    """
    if data_format not in (None, _LAST[count], _FIRST[count]):
        raise ValueError(
            f"data_format must be {_LAST[count]} or {_FIRST[count]}, but it is {data_format!r}"
        )
    return data_format or _LAST[count]


def image_format(data_format: str | None) -> str:
    """Return the data format of images, by default "NHWC". Raises ValueError if it is neither
    "NHWC" nor "NCHW".
    """
    layout = data_format or "NHWC"
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', but it is {data_format!r}")
    return layout


class SequenceFormat(NamedTuple):
    """The representation of sequences as images that are one pixel high. It consists of the axis of
    the height, and the data format.
    """

    axis: int
    data_format: str

    def entries(self, value: Any, name: str) -> list[int]:
        """Return `value`, which is one number or one number for each of three dimensions, as four
        entries for the images.
        """
        entries = whole_entries(value, 1, self.data_format, name)
        entries.insert(self.axis, 1)
        return entries


def sequence_format(data_format: str | None) -> SequenceFormat:
    """Return the `SequenceFormat` for a data format. Raises ValueError if the format is unknown."""
    if data_format in (None, "NHWC", "NWC"):
        return SequenceFormat(1, "NHWC")
    if data_format in ("NCHW", "NCW"):
        return SequenceFormat(2, "NCHW")
    raise ValueError(f'`data_format` must be "NWC" or "NCW". Received: {data_format!r}')
