"""Host fallback: a step of a GPU plan that runs the NumPy `Call` on copies of the arrays in host
memory.

This fallback is used for ops without a GPU kernel, and for dtypes or shapes that the op's GPU
kernel does not support. The compiler reports each such op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.device import Device
from gpugraph.kernel import Call, KernelContext


class OnHost:
    """A step that copies arrays from a GPU to the host, runs a `Call` on the copies, and copies the
    changed arrays back.
    """

    def __init__(
        self, device: Device, call: Call, context: KernelContext, arrays: Sequence[Any]
    ) -> None:
        self.device = device
        self.arrays = list(arrays)
        self.copies: list[Any] = []
        shared: dict[int, Any] = {}  # by address, as arrays may share memory
        for array in arrays:
            if not isinstance(array, Array):
                self.copies.append(array)
                continue
            key = array.address if array.nbytes else -1 - len(shared)
            whole = shared.get(key)
            if whole is None or whole.nbytes < array.nbytes:
                whole = shared[key] = np.empty(array.nbytes, np.uint8)
            self.copies.append(None)
        for index, array in enumerate(arrays):
            if self.copies[index] is None:
                whole = shared.get(array.address) if array.nbytes else None
                self.copies[index] = (
                    np.empty(array.shape, array.dtype)
                    if whole is None
                    else np.ndarray(array.shape, array.dtype, whole)
                )
        self.run: Callable[[], Any] = call.bind(_HostContext(context), self.copies)

    def __call__(self) -> Any:
        pairs = [
            (array, copy)
            for array, copy in zip(self.arrays, self.copies)
            if isinstance(array, Array) and array.nbytes
        ]
        before = []
        for array, copy in pairs:
            copy[...] = self.device.read(array)
            before.append(copy.tobytes())
        result = self.run()
        for (array, copy), old in zip(pairs, before):
            if copy.tobytes() != old:
                self.device.write(array, copy)
        return result


class _HostBlock:
    """Host memory that a kernel keeps during a run, such as an element of a stack or
    TensorArray.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def read(self) -> Any:
        return self.array.copy()

    def release(self) -> None:
        self.array = None


class _HostContext:
    """The context of a step's kernel, which allocates memory on the host instead of the GPU."""

    def __init__(self, context: KernelContext) -> None:
        self._context = context

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.base_dtype.as_numpy_dtype)

    lasting = scratch

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        return self.scratch(shape, dtype)

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> _HostBlock:
        return _HostBlock(self.scratch(shape, dtype))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
