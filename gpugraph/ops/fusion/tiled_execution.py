"""The execution of a group of elementwise ops over large tensors, tile by tile, in several threads.

    for each tile:  a = x * 1.5;  b = a + 0.3;  c = tanh(b) ...

A tile and the few temporaries of a group stay in the cache. Running each op over whole tensors
would read and write main memory each time. Each op runs its NumPy kernel, so the results have the
same bits as without tiles. NumPy releases the GIL, so the threads run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.config.environment import thread_count
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.thread_pool import run_in_threads
from gpugraph.ops.fusion.fused_members import FusedMember, MemberContext

TILE = 1 << 15
"""The number of elements of a tile: a few float32 temporaries of this size fit in a core's L2
cache.
"""

TILES_A_THREAD = 8
"""The minimum number of tiles per additional thread: about 100 us of work."""

Run = Callable[[], Any]


def tiled(
    members: Sequence[FusedMember],
    stores: Sequence[int],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
) -> Run:
    """Return a callable that computes the outputs of a group. All values of the group must have the
    same shape.

    Args:
      stores: the numbers of the values that become `outputs`, in this order.
    """
    group = _Tiled(members, stores, inputs, outputs)
    tiles = group.tiles()
    shares = max(1, min(thread_count(), len(tiles) // TILES_A_THREAD))
    bounds = [len(tiles) * share // shares for share in range(shares + 1)]
    works = [run_all(group.bind(tiles[a:b])) for a, b in pairwise(bounds)]
    return works[0] if shares == 1 else lambda: run_in_threads(works)


def slots(members: Sequence[FusedMember], stores: Sequence[int], num_inputs: int) -> list[int]:
    """Return, for each member, the number of the temporary array for its output.

    A temporary is reused after the last member that reads it has run.

    Args:
      stores: the numbers of the values that are outputs of the group.
    """
    last_reader = {
        k - num_inputs: index
        for index, member in enumerate(members)
        for k in member.sources
        if k >= num_inputs
    }
    stored = {k - num_inputs for k in stores}
    free: list[int] = []
    numbers: list[int] = []
    for index, member in enumerate(members):
        numbers.append(free.pop() if free else len(numbers))
        sources = {k - num_inputs for k in member.sources if k >= num_inputs}
        dying = {source for source in sources if last_reader[source] == index}
        free += [numbers[source] for source in dying if source not in stored]
    return numbers


class _Tiled:
    """A group of members, each with one output, bound to the arrays of its inputs and outputs."""

    def __init__(
        self,
        members: Sequence[FusedMember],
        stores: Sequence[int],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        self.members = members
        self.slots = slots(members, stores, len(inputs))
        self.store = {value - len(inputs): index for index, value in enumerate(stores)}
        shape = outputs[0].shape
        self.is_flat = all(array.shape == shape or array.size == 1 for array in inputs)
        self.rank = 1 if self.is_flat else len(shape)
        self.length = prod(shape) if self.is_flat else shape[0]
        self.row = 1 if self.is_flat else prod(shape[1:])
        self.inputs = [self._shaped(array, shape) for array in inputs]
        self.outputs = [array.reshape(-1) if self.is_flat else array for array in outputs]

    def _shaped(self, array: Any, shape: tuple[int, ...]) -> Any:
        if not self.is_flat:
            return array
        return array.reshape(-1) if array.shape == shape else array.reshape(())

    def tiles(self) -> list[slice]:
        """Return the tiles in order, as slices of the first axis."""
        step = max(1, TILE // max(self.row, 1))
        starts = range(0, self.length, step)
        return [slice(start, min(start + step, self.length)) for start in starts]

    def _part(self, array: Any, tile: slice) -> Any:
        if array.ndim == self.rank and array.shape[0] == self.length and self.length > 1:
            return array[tile]
        return array

    def bind(self, tiles: Sequence[slice]) -> list[Run]:
        """Return the calls of one thread: for each of its tiles, a call of each member.

        All tiles of the thread use the same temporaries.
        """
        temporaries: dict[Any, Any] = {}

        def allocate_array(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
            key = key, shape, dtype
            if key not in temporaries:
                temporaries[key] = np.empty(shape, dtype.as_numpy_dtype)
            return temporaries[key]

        return [run for tile in tiles for run in self._bind_tile(tile, allocate_array)]

    def _bind_tile(self, tile: slice, allocate_array: Callable[..., Any]) -> list[Run]:
        values = [self._part(array, tile) for array in self.inputs]
        outputs = [array[tile] for array in self.outputs]
        shape = outputs[0].shape
        runs = []
        for index, member in enumerate(self.members):
            sources = [values[k] for k in member.sources]
            if index in self.store:
                result = outputs[self.store[index]]
            else:
                dtype = member.output_types[0].base_dtype
                result = allocate_array(self.slots[index], shape, dtype)
            values.append(result)
            shapes = [array.shape for array in sources], [shape]
            context = MemberContext(member, *shapes, allocate_array)
            runs.append(member.kernel.bind(context, [*sources, result]))
        return runs
