"""Tiles: a group of elementwise ops over large tensors, part by part, in several threads.

    for each tile:  a = x * 1.5;  b = a + 0.3;  c = tanh(b) ...

A tile and the few temporaries of a group stay in the cache, where op after op over whole tensors
would go to memory and back each time. Each op runs by its own host kernel, so that the answers are
the same to the bit. NumPy lets threads run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.ops.framework.thread_pool import run_all, thread_count
from gpugraph.ops.fusion.fused_members import Member, MemberContext

TILE = 1 << 15
"""Elements of a tile: with a handful of float32 temporaries it stays in a core's own cache."""

TILES_A_THREAD = 8
"""What is worth waking a thread for: about 100 us of work."""

Run = Callable[[], Any]


def tiled(
    members: Sequence[Member], stores: Sequence[int], inputs: Sequence[Any], outputs: Sequence[Any]
) -> Run:
    """What computes the outputs (`stores` says of which values they are), all of one shape."""
    group = _Tiled(members, stores, inputs, outputs)
    tiles = group.tiles()
    shares = max(1, min(thread_count(), len(tiles) // TILES_A_THREAD))
    bounds = [len(tiles) * at // shares for at in range(shares + 1)]
    parts = [group.bound(tiles[a:b]) for a, b in pairwise(bounds)]
    if shares == 1:
        return _in_turn(parts[0])
    works = [_in_turn(part) for part in parts]
    return lambda: run_all(works)


def slots(members: Sequence[Member], stores: Sequence[int], inputs: int) -> list[int]:
    """A number for each member's temporary; one is used again once nobody reads it any more."""
    last = {k - inputs: at for at, each in enumerate(members) for k in each.sources if k >= inputs}
    kept = {k - inputs for k in stores}
    free: list[int] = []
    found: list[int] = []
    for at, member in enumerate(members):
        found.append(free.pop() if free else len(found))
        dying = {k - inputs for k in member.sources if k >= inputs and last[k - inputs] == at}
        free += [found[each] for each in dying if each not in kept]
    return found


def _in_turn(runs: Sequence[Run]) -> Run:
    def run() -> None:
        for each in runs:
            each()

    return run


class _Tiled:
    """A group over its arrays. Each member makes one value."""

    def __init__(
        self,
        members: Sequence[Member],
        stores: Sequence[int],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        self.members = members
        self.slots = slots(members, stores, len(inputs))
        self.store = {value - len(inputs): at for at, value in enumerate(stores)}
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

        def take(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
            found = (key, shape, dtype)
            if found not in room:
                room[found] = np.empty(shape, dtype.as_numpy_dtype)
            return room[found]

        return [run for tile in tiles for run in self._on(tile, take)]

    def _on(self, tile: slice, take: Callable[..., Any]) -> list[Run]:
        values = [self._part(each, tile) for each in self.inputs]
        outputs = [each[tile] for each in self.outputs]
        shape = outputs[0].shape
        runs = []
        for at, member in enumerate(self.members):
            given = [values[k] for k in member.sources]
            if at in self.store:
                result = outputs[self.store[at]]
            else:
                result = take(self.slots[at], shape, member.output_types[0].base_dtype)
            values.append(result)
            context = MemberContext(member, [each.shape for each in given], [shape], take)
            runs.append(member.kernel.bind(context, [*given, result]))
        return runs
