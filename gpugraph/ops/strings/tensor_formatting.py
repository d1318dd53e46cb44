"""The formatting of tensors as text for StringFormat. Rows are in brackets, and long axes are
shortened in the middle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.ops.debugging.assert_kernel import element_text


def formatted(array: Any, summarize: int) -> str:
    """Return the text of `array`.

    An axis is written in brackets, with spaces between its elements. Subarrays with k axes are
    separated by k new lines. Strings are quoted, and bools are written as 0 and 1. Bytes that are
    not valid UTF-8 become lone surrogates, as Python's error handler "surrogateescape" defines.

    Args:
      summarize: the number of elements that are written at both ends of each axis. A negative
        number means all.
    """
    values = np.asarray(array)
    size = int(values.size)
    limit = size if summarize < 0 else min(summarize, size)
    if values.dtype.kind == "b" and not limit:
        return ""  # TensorFlow writes no brackets here
    if values.ndim == 0:
        return _one(values[()]) if limit else "..."
    return _axis(values, limit, 1, values.ndim)


def _axis(values: Any, limit: int, depth: int, rank: int) -> str:
    gap = " " if depth == rank else "\n" * (rank - depth) + " " * depth
    count = len(values)
    parts = [_part(value, limit, depth, rank) for value in values[:limit]]
    if count > 2 * limit:
        parts.append("...")
    parts += [_part(value, limit, depth, rank) for value in values[max(limit, count - limit) :]]
    inner = gap.join(parts) if limit or not parts else gap + "..."
    return f"[{inner}]"


def _part(value: Any, limit: int, depth: int, rank: int) -> str:
    return _one(value) if depth == rank else _axis(value, limit, depth + 1, rank)


def _one(value: Any) -> str:
    if isinstance(value, bytes):
        return f'"{element_text(value, "surrogateescape")}"'
    if isinstance(value, np.complexfloating):
        return f"({_float(value.real)},{_float(value.imag)})"
    return element_text(value)


def _float(value: Any) -> str:
    return element_text(value) if math.isfinite(value) else str(value)
