"""Memory for containers of elements that counts the bytes held."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpugraph as tf

__all__ = ["Memory"]


class Memory:
    """Allocates blocks of NumPy memory, as a device does, and counts the bytes in use."""

    def __init__(self) -> None:
        self.held = 0
        self.most = 0
        self.blocks = 0

    def __call__(self, shape: tuple[int, ...], dtype: tf.DType) -> _Block:
        return _Block(self, np.full(shape, _garbage(dtype), dtype.as_numpy_dtype))


class _Block:
    def __init__(self, memory: Memory, array: np.ndarray) -> None:
        self.memory = memory
        self.array: Any = array
        self.size = array.nbytes
        memory.held += self.size
        memory.blocks += 1
        memory.most = max(memory.most, memory.held)

    def release(self) -> None:
        assert self.array is not None, "a block is released twice"
        self.array = None
        self.memory.held -= self.size
        self.memory.blocks -= 1


def _garbage(dtype: tf.DType) -> Any:
    return b"garbage" if dtype is tf.string else 77
