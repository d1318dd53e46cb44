"""The memory for the values that one member of a fused step passes to another, if NumPy kernels
run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, uint8
from gpugraph.ops.fusion.fused_members import FusedMember, Shape

_ALIGNMENT = 64
"""The alignment of a value's offset in the block: a cache line, in bytes."""


class MemoryLayout:
    """Offsets in one block of memory for the values that only members of the step use.

    An offset is reused after the last use of its value. Fused steps that differ only in the names
    of their nodes share one layout.

    Attributes:
      plain: for each member, whether its kernel is a plain function of the arrays. A plain
        function is called with the arrays, without a binding.
      takes: for each member, a callable that receives the arrays of all values and returns the
        member's inputs, followed by its outputs.
      in_place: maps an output of the step to the inputs whose memory it may reuse. Entries are
        computed when they are first needed.
    """

    __slots__ = ("_numbers", "_places", "_size", "in_place", "plain", "takes")

    def __init__(self) -> None:
        self.plain: Sequence[bool] = ()
        self.takes: Sequence[Callable[[Sequence[Any]], Sequence[Any]]] = ()
        self.in_place: dict[int, list[int]] = {}
        self._places: list[
            tuple[Shape, Any, int]
        ] = []  # the shapes, NumPy types and offsets of places, without duplicates
        self._numbers: list[
            int
            # for each value except inputs: the index of its place, or of its output
        ] = []
        self._size = 0

    def plan(self, num_inputs: int, members: Sequence[FusedMember], stores: Sequence[int]) -> None:
        """Assign offsets to all values that are not outputs of the step. Later calls do nothing.

        Args:
          stores: the numbers of the values that are outputs of the step.
        """
        if self.plain:
            return
        last_uses = {k: index for index, member in enumerate(members) for k in member.sources}
        places: dict[tuple[Shape, Any, int], int] = {}
        chosen: list[
            tuple[Shape, Any, int] | int
        ] = []  # for each value: a place, or the number of an output
        takes, size, number = [], 0, num_inputs
        free: dict[Any, list[int]] = {}  # free offsets by shape and dtype
        in_use: dict[int, tuple[Any, int]] = {}  # by value: the key and the offset of its place
        for index, member in enumerate(members):
            first = number
            for shape, dtype in zip(member.signature.output_shapes, member.output_types):
                key = shape, dtype.base_dtype
                if number in stores:
                    chosen.append(stores.index(number))
                else:
                    offsets = free.get(key)
                    if offsets:
                        offset = offsets.pop()
                    else:
                        num_bytes = prod(shape) * dtype.base_dtype.itemsize
                        offset, size = size, size + -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
                    place = shape, np.dtype(dtype.as_numpy_dtype), offset
                    places.setdefault(place, len(places))
                    chosen.append(place)
                    in_use[number] = key, offset
                number += 1
            takes.append(_selector((*member.sources, *range(first, number))))
            for value in [value for value in in_use if last_uses.get(value, -1) <= index]:
                key, offset = in_use.pop(value)
                free.setdefault(key, []).append(offset)
        self._places, self._size, self.takes = list(places), size, takes
        count = len(places)
        self._numbers = [count + c if isinstance(c, int) else places[c] for c in chosen]
        self.plain = [member.kernel.is_plain(member.signature) for member in members]

    def arrays(
        self, inputs: Sequence[Any], outputs: Sequence[Any], allocate: Callable[[Shape, DType], Any]
    ) -> list[Any]:
        """Return a list with the array of each value, in the order of the values' numbers.

        The caller passes the step's inputs and outputs. All other arrays are views of one block of
        bytes, which `allocate` returns.
        """
        arrays: list[Any] = []
        if self._places:
            block = allocate((self._size,), uint8)
            for shape, dtype, offset in self._places:
                arrays.append(np.ndarray(shape, dtype, block, offset))
        arrays += outputs
        return [*inputs, *[arrays[number] for number in self._numbers]]


def _selector(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a callable that receives a list and returns the items at the indices `numbers`."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda values: [values[number] for number in numbers]
