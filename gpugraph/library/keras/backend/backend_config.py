"""Keras's defaults: the dtype of floats, a small number to add to divisors, the order of image
axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOATS = ("float16", "float32", "float64")
_DATA_FORMATS = ("channels_last", "channels_first")


class _Config:
    """The defaults in this process, as class attributes."""

    floatx = "float32"
    epsilon = 1e-7
    image_data_format = "channels_last"


def backend() -> str:
    """Return the name of Keras's backend: "tensorflow"."""
    return "tensorflow"


def floatx() -> str:
    """Return the name of the default dtype of floats. The dtype is "float32" unless `set_floatx`
    changes it.
    """
    return _Config.floatx


def set_floatx(value: str) -> None:
    """Set the default dtype: "float16", "float32" or "float64".

    Raises ValueError for any other dtype.
    """
    if value not in _FLOATS:
        raise ValueError(f"Unknown floatx type: {value}; it is one of {', '.join(_FLOATS)}")
    _Config.floatx = str(value)


def epsilon() -> float:
    """Return the small number that Keras adds to divisors and arguments of logarithms. The number
    is 1e-7 unless `set_epsilon` changes it.
    """
    return _Config.epsilon


def set_epsilon(value: float) -> None:
    """Set the number that `epsilon()` returns."""
    _Config.epsilon = value


def image_data_format() -> str:
    """Return the default order of an image's axes: "channels_last" or "channels_first"."""
    return _Config.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the default order of an image's axes. Raises ValueError for an unknown order."""
    if data_format not in _DATA_FORMATS:
        raise ValueError(
            f"Unknown data_format: {data_format}; it is one of {', '.join(_DATA_FORMATS)}"
        )
    _Config.image_data_format = str(data_format)


def cast_to_floatx(x: Any) -> Any:
    """Return `x` as a NumPy array of the dtype `floatx()`.

    Raises ValueError for an int that is too large for a float.
    """
    try:
        return np.asarray(x, dtype=_Config.floatx)
    except OverflowError as error:
        raise ValueError(f"{error} of dtype {_Config.floatx}") from None
