"""Views with open sizes, which replace NumPy arrays when native calls are bound.

The shapes, strides and addresses of these views are Sizes or ints. If a call is bound to such
views, the fields of its block are expressions of the open sizes (`open_calls`). A comparison of
sizes becomes a condition of the unit (`base/sizes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.sizes import range_bounds
from gpugraph.devices.codegen.program import NotNativeError


class Address(NamedTuple):
    """An address: a base and an `offset` in bytes.

    Args:
      base: the key of memory whose address becomes known together with the sizes, or 0 for an
        absolute address. All such memory begins at a multiple of 64 bytes.
    """

    base: Any
    offset: Any

    def __add__(self, other: Any) -> Address:
        return Address(self.base, self.offset + other)

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Address):
            return Address(self.base, self.offset - other)
        if other.base is not self.base:
            raise NotNativeError("a distance of separate memory")
        return self.offset - other.offset

    def __mod__(self, other: Any) -> Any:
        return self.offset % other


class _Data(NamedTuple):
    data: Address


class _Flags:
    """Flags of a view. They are computed only when they are read, because the computation may add a
    condition on sizes.
    """

    aligned = writeable = True

    def __init__(self, is_contiguous: Callable[[], bool]) -> None:
        self._is_contiguous = is_contiguous

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are in C order, without gaps."""
        return self._is_contiguous()


class OpenView:
    """A view of memory at an address, with the attributes of a NumPy array."""

    def __init__(
        self, start: Address, shape: Sequence[Any], strides: Sequence[Any], dtype: Any
    ) -> None:
        self.start = start
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.dtype = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize
        self.ndim = len(self.shape)

    @classmethod
    def whole(cls, start: Address, shape: Sequence[Any], dtype: Any) -> OpenView:
        """Return the view of a whole array in C order."""
        return cls(start, shape, c_strides(shape, np.dtype(dtype).itemsize), dtype)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> Any:
        """The size of all elements in bytes."""
        return self.size * self.itemsize

    @property
    def ctypes(self) -> _Data:
        """An object whose attribute `data` is the address."""
        return _Data(self.start)

    @property
    def flags(self) -> _Flags:
        """The array's flags, as far as the binding of a call reads them."""
        return _Flags(self._is_contiguous)

    @property
    def T(self) -> OpenView:
        """The view with its axes reversed."""
        return self.transpose()

    @property
    def real(self) -> OpenView:
        """The view of the real parts of complex numbers."""
        return self._part(0)

    @property
    def imag(self) -> OpenView:
        """The view of the imaginary parts of complex numbers."""
        return self._part(self.itemsize // 2)

    def transpose(self, *axes: Any) -> OpenView:
        """Return the view with another order of axes, by default the reverse order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = list(range(self.ndim))[::-1] if order is None or not len(order) else list(order)
        return self._with([self.shape[i] for i in order], [self.strides[i] for i in order])

    def swapaxes(self, one: int, other: int) -> OpenView:
        """Return the view with two axes exchanged."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(order)

    def reshape(self, *shape: Any) -> OpenView:
        """Return the view with a new shape. Raises NotNativeError if the view is not in C order."""
        sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        sizes = list(sizes)
        if not self._is_contiguous():
            raise NotNativeError("a reshape of an array that is not C-ordered")
        unknown = [i for i, size in enumerate(sizes) if type(size) is int and size == -1]
        if unknown:
            sizes[unknown[0]] = self.size // prod(sizes[: unknown[0]] + sizes[unknown[0] + 1 :])
        if not prod(sizes) == self.size:
            raise NotNativeError("a reshape to another number of elements")
        return self._with(sizes, c_strides(sizes, self.itemsize))

    def __getitem__(self, index: Any) -> OpenView:
        parts = list(index) if isinstance(index, tuple) else [index]
        given = sum(part is not None and part is not Ellipsis for part in parts)
        rest = [slice(None)] * (self.ndim - given)
        at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
        parts = [*parts, *rest] if at is None else [*parts[:at], *rest, *parts[at + 1 :]]
        start, shape, strides = self.start, [], []
        axes = iter(zip(self.shape, self.strides))
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            size, stride = next(axes)
            if isinstance(part, slice):
                first, count, step = range_bounds(part, size)
                start = start + first * stride
                shape.append(count)
                strides.append(stride * step)
            else:
                start = start + (part + size if part < 0 else part) * stride
        return OpenView(start, shape, strides, self.dtype)

    def shares(self, other: Any) -> bool:
        """Return whether another view or array may share memory with this view."""
        start = other.start if isinstance(other, OpenView) else Address(0, other.ctypes.data)
        if start.base is not self.start.base:
            return False
        return bool(start.base != 0 or start.offset == self.start.offset)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        known = _FUNCTIONS.get(function)
        if known is None:
            raise NotNativeError(f"{function.__name__} of an array with open sizes")
        return known(*args, **kwargs)

    def _part(self, offset: int) -> OpenView:
        if self.dtype.kind != "c":
            raise NotNativeError("a part of a number that is not complex")
        part = np.empty(0, self.dtype).real.dtype
        return OpenView(self.start + offset, self.shape, self.strides, part)

    def _with(self, shape: Sequence[Any], strides: Sequence[Any]) -> OpenView:
        return OpenView(self.start, shape, strides, self.dtype)

    def _is_contiguous(self) -> bool:
        if self.strides == c_strides(self.shape, self.itemsize):
            return True
        wanted = self.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1:
                if stride != wanted:
                    return False
                wanted = wanted * size
        return True


def c_strides(shape: Sequence[Any], item: int) -> tuple[Any, ...]:
    """Return the strides of an array in C order."""
    strides = [item]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides)) if shape else ()


def _broadcast_to(array: Any, shape: Sequence[Any]) -> Any:
    if not isinstance(array, OpenView):
        raise NotNativeError("a broadcast to an open shape")
    new = len(shape) - array.ndim
    strides: list[Any] = [0] * new
    for size, stride, wanted in zip(array.shape, array.strides, shape[new:]):
        strides.append(stride if size == wanted else 0)
    return array._with(shape, strides)


def _moveaxis(array: OpenView, source: Any, target: Any) -> OpenView:
    moved = [source] if isinstance(source, int) else list(source)
    to = [target] if isinstance(target, int) else list(target)
    moved, to = [axis % array.ndim for axis in moved], [axis % array.ndim for axis in to]
    order = [axis for axis in range(array.ndim) if axis not in moved]
    for position, axis in sorted(zip(to, moved)):
        order.insert(position, axis)
    return array.transpose(order)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.broadcast_to: _broadcast_to,
    np.moveaxis: _moveaxis,
    np.swapaxes: OpenView.swapaxes,
    np.transpose: OpenView.transpose,
    np.reshape: OpenView.reshape,
}
