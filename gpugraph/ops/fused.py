"""Fused: several elementwise ops as one step, which goes over large tensors tile by tile.

    for each tile:  a = x * 1.5;  b = a + 0.3;  c = tanh(b) ...

A tile and the few temporaries of a group stay in the cache, where op after op over whole tensors
would go to memory and back each time. Each op runs by its own host kernel, so that the answers are
the same to the bit. Tiles are shared among threads, which NumPy lets run at once.

The fuse pass makes these ops; programs don't.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.dtypes import DType
from gpugraph.graph.infer import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.declare import NO_GRADIENT, Attr, op
from gpugraph.ops.threads import run_all, thread_count
from gpugraph.shapes import TensorShape

__all__ = ["TILE", "Member"]

TILE = 1 << 15
"""Elements of a tile: with a handful of float32 temporaries it stays in a core's own cache."""

TILES_A_THREAD = 8
"""What is worth waking a thread for: about 100 us of work."""

Run = Callable[[], Any]


class Member(NamedTuple):
    """One op of a group. `sources` are inputs of the group, by index, or, negative (~index), what
    earlier members made; `store` is the output that it makes, or -1."""

    name: str
    op_type: str
    attrs: Mapping[str, Any]
    kernel: Call
    sources: tuple[int, ...]
    dtype: DType
    store: int


@dataclass
class _TileContext:
    """The `KernelContext` of a member on one tile."""

    name: str
    attrs: Mapping[str, Any]
    input_shapes: Sequence[tuple[int, ...]]
    output_shapes: Sequence[tuple[int, ...]]
    input_types: Sequence[DType]
    output_types: Sequence[DType]
    room: dict[Any, Any]
    on_host: frozenset[int] = frozenset()
    taken: int = 0

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """One array for all tiles that one thread goes over in turn."""
        key = (self.name, self.taken, shape, dtype)
        self.taken += 1
        if key not in self.room:
            self.room[key] = np.empty(shape, dtype.as_numpy_dtype)
        return self.room[key]

    def value(self, index: int) -> Any:
        raise LookupError(f"'{self.name}' has no inputs on the host")

    def state(self, make: Callable[[], Any]) -> Any:
        raise LookupError(f"'{self.name}' keeps no state")

    def variable(self, index: int) -> Any:
        raise LookupError(f"'{self.name}' refers to no variable")

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        raise LookupError(f"'{self.name}' keeps nothing")

    def keep(self, container: Any) -> None:
        raise LookupError(f"'{self.name}' keeps nothing")


def _infer(context: InferContext) -> Sequence[TensorShape]:
    shape: TensorShape = context.attrs["shape"]
    return [shape] * context.num_outputs


def _bind(context: KernelContext, *arrays: Any) -> Run:
    members: Sequence[Member] = context.attrs["members"]
    count = len(context.input_shapes)
    tiled = _Tiled(members, context.input_types, arrays[:count], arrays[count:])
    tiles = tiled.tiles()
    shares = max(1, min(thread_count(), len(tiles) // TILES_A_THREAD))
    bounds = [len(tiles) * at // shares for at in range(shares + 1)]
    parts = [tiled.bound(tiles[a:b]) for a, b in pairwise(bounds)]
    if shares == 1:
        return _in_turn(parts[0])
    works = [_in_turn(part) for part in parts]
    return lambda: run_all(works)


def _in_turn(runs: Sequence[Run]) -> Run:
    def run() -> None:
        for each in runs:
            each()

    return run


class _Tiled:
    """A group over its arrays."""

    def __init__(
        self,
        members: Sequence[Member],
        types: Sequence[DType],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        self.members = members
        self.types = types
        shape = outputs[0].shape
        self.is_flat = all(each.shape == shape or each.size == 1 for each in inputs)
        self.rank = 1 if self.is_flat else len(shape)
        self.length = prod(shape) if self.is_flat else shape[0]
        self.row = 1 if self.is_flat else prod(shape[1:])
        self.inputs = [self._shaped(each, shape) for each in inputs]
        self.outputs = [each.reshape(-1) if self.is_flat else each for each in outputs]

    def _shaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        if not self.is_flat:
            return array
        return array.reshape(-1) if array.shape == shape else array.reshape(())

    def tiles(self) -> list[slice]:
        """The parts of the first dimension, in order."""
        step = max(1, TILE // max(self.row, 1))
        return [slice(at, min(at + step, self.length)) for at in range(0, self.length, step)]

    def _part(self, array: Any, tile: slice) -> Any:
        if array.ndim == self.rank and array.shape[0] == self.length and self.length > 1:
            return array[tile]
        return array

    def bound(self, tiles: Sequence[slice]) -> list[Run]:
        """What one thread calls for its tiles; they share temporaries."""
        room: dict[Any, Any] = {}
        runs: list[Run] = []
        for tile in tiles:
            runs += self._on(tile, room)
        return runs

    def _on(self, tile: slice, room: dict[Any, Any]) -> list[Run]:
        inputs = [self._part(each, tile) for each in self.inputs]
        outputs = [each[tile] for each in self.outputs]
        shape = outputs[0].shape
        slots = _slots(self.members)
        made: list[Any] = []
        runs = []
        for at, member in enumerate(self.members):
            given = [inputs[k] if k >= 0 else made[~k] for k in member.sources]
            types = [self.types[k] if k >= 0 else self.members[~k].dtype for k in member.sources]
            result = outputs[member.store] if member.store >= 0 else None
            if result is None:
                key = (slots[at], shape, member.dtype)
                if key not in room:
                    room[key] = np.empty(shape, member.dtype.as_numpy_dtype)
                result = room[key]
            made.append(result)
            shapes = [each.shape for each in given]
            context = _TileContext(
                member.name, member.attrs, shapes, [shape], types, [member.dtype], room
            )
            runs.append(member.kernel.bind(context, [*given, result]))
        return runs


def _slots(members: Sequence[Member]) -> list[int]:
    """A number for each member's temporary; one is used again once nobody reads it any more."""
    last = {~k: at for at, member in enumerate(members) for k in member.sources if k < 0}
    free: list[int] = []
    slots: list[int] = []
    for at, member in enumerate(members):
        slots.append(free.pop() if free else len(slots))
        dying = {~k for k in member.sources if k < 0 and last[~k] == at}
        free += [slots[each] for each in dying if members[each].store < 0]
    return slots


op(
    "_Fused",
    inputs="inputs: Tin",
    outputs="outputs: Tout",
    attrs={
        "Tin": Attr("list(type)"),
        "Tout": Attr("list(type)"),
        "shape": Attr("shape"),
        "members": Attr("any"),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Call(make=_bind),
    grad=NO_GRADIENT,
    doc="Elementwise ops over tensors of one shape, tile by tile.",
)
