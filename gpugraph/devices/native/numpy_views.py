"""Checks of NumPy views before native code uses their memory, and descriptions of views for
messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.sizes import has_several, hint_of_shape
from gpugraph.devices.native.open_calls import open_addresses
from gpugraph.devices.native.open_views import OpenView, c_strides

_MOST_WORK: Any = 10_000
"""NumPy's exact overlap check stops after this number of candidate solutions: a few
microseconds.
"""


def show(array: Any) -> str:
    """Return the dtype, shape and strides of a view, for messages."""
    return f"{array.dtype}{list(array.shape)} with strides {list(array.strides)}"


def overlap(a: Any, b: Any) -> bool:
    """Return whether two views share memory. If the check takes too much work, return True."""
    if isinstance(a, OpenView) or isinstance(b, OpenView):
        return a.shares(b) if isinstance(a, OpenView) else bool(b.shares(a))
    try:
        return bool(np.shares_memory(a, b, _MOST_WORK))
    except np.exceptions.TooHardError:
        return True


def are_apart(sizes: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """Return whether different indices of a view always refer to different memory. If this is
    unknown, because the axes are not nested, return False.
    """
    if tuple(strides) == c_strides(sizes, item) or 0 in sizes:
        return True
    extent = item
    axes = [(abs(stride), size) for stride, size in zip(strides, sizes)]
    for stride, size in sorted(axes, key=hint_of_shape):  # needs no condition on open sizes
        if has_several(size):
            if stride < extent:
                return False
            extent += (size - 1) * stride
    return True


def addresses(array: Any, axes: int) -> Any:
    """Return an array with the address of the element at each index of the first `axes` axes, in C
    order.
    """
    if isinstance(array, OpenView):
        return open_addresses(array, axes)
    starts = np.full((1,), array.ctypes.data, np.uintp)
    for size, stride in zip(array.shape[:axes], array.strides[:axes]):
        steps = (np.arange(size) * stride).astype(np.uintp)
        starts = (starts[:, None] + steps).reshape(-1)
    return starts
