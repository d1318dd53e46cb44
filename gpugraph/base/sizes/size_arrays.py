"""Arrays that hold sizes during a compilation. An element is an integer, or a `Size` if the size is
open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.sizes.size_functions import is_open
from gpugraph.base.sizes.size_traces import Size


def size_array(sizes: Any, numpy_type: Any) -> Any:
    """Return an array of one size or of a tuple of sizes. Its dtype is object if any size is open,
    else `numpy_type`.
    """
    items = sizes if isinstance(sizes, tuple) else (sizes,)
    array = np.array(items, object if is_open(items) else numpy_type)
    return array if items is sizes else array.reshape(())


def has_open_sizes(array: Any) -> bool:
    """Return whether any element of an array is a Size."""
    return array.dtype == object and any(type(item) is Size for item in array.flat)


def as_whole_numbers(array: Any, numpy_type: Any) -> Any:
    """Convert an array of dtype object to `numpy_type` unless it contains a Size. Return any other
    array unchanged.
    """
    return array if has_open_sizes(array) else array.astype(numpy_type)
