"""Kernels of float32 on bfloat16: inputs are widened, results rounded once, to the nearest even.

A kernel that computes knows nothing of bfloat16. Its inputs of it become float32, which loses
nothing; it runs on those, and what it wrote is rounded. So a sum or a product is added up in
float32, and a formula of many operations is rounded at its end only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.bfloat16 import BFLOAT16
from gpugraph.base.dtypes import DType, bfloat16, float32

Run = Callable[[], Any]
Bind = Callable[[Any, Sequence[Any]], Run]


def has_bfloat16(context: Any) -> bool:
    """Whether the op of a `KernelContext` has an input or an output of bfloat16."""
    types = (*context.input_types, *context.output_types)
    return any(dtype.base_dtype is bfloat16 for dtype in types)


def bind_widened(
    bind: Bind, context: Any, arrays: Sequence[Any], writes: Sequence[int], dynamic: bool
) -> Run:
    """What runs the kernel that `bind` binds, on float32 in the place of bfloat16.

    context: the `KernelContext`. writes: which inputs the kernel writes, beside its outputs, the
    last of `arrays`. dynamic: it returns its outputs. Arrays in one place get one array of float32,
    so that a kernel finds an output in the memory of an input there, too.
    """
    wide = _Widened(context)
    replaced = [wide.array(each) for each in arrays]
    count = len(arrays) - (0 if dynamic else len(context.output_types))
    pairs = [
        (at, each, other)
        for at, (each, other) in enumerate(zip(arrays, replaced))
        if each is not other
    ]
    read = [(other, each) for at, each, other in pairs if at < count]
    written = [
        (each, other)
        for at, each, other in pairs
        if (at >= count or at in writes) and each.flags.writeable  # a view of a constant is not
    ]
    run = bind(wide, replaced)

    def widen_and_run() -> Any:
        for target, source in read:
            np.copyto(target, source)
        returned = run()
        for target, source in written:
            np.copyto(target, source, casting="unsafe")
        return _as_declared(returned, context.output_types) if dynamic else None

    return widen_and_run


def _is_narrow(array: Any) -> bool:
    return BFLOAT16 is not None and array.dtype == BFLOAT16


def _as_declared(arrays: Sequence[Any], types: Sequence[DType]) -> list[Any]:
    """What a kernel returned, rounded where it is to be bfloat16."""
    return [
        np.asarray(array).astype(BFLOAT16) if dtype.base_dtype is bfloat16 else array
        for array, dtype in zip(arrays, types)
    ]


def _type(dtype: DType) -> DType:
    """The dtype that stands for one; references are none here: kernels write arrays."""
    return float32 if dtype.base_dtype is bfloat16 else dtype


def _attr(value: Any) -> Any:
    if type(value) is DType:
        return _type(value)
    if isinstance(value, list):
        return [_attr(each) for each in value]
    return value


class _Widened:
    """A `KernelContext` in which bfloat16 is float32; all else is that of the op."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._made: dict[Any, Any] = {}
        self.attrs: Mapping[str, Any] = {key: _attr(each) for key, each in context.attrs.items()}
        self.input_types = [_type(each) for each in context.input_types]
        self.output_types = [_type(each) for each in context.output_types]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def array(self, array: Any) -> Any:
        """The array that stands for one: itself, unless it is of bfloat16."""
        if not _is_narrow(array):
            return array
        place = array.ctypes.data, array.shape, array.strides
        if place not in self._made:
            self._made[place] = self._context.passing(len(self._made), array.shape, float32)
        return self._made[place]

    def value(self, index: int) -> Any:
        """The array of host input `index`."""
        found = self._context.value(index)
        return found.astype(np.float32) if _is_narrow(found) else found
