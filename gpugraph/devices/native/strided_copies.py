"""Strided copies: native calls that copy a number, or a broadcast NumPy view, to a NumPy view.

    sorted     axes by the target's strides, reversed where such a stride is negative
    collapsed  adjacent axes that form a single axis in both arrays are merged
    a plane    two axes that C loops over (copies of rows, repeats, tiles of a transpose), and
               the axes outside of it

These calls can be members of a `sequence`. The kind of copy is chosen when a call is bound.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import hint, is_open
from gpugraph.config.environment import thread_count
from gpugraph.devices.codegen.program import NotNativeError
from gpugraph.devices.native.native_runtime import (
    RUNTIME,
    Call,
    Runtime,
    address_of,
    call_of,
    internal_error,
)
from gpugraph.devices.native.numpy_views import are_apart, overlap, show
from gpugraph.devices.native.open_calls import OpenCall
from gpugraph.devices.native.open_views import Address, OpenView

MOST_AXES = 8
"""The maximum number of axes after collapsing: two of the plane, and `GG_OUTSIDE` (of
host_strided_copy.c) around it.
"""

RELEASE_BYTES = 524_288
"""The minimum number of bytes for which the GIL is released."""

_SHORT = 4
"""If the last axis is shorter than this, a longer axis becomes the inner loop."""

_GROUP_BYTES = 16
"""The maximum size of columns, contiguous in both arrays, that are copied as groups of bytes."""

_COPY, _FILL, _TRANSPOSE, _STRIDED, _GROUPS = range(5)
_SIZES = (1, 2, 4, 8, 16)
_KEPT = object()
"""The base of the memory that holds a call's constant number."""


class CopyAxis(NamedTuple):
    """An axis of a copy: its size, and its strides in bytes in the source and in the target."""

    size: int
    source: int
    target: int


