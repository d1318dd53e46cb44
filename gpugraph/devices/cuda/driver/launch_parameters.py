"""A kernel's arguments as CUDA takes them: an array of pointers to values that stay in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class Parameters:
    """Arguments of one launch, for as long as this lives.

    Integers (addresses, too) are 64-bit ones, floats are doubles. `address` is that of the array of
    pointers, the `kernelParams` of cuLaunchKernel. Values lie side by side, so that a structure of
    several, a kernel's last parameter, is where its first one is. TypeError for an argument that is
    neither, OverflowError for an integer that has not 64 bits.
    """

    __slots__ = ("_pointers", "_values", "address")

    def __init__(self, arguments: Sequence[Any]) -> None:
        self._values = (ctypes.c_uint64 * max(1, len(arguments)))()
        base = ctypes.addressof(self._values)
        for index, argument in enumerate(arguments):
            _put(self._values, index, argument)
        places = [base + 8 * index for index in range(len(arguments))]
        self._pointers = (ctypes.c_void_p * max(1, len(arguments)))(*places)
        self.address = ctypes.addressof(self._pointers)


def _put(values: ctypes.Array[ctypes.c_uint64], index: int, argument: Any) -> None:
    if isinstance(argument, float):
        ctypes.c_double.from_buffer(values, 8 * index).value = argument
    elif hasattr(argument, "__index__"):
        number = argument.__index__()
        if not -(1 << 63) <= number < 1 << 64:
            raise OverflowError(f"argument {index} of a kernel, {number}, has not 64 bits")
        values[index] = number & 0xFFFFFFFFFFFFFFFF
    else:
        raise TypeError(
            f"argument {index} of a kernel is {argument!r}, a {type(argument).__name__}; kernels "
            "take int (also for addresses) and float"
        )
