"""Conversion of arrays to the layout that C functions of single ops (`CSource`) require.

    the op's array --widen--> float32 --move--> axes in order -- function --move--> --narrow-->

The functions support float32 and float64, and images with the channels last. Arrays of float16 and
bfloat16 are widened, and images with channels first are transposed. The results are in scratch
memory of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.bfloat16 import is_bfloat16
from gpugraph.devices.native import move
from gpugraph.kernel import CSource, NewArray, Signature

HALF_FILE = "host_half.h"
"""The C file of the conversions, which the files of functions include."""


class FunctionArrays(NamedTuple):
    """The arrays of a C function, and the conversions before and after the function.

    Args:
      before, after: the conversions, as functions that receive the compiled file and return a call.
    """

    arrays: list[Any]
    before: list[Callable[[Any], Callable[[], int]]]
    after: list[Callable[[Any], Callable[[], int]]]

    def calls(self, code: Any, calls: Sequence[Callable[[], int]]) -> list[Callable[[], int]]:
        """Return the conversions before the calls, `calls`, and the conversions after them."""
        before = [bind(code) for bind in self.before]
        return [*before, *calls, *(bind(code) for bind in self.after)]


def is_half(dtype: Any) -> bool:
    """Return whether a NumPy dtype is float16 or bfloat16."""
    return dtype == np.float16 or is_bfloat16(dtype)


def function_dtype(arrays: Sequence[Any]) -> str:
    """Return the name of the dtype for which the function is compiled."""
    return "float32" if is_half(arrays[0].dtype) else str(arrays[0].dtype)


def function_arrays(
    native: CSource, signature: Signature, arrays: Sequence[Any], new_array: NewArray
) -> FunctionArrays:
    """Return the arrays that the function receives.

    Args:
      arrays: the op's inputs, followed by its output.
    """
    turned = native.turned(signature)
    output = len(arrays) - 1
    result = float_arrays(arrays, new_array)
    for slot, operand in enumerate(result.arrays):
        if slot in turned:
            axes, number = turned[slot], 2 * slot + 1
            result.arrays[slot] = _turn(result, operand, axes, new_array, number, slot == output)
    return result


def float_arrays(arrays: Sequence[Any], new_array: NewArray) -> FunctionArrays:
    """Return the arrays, with float32 scratch arrays in place of float16 and bfloat16.

    Args:
      arrays: the op's inputs, followed by its output.
    """
    output = len(arrays) - 1
    result = FunctionArrays([], [], [])
    for slot, array in enumerate(arrays):
        operand = array
        if is_half(array.dtype):
            operand = new_array(2 * slot, array.shape, np.dtype(np.float32))
            _convert(result, array, operand, slot == output)
        result.arrays.append(operand)
    return result


def _convert(result: FunctionArrays, array: Any, operand: Any, is_output: bool) -> None:
    numbers = [array.size, int(is_bfloat16(array.dtype))]
    if is_output:
        result.after.insert(
            0, lambda code: code.bind("gg_narrow", numbers, [operand, array], dtype="float32")
        )
    else:
        result.before.append(
            lambda code: code.bind("gg_widen", numbers, [array, operand], dtype="float32")
        )


def _turn(
    result: FunctionArrays,
    array: Any,
    axes: tuple[int, ...],
    new_array: NewArray,
    number: int,
    is_output: bool,
) -> Any:
    """Return an array in scratch memory that has the axes of `array` in the order `axes`. Add to
    `result` the copy from `array` to the scratch array or, if `is_output`, the copy back.
    """
    view = array.transpose(axes)
    operand = new_array(number, view.shape, array.dtype)
    if is_output:
        result.after.insert(0, lambda _: move(operand, view))
    else:
        result.before.append(lambda _: move(view, operand))
    return operand


def span_of(array: Any) -> tuple[int, int]:
    """Return the address and size of an array. An array that a step writes overlaps another array
    of the step only if both values are equal.
    """
    return array.ctypes.data, array.nbytes


def in_place_of(array: Any, memory: Any) -> Any:
    """Return `memory` as an array with the dtype and shape of `array`. If `memory` is None, return
    `array`.
    """
    if memory is None:
        return array
    return memory.reshape(-1).view(array.dtype).reshape(array.shape)
