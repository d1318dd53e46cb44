"""Products of two tensors whose axes are named by letters, computed as matrix products of views.

An axis in both inputs and in the output is a batch axis. An axis in both inputs but not in the
output is summed over. All other axes are rows or columns. Axes that are adjacent in all tensors
that contain them are merged into one axis. If several row or column axes remain, all but one of
them become batch axes over which the other operand is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

ELLIPSIS = "."
"""The label of all axes that have no letter."""

_UNNAMED = 0xE000
"""The number of the character that labels the last axis of an ellipsis."""


def matrices_of(inputs: Sequence[str], output: str, *arrays: Any) -> list[tuple[Any, Any, Any]]:
    """Return views (a, b, out) of the arrays, such that storing a @ b in out computes the product.

    Raises NotImplementedError, with the reason, if the sums are not matrix products of views.

    Args:
      inputs: the labels of the inputs' axes.
      output: the labels of the output's axes.
      arrays: two inputs, and the output.
    """
    if len(inputs) != 2:
        raise NotImplementedError(f"it has {len(inputs)} inputs")
    labels = _spelled_out([*inputs, output], arrays)
    first, second, result = labels
    if any(len(set(axes)) != len(axes) for axes in labels):
        raise NotImplementedError("an input has a label twice")
    if set(first) - set(second + result) or set(second) - set(first + result):
        raise NotImplementedError("an axis of one input is summed over")
    sizes = _sizes(labels, arrays)
    views = list(arrays)
    labels, views, sizes = _merged(labels, views, sizes)
    if labels[2] and labels[2][-1] in labels[0]:
        labels, views = [labels[1], labels[0], labels[2]], [views[1], views[0], views[2]]
    return [_matrices(labels, views, sizes)]


def _spelled_out(labels: Sequence[str], arrays: Sequence[Any]) -> list[str]:
    """Replace each ellipsis by one character for each of its axes, counted from the last axis.
    Return the new labels.
    """
    result = []
    for axes, array in zip(labels, arrays, strict=True):
        unnamed = array.ndim - len(axes.replace(ELLIPSIS, ""))
        letters = "".join(chr(_UNNAMED + index) for index in reversed(range(unnamed)))
        result.append(axes.replace(ELLIPSIS, letters))
    return result


def _sizes(labels: Sequence[str], arrays: Sequence[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for axes, array in zip(labels, arrays, strict=True):
        for label, size in zip(axes, array.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise NotImplementedError("an axis is broadcast")
    return sizes


def _merged(
    labels: Sequence[str], views: Sequence[Any], sizes: Mapping[str, int]
) -> tuple[list[str], list[Any], dict[str, int]]:
    """Merge axes that are adjacent in all tensors that contain them. Return the new labels, arrays
    and sizes.
    """
    labels, known = list(labels), dict(sizes)
    while pair := next(filter(None, (_inseparable(axes, labels) for axes in labels)), ""):
        labels = [axes.replace(pair, pair[1]) for axes in labels]
        known[pair[1]] *= known.pop(pair[0])
    shaped = [
        view.reshape([known[label] for label in axes])
        for axes, view in zip(labels, views, strict=True)
    ]
    return labels, shaped, known


def _inseparable(axes: str, labels: Sequence[str]) -> str:
    """Return two labels of `axes` that are neighbours wherever one of them occurs, or "" if there
    are none.
    """
    for first, second in pairwise(axes):
        if all(first + second in other for other in labels if first in other or second in other):
            return first + second
    return ""


def _matrices(labels: Sequence[str], views: Sequence[Any], sizes: Mapping[str, int]) -> Any:
    """Return views as operands of a matrix product, with the batch axes first. The last two axes
    are two of the following: the rows, the columns, and the axis that is summed over.
    """
    first, second, result = labels
    summed = [label for label in first if label not in result]
    columns = [label for label in result if label not in first]
    rows = [label for label in result if label not in second]
    if len(summed) > 1 or not columns or columns[-1] != result[-1]:
        raise NotImplementedError("the sums are over axes that are apart, or have no columns")
    last = [rows[-1] if rows else "", columns[-1], summed[0] if summed else ""]
    leading = [label for label in result if label not in last]
    shape = [sizes[label] for label in leading]
    return (
        _view(views[0], first, leading, shape, last[0], last[2]),
        _view(views[1], second, leading, shape, last[2], last[1]),
        _view(views[2], result, leading, shape, last[0], last[1]),
    )


def _view(
    array: Any, labels: str, leading: Sequence[str], shape: Sequence[int], row: str, column: str
) -> Any:
    """Return a view of the array with the batch axes first, then rows and columns. If the array
    lacks a batch axis, it is repeated along this axis. If it lacks the rows or columns, the view
    has an axis of size 1.
    """
    order = [labels.index(label) for label in (*leading, row, column) if label and label in labels]
    has_axis = [bool(label) and label in labels for label in (*leading, row, column)]
    view = array.transpose(order)[tuple(slice(None) if has else None for has in has_axis)]
    whole = (*shape, *view.shape[-2:])
    return view if view.shape == whole else np.broadcast_to(view, whole)