class _Move(ctypes.Structure):
    """The C structure `gg_move` of host_strided_copy.c."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("threads", "parts", "each", "count")),
        *((name, ctypes.c_int64) for name in ("item", "kind", "rows", "columns")),
        *((name, ctypes.c_int64) for name in ("rows_each", "columns_each")),
        *((name, ctypes.c_int64) for name in ("from_row", "from_column", "to_row", "to_column")),
        ("outside", ctypes.c_int64),
        *((name, ctypes.c_int64 * (MOST_AXES - 2)) for name in ("sizes", "from", "to")),
        ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p),
    )


def move(source: Any, target: Any) -> Call:
    """Return a call that copies `source` to the array `target`.

    If `source` and `target` are the same view, the call does nothing.

    Raises NotNativeError if the copy is not supported: because of the element size, elements that
    are objects, overlapping memory, or more than 8 axes after collapsing. Raises InternalError if
    the dtypes or shapes don't match, if the target is read-only, or if there is no compiler.

    Args:
      source: a number, or an array with the dtype of `target` that can be broadcast to its shape.
        The array is read in each call. Elements have 1, 2, 4, 8 or 16 bytes, and strides are
        arbitrary.
      target: an array with arbitrary strides. No two of its elements may share memory.
    """
    runtime = RUNTIME.get(True)
    if runtime is None:
        raise internal_error(RUNTIME.reason)
    array = _as_array(source, target)
    _check(array, target)
    if isinstance(target, OpenView) or isinstance(array, OpenView):
        return _open_move(runtime, array, target)
    if _is_same(array, target) or not target.size:
        block = _Move(address_of(runtime.library.gg_moved))
        return runtime.call(block, (array, target), False)
    if overlap(array, target):
        raise NotNativeError(f"A move of {show(array)} to {show(target)}, which overlaps it")
    axes, start, to = axes_of(array, target)
    return _bind(runtime, axes, (start, to), (array, target))


def contiguous_copy(view: Any, empty: Callable[..., Any] = np.empty) -> Any:
    """Return a C-ordered copy of an array. If possible, native code makes the copy.

    Args:
      empty: a function that returns a new array of the given shape and dtype.
    """
    target = empty(view.shape, view.dtype)
    runtime = RUNTIME.get(False)
    if runtime is None or view.size < _LARGE_COPY:
        target[...] = view
        return target
    key = view.shape, view.strides, view.dtype
    known = _LAST.calls.get(key)
    if known is None:
        try:
            known = _copy_call(runtime, view, target)
        except NotNativeError:
            target[...] = view
            return target
        if len(_LAST.calls) >= _MOST_CALLS:
            _LAST.calls.clear()
        _LAST.calls[key] = known
    call, block, start = known
    block.source = view.__array_interface__["data"][0] + start
    block.target = target.__array_interface__["data"][0]
    call()
    return target


_CopyCall = tuple[Call, Any, int]
"""A call, its block, and the offset of the first element that is copied."""


def _copy_call(runtime: Runtime, view: Any, target: Any) -> _CopyCall:
    """Return a call that copies arrays with the shape, strides and dtype of `view`. The call keeps
    no array alive.
    """
    _check(view, target)
    axes, start, to = axes_of(view, target)
    call = _bind(runtime, axes, (start, to), (None, np.empty(0, view.dtype)))
    return call, call_of(call)[2], start - view.__array_interface__["data"][0]


class _LastCalls(threading.local):
    """The latest calls of a thread, by the shape, strides and dtype of the array."""

    def __init__(self) -> None:
        self.calls: dict[Any, _CopyCall] = {}


_LAST, _MOST_CALLS = _LastCalls(), 64

_LARGE_COPY = 4096
"""The number of elements from which on a native copy takes less time than one by NumPy."""


def _as_array(source: Any, target: Any) -> Any:
    """Return the source as an array. If the source is a Python number, the array has the target's
    dtype.
    """
    if isinstance(source, (np.ndarray, OpenView)):
        return source
    if isinstance(source, np.generic):
        return np.asarray(source)
    try:
        return np.array(source, target.dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise internal_error(f"{source!r} is no {target.dtype}: {error}") from None


def _check(source: Any, target: Any) -> None:
    """Raise the errors of `move` that do not concern overlap or the number of axes."""
    if source.dtype != target.dtype:
        raise internal_error(f"No move of {show(source)} to {show(target)}: their dtypes differ")
    if not _broadcasts(source.shape, target.shape):  # the NumPy kernel raises the user's error
        raise NotNativeError(f"shapes that do not fit: {show(source)} and {show(target)}")
    if not target.flags.writeable:
        raise internal_error("A move can't write to a read-only array")
    if target.dtype.hasobject or target.itemsize not in _SIZES:
        raise NotNativeError(f"A move of {target.dtype}, with {target.itemsize} bytes an element")
    if not (source.flags.aligned and target.flags.aligned):
        raise NotNativeError(f"A move of {show(source)} that is not aligned in memory")
    if not are_apart(target.shape, target.strides, target.itemsize):
        raise NotNativeError(f"A move to {show(target)}, whose elements may share memory")


def _is_same(a: Any, b: Any) -> bool:
    views = [(x.ctypes.data, x.shape, x.strides) for x in (a, b)]
    return bool(views[0] == views[1])


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    ends = zip(reversed(shape), reversed(to))
    return len(shape) <= len(to) and all(size in (1, wanted) for size, wanted in ends)


def axes_of(source: Any, target: Any) -> tuple[list[CopyAxis], int, int]:
    """Return the axes of a copy, and the start addresses of the source and the target.

    The source is broadcast to the target. The number of axes is as small as possible, and the axis
    with the target's smallest stride is last.
    """
    axes, start, to = _sort_axes(np.broadcast_to(source, target.shape), target)
    return _collapse(axes), start, to


def _sort_axes(source: Any, target: Any) -> tuple[list[CopyAxis], int, int]:
    """Return the axes with more than one element, sorted by descending stride in the target, and
    the start addresses of the two arrays. An axis with a negative stride in the target is reversed.
    """
    start, to = source.ctypes.data, target.ctypes.data
    axes = []
    for size, step, to_step in zip(target.shape, source.strides, target.strides):
        if size == 1:
            continue
        if to_step < 0:
            start, to = start + (size - 1) * step, to + (size - 1) * to_step
            step, to_step = -step, -to_step
        axes.append(CopyAxis(size, step, to_step))
    return sorted(axes, key=lambda axis: -axis.target), start, to


def _collapse(axes: list[CopyAxis]) -> list[CopyAxis]:
    """Merge adjacent axes that are contiguous in both arrays into single axes."""
    collapsed: list[CopyAxis] = []
    for axis in axes:
        if collapsed and all(collapsed[-1][i] == axis.size * axis[i] for i in (1, 2)):
            axis = axis._replace(size=axis.size * collapsed.pop().size)
        collapsed.append(axis)
    return collapsed


def _bind(
    runtime: Runtime, axes: list[CopyAxis], starts: tuple[int, int], arrays: tuple[Any, Any]
) -> Call:
    """Return the call for collapsed axes.

    Args:
      starts: the addresses of the source and the target.
      arrays: the objects that own the memory.
    """
    item = arrays[1].itemsize
    total = item * prod(axis.size for axis in axes)
    fields = _fields(axes, item, starts)
    block = _Move(address_of(runtime.library.gg_moved))
    for name, value in fields.items():
        name, _, index = name.partition(":")
        if index:
            getattr(block, name)[int(index)] = value
        else:
            setattr(block, name, value)
    block.threads = thread_count()
    runtime.cut("move", block)
    return runtime.call(block, arrays, total >= RELEASE_BYTES)


def _fields(axes: list[CopyAxis], item: int, starts: tuple[Any, Any]) -> dict[str, Any]:
    """Return the fields of a copy's block. The name of an element of an array field is
    `name:index`.
    """
    axes, item = _widen(axes, item, starts)
    if len(axes) > MOST_AXES:
        raise NotNativeError(f"A move over {len(axes)} axes; up to {MOST_AXES} are native")
    kind, row, column, outside = _plane(axes, item)
    fields = {"item": item, "kind": kind, "outside": len(outside)}
    fields |= dict(zip(("rows", "from_row", "to_row"), row))
    fields |= dict(zip(("columns", "from_column", "to_column"), column))
    for index, axis in enumerate(outside):
        fields |= dict(zip((f"sizes:{index}", f"from:{index}", f"to:{index}"), axis))
    return fields | {"source": starts[0], "target": starts[1]}


def _open_move(runtime: Runtime, source: Any, target: Any) -> OpenCall:
    """Return the call of a copy with open sizes."""
    if not isinstance(source, OpenView):  # a number, which the call keeps
        source = OpenView(Address(_KEPT, 0), source.shape, source.strides, source.dtype)
    if _is_same(source, target):
        return OpenCall()
    if overlap(source, target) or not target.size:
        raise NotNativeError("a move within the same memory, or of nothing")
    axes, start, to = axes_of(source, target)
    fields = _fields(axes, target.itemsize, (start, to))
    if source.start.base is _KEPT:
        del fields["source"]
    return OpenCall(fields, cut=address_of(runtime.library.gg_cut_move), replaces=True)


def _widen(axes: list[CopyAxis], item: int, starts: tuple[int, int]) -> tuple[list[CopyAxis], int]:
    """If the last axis is short and contiguous in both arrays, merge its elements into one longer
    element. Return the axes and the element size. An axis of open size is never merged.
    """
    if axes and not is_open((axes[-1].size,)) and axes[-1].source == axes[-1].target == item:
        wide = item * axes[-1].size
        steps = [step for axis in axes[:-1] for step in axis[1:]]
        if wide in _SIZES and not any(offset % min(wide, 8) for offset in (*steps, *starts)):
            return axes[:-1], wide
    return axes, item


def _plane(axes: list[CopyAxis], item: int) -> tuple[int, CopyAxis, CopyAxis, list[CopyAxis]]:
    """Return the kind of copy, the row axis and the column axis of its plane, and the axes outside
    of the plane.
    """
    outside = list(axes)
    column = outside.pop() if outside else CopyAxis(1, item, item)
    kind, inner = _STRIDED, len(outside) - 1
    if column.target == item:
        if column.source == item:
            kind = _COPY
        elif column.source == 0:
            kind = _FILL
        elif contiguous := [index for index, axis in enumerate(outside) if axis.source == item]:
            kind, inner = _TRANSPOSE, contiguous[-1]
    row = outside.pop(inner) if outside else CopyAxis(1, 0, 0)
    is_known = not is_open((row.size, column.size))
    if kind == _COPY and is_known and row.size >= 2 * _SHORT and column.size * item <= _GROUP_BYTES:
        return _GROUPS, row, column, outside
    longest = max([row, *outside], key=lambda axis: tuple(map(hint, axis)))
    across, down = hint(column.size), hint(row.size)
    if hint(longest.size) >= 2 * _SHORT and (across < _SHORT or across * down < _SHORT * _SHORT):
        return _STRIDED, column, longest, [a for a in (*outside, row) if a is not longest]
    return kind, row, column, outside
