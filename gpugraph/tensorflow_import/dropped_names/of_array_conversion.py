"""`int(array)` and `float(array)` for an array of one element, which NumPy 2.4 has dropped.

Python calls these conversions through two pointers in the C structure of the type `numpy.ndarray`.
This module replaces them by pointers from a Python class. The new pointers call the methods in the
type's dict, and this module sets these methods.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import FunctionType
from typing import Any

_NUMBER_METHODS = 12
"""The index of `tp_as_number` among the pointers of a type object."""

_SLOTS = {"__int__": 16, "__float__": 18}
"""The indices of the conversions among the pointers of `PyNumberMethods`."""


class _Convertible:
    """A class with both conversions, from which the new pointers are taken."""

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0


class _NotConvertible:
    """A class whose instances cannot be converted to numbers, for checking the indices of type
    slots.
    """


def _slots_of(owner: type) -> Any:
    """Return the pointers of a type's `PyNumberMethods`."""
    pointers = ctypes.POINTER(ctypes.c_void_p)
    methods = ctypes.cast(id(owner), pointers)[_NUMBER_METHODS]
    return ctypes.cast(methods, pointers)


def _are_indices_valid() -> bool:
    """Return whether the indices are correct for this version of Python."""
    if object.__basicsize__ != 2 * ctypes.sizeof(ctypes.c_void_p):
        return False
    present, absent = _slots_of(_Convertible), _slots_of(_NotConvertible)
    return all(present[index] and not absent[index] for index in _SLOTS.values())


def _conversion(kind: Callable[[Any], Any], earlier: Any, say: Callable[[str], None]) -> Any:
    """Return a method that converts arrays of one element, and calls `earlier` for other arrays."""

    def convert(array: Any) -> Any:
        if array.ndim and array.size == 1:
            say(f"{kind.__name__}(array of shape {array.shape})")
            return kind(array.item())
        return earlier(array)

    return convert


def convert_arrays_of_one_element(
    numpy: Any, set_attribute: Callable[[type, str, Any], None], say: Callable[[str], None]
) -> None:
    """If NumPy refuses to convert arrays of one element with `int` and `float`, make these
    conversions possible.

    Args:
      set_attribute: a function that sets an attribute of a built-in class.
      say: a function that reports a dropped name.
    """
    if isinstance(numpy.ndarray.__float__, FunctionType):  # done before
        return
    try:
        float(numpy.ones(1))
    except TypeError:
        if not _are_indices_valid():
            return
    else:
        return
    source = _slots_of(_Convertible)
    for name, kind in (("__int__", int), ("__float__", float)):
        method = _conversion(kind, getattr(numpy.ndarray, name), say)
        set_attribute(numpy.ndarray, name, method)
        for owner in (numpy.ndarray, numpy.matrix, numpy.memmap, numpy.recarray):
            _slots_of(owner)[_SLOTS[name]] = source[_SLOTS[name]]
