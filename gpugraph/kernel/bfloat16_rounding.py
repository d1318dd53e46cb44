"""Execution of float32 kernels on bfloat16. Inputs are widened to float32, and results are rounded
to the nearest value (ties to even).

Only kernels that move elements handle bfloat16 themselves. For any other kernel, bfloat16 inputs
are converted to float32, which is exact. The kernel runs on float32, and its outputs are rounded.
So a sum or a product accumulates in float32, and a formula of many operations is rounded only once,
at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import BFLOAT16, is_bfloat16
from gpugraph.base.dtypes import DType, bfloat16, float32

Run = Callable[[], Any]
Bind = Callable[[Any, Sequence[Any]], Run]


def has_bfloat16(context: Any) -> bool:
    """Return whether the op of a `KernelContext` has an input or an output of bfloat16."""
    for dtype in (*context.input_types, *context.output_types):
        if dtype.base_dtype is bfloat16:
            return True
    return False


def bind_widened(
    bind: Bind, context: Any, arrays: Sequence[Any], writes: Sequence[int], dynamic: bool
) -> Run:
    """Bind a kernel to float32 arrays in place of bfloat16 arrays. Return the callable that each
    run calls.

    Arrays with the same memory are replaced by one float32 array, so that an output that overwrites
    an input still does so.

    Args:
      bind: a function that binds the kernel to a context and arrays.
      context: the `KernelContext`.
      arrays: the inputs, then the outputs.
      writes: the indices of inputs that the kernel writes.
      dynamic: whether the kernel returns its outputs. In this case, the outputs are not among the
        arrays.
    """
    wide = _Widened(context)
    widened = [wide.array(array) for array in arrays]
    num_inputs = len(arrays) - (0 if dynamic else len(context.output_types))
    read, written = [], []
    for index, (array, wide_array) in enumerate(zip(arrays, widened)):
        if array is not wide_array:
            if index < num_inputs:
                read.append((wide_array, array))
            # skip read-only views of constants
            if (index >= num_inputs or index in writes) and array.flags.writeable:
                written.append((array, wide_array))
    run = bind(wide, widened)

    def widen_and_run() -> Any:
        for target, source in read:
            np.copyto(target, source)
        returned = run()
        for target, source in written:
            np.copyto(target, source, casting="unsafe")
        return _as_declared(returned, context.output_types) if dynamic else None

    return widen_and_run


def _as_declared(arrays: Sequence[Any], types: Sequence[DType]) -> list[Any]:
    """Return the arrays that a kernel has returned, rounded to bfloat16 if this is their declared
    dtype.
    """
    return [
        np.asarray(array).astype(BFLOAT16) if dtype.base_dtype is bfloat16 else array
        for array, dtype in zip(arrays, types)
    ]


def _type(dtype: DType) -> DType:
    """Return float32 for bfloat16 and for references to bfloat16. Return any other dtype
    unchanged.
    """
    return float32 if dtype.base_dtype is bfloat16 else dtype


def _attr(value: Any) -> Any:
    if type(value) is DType:
        return _type(value)
    if isinstance(value, list):
        return [_attr(element) for element in value]
    return value


class _Widened:
    """A `KernelContext` in which dtypes and arrays of bfloat16 are replaced by float32."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._wide: dict[Any, Any] = {}
        self.attrs: Mapping[str, Any] = {key: _attr(value) for key, value in context.attrs.items()}
        self.input_types = [_type(dtype) for dtype in context.input_types]
        self.output_types = [_type(dtype) for dtype in context.output_types]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def array(self, array: Any) -> Any:
        """Return the float32 array that replaces a bfloat16 array. Return any other array
        unchanged.
        """
        if not is_bfloat16(array.dtype):
            return array
        key = array.ctypes.data, array.shape, array.strides
        if key not in self._wide:
            self._wide[key] = self._context.passing(len(self._wide), array.shape, float32)
        return self._wide[key]

    def value(self, index: int) -> Any:
        """Return the value of host input `index`, converted to float32 if it is bfloat16."""
        array = self._context.value(index)
        return array.astype(np.float32) if is_bfloat16(array.dtype) else array
