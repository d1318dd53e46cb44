"""Members of a fused step: ops that run as one.

Values are numbered: first the inputs of the step, then the outputs of its members, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, uint8
from gpugraph.kernel import Call, Signature
from gpugraph.ops.framework.op_evaluation import ContextOutsideRun
from gpugraph.ops.fusion.op_expressions import Expressions

Shape = tuple[int, ...]

_ALIGNMENT = 64
"""Of values in a block, in bytes: a line of the cache."""


class Member(NamedTuple):
    """One op of a group. `sources` are the values of its inputs that are not on the host."""

    op_type: str
    signature: Signature
    kernel: Call
    expressions: Expressions
    sources: tuple[int, ...]
    origin: Any = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.signature.name

    @property
    def output_types(self) -> Sequence[DType]:
        """The dtypes of its outputs."""
        return self.signature.output_types


class Layout:
    """Where the values between members are, in one block: each at an offset that is free again
    after its last use. Groups that differ in names alone share it.

    plain: of each member, whether its run is its function of the arrays, and no more.
    in_place: by output, the inputs in whose memory it may be, where that was asked for.
    """

    __slots__ = ("_places", "_size", "in_place", "plain")

    def __init__(self) -> None:
        self.plain: Sequence[bool] = ()
        self.in_place: dict[int, Sequence[int]] = {}
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


class MemberContext(ContextOutsideRun):
    """The `KernelContext` of a member over arrays of these shapes; `allocate_array` gives its
    scratch by key, shape and dtype."""

    def __init__(
        self,
        member: Member,
        input_shapes: Sequence[Shape],
        output_shapes: Sequence[Shape],
        allocate_array: Callable[[Any, Shape, DType], Any],
    ) -> None:
        signature = member.signature
        self.name, self.attrs = signature.name, signature.attrs
        self.input_types, self.output_types = signature.input_types, signature.output_types
        self.input_shapes, self.output_shapes = input_shapes, output_shapes
        self.value = signature.value
        self._allocate_array = allocate_array
        self._num_scratches = 0

    def scratch(self, shape: Shape, dtype: DType) -> Any:
        """An array of this member's."""
        self._num_scratches += 1
        return self._allocate_array((self.name, self._num_scratches), shape, dtype)

    lasting = scratch

    def passing(self, slot: int, shape: Shape, dtype: DType) -> Any:
        """An array that members share: it is free again after each."""
        return self._allocate_array(("passing", slot), shape, dtype)
