"""Kernel arguments in CUDA's form: an array of pointers to the values."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class Parameters:
    """The arguments of a launch, which are valid as long as this object exists.

    Integers and addresses are stored in 64 bits, floats as doubles. `address` is the address of the
    array of pointers, which is the `kernelParams` of cuLaunchKernel. The values are adjacent in
    memory. So the last parameter of a kernel may also be a structure of several words, since a
    pointer to its first word is a pointer to the structure.

    Raises TypeError if an argument is neither an int nor a float, and OverflowError if an integer
    has more than 64 bits.
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
