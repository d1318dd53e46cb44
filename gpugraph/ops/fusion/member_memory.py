"""Memory of the values between the members of a fused step, when NumPy runs them one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, uint8
from gpugraph.ops.fusion.fused_members import Member, Shape

_ALIGNMENT = 64
"""Of values in a block, in bytes: a line of the cache."""


class Layout:
    """Where the values between members are, in one block: each at an offset that is free again
    after its last use. Groups that differ in names alone share it.

    plain: of each member, whether its run is its function of the arrays, and no more.
    in_place: by output, the inputs in whose memory it may be, where that was asked for.
    """

    __slots__ = ("_places", "_size", "in_place", "plain")

    def __init__(self) -> None:
        self.plain: Sequence[bool] = ()
        self.in_place: dict[int, list[int]] = {}
        self._places: list[tuple[int, Shape, Any, int]] = []  # value, shape, NumPy type, offset
        self._size = 0

    def plan(self, num_inputs: int, members: Sequence[Member], stores: Sequence[int]) -> None:
        """Plans the memory of all values that no output of the step stores; once."""
        if self.plain:
            return
        last_uses = {k: index for index, member in enumerate(members) for k in member.sources}
        places, size, number = [], 0, num_inputs
        free: dict[Any, list[int]] = {}  # offsets by shape and dtype
        in_use: dict[int, tuple[Any, int]] = {}  # by value, its key and offset
        for index, member in enumerate(members):
            for shape, dtype in zip(member.signature.output_shapes, member.output_types):
                key = shape, dtype.base_dtype
                if number not in stores:
                    offsets = free.get(key)
                    if offsets:
                        offset = offsets.pop()
                    else:
                        num_bytes = prod(shape) * dtype.base_dtype.itemsize
                        offset, size = size, size + -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
                    places.append((number, shape, dtype.as_numpy_dtype, offset))
                    in_use[number] = key, offset
                number += 1
            for value in [value for value in in_use if last_uses.get(value, -1) <= index]:
                key, offset = in_use.pop(value)
                free.setdefault(key, []).append(offset)
        self._places, self._size = places, size
        self.plain = [member.kernel.is_plain(member.signature) for member in members]

    def arrays(self, allocate: Callable[[Shape, DType], Any]) -> dict[int, Any]:
        """The arrays of the values, by number, of one block of bytes."""
        if not self._places:
            return {}
        block = allocate((self._size,), uint8)
        return {
            value: np.ndarray(shape, dtype, block, offset)
            for value, shape, dtype, offset in self._places
        }
