"""Seeds and streams of random numbers. In a session, each op has a position in its stream.

The two seeds of an op are the key of its stream and the upper half of its counter (`philox`). Each
draw reserves more blocks than it can need. The number of reserved blocks depends only on the draw's
size. It is the same as in TensorFlow, and so are the numbers of later draws. Stateless ops get a
position from a seed of two numbers, by a draw with a fixed key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.kernel import DeviceState, KernelContext, Signature, State
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.random.bits_to_distributions import Law, groups_of
from gpugraph.ops.random.philox import CHUNK, Philox

DEFAULT_GRAPH_SEED = 87654321
"""The graph-level seed that is used if an op has a seed, but the graph has none."""

RESERVED = 256
"""The number of blocks that a draw reserves for each random number."""

INDEX = (dtypes.int32, dtypes.int64)
SEED_ATTRS = {"seed": Attr("int", 0), "seed2": Attr("int", 0)}

_LARGEST_SEED = 2**31 - 1
_LONG = 2**64
STATELESS_KEY = 0x02461E293EC8F720  # TensorFlow's constant


# -- seeds


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return (graph-level seed, op-level seed) for a random op with the argument `op_seed`.

    If there is no seed, both results are None. If only the graph has a seed, the op's seed is the
    number of ops that were created so far. If only the op has a seed, the graph's seed is
    DEFAULT_GRAPH_SEED.
    """
    graph = get_default_graph()
    if graph.seed is None:
        if op_seed is None:
            return None, None
        seeds = DEFAULT_GRAPH_SEED, _truncated("op_seed", op_seed)
    else:
        local_seed = graph.version if op_seed is None else op_seed
        seeds = _truncated("seed", graph.seed), _truncated("op_seed", local_seed)
    return (0, _LARGEST_SEED) if seeds == (0, 0) else seeds  # (0, 0) would mean no seed


def _truncated(name: str, seed: Any) -> int:
    """Return a seed modulo the largest seed that ops accept.

    Args:
      name: the argument's name, for errors.
    """
    try:
        return whole_number(name, seed % _LARGEST_SEED)
    except TypeError:
        return whole_number(name, seed)


def set_random_seed(seed: int) -> None:
    """Set the default graph's seed, which makes random ops that are created from now on
    reproducible.

    >>> tf.set_random_seed(1)
    >>> session.run(tf.random_uniform([2], maxval=100, dtype=tf.int32)).shape
    (2,)
    """
    get_default_graph().seed = seed


def seeds_of(seed: int | None) -> dict[str, Any]:
    """Return the attrs `seed` and `seed2` of an op.

    Args:
      seed: the argument of the op's function.
    """
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


# -- streams


class Stream:
    """The position of an op in its stream, for one session. If both seeds are 0, the stream starts
    at a random position.

    Small tensors are drawn ahead for several runs together, because drawing a few blocks takes as
    long as drawing a few hundred blocks. The number of these runs is doubled each time.

    `draws` counts draws. It determines when native code is used.

    After a GPU has drawn numbers, the position is only in the memory of this GPU, in the layout of
    philox.cuh. A run on the host then reads the position from there and writes it back.
    """

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
        self._place = self._first = Philox(seed % _LONG, (seed2 % _LONG) << 64)
        self.draws = 0
        self._lock = new_lock()
        self._ahead = np.empty((0, 0))
        self._used = 0
        self._kind: Any = None  # (law, size, dtype) of the rows drawn ahead; None if there are none
        self._moved: tuple[str, DeviceState] | None = None

    def move(self, device: str, put: Callable[[Any], DeviceState]) -> DeviceState:
        """Move the position to a device's memory, where it stays. Return the memory (see
        `kernel.MovableState`).

        Raises NotImplementedError if the position is already on another device.

        Args:
          device: the device's name.
          put: a function that copies words to the device's memory.
        """
        with self._lock:
            if self._moved is None:
                self._moved, self._kind = (device, put(self._words(self._place))), None
            location, stored = self._moved
            if location != device:
                raise NotImplementedError(f"the position of its random numbers is on {location}")
            return stored

    def restart(self) -> None:
        """Return to the beginning of the stream."""
        with self._lock:
            self._place, self._kind = self._first, None
            if self._moved is not None:
                self._moved[1].write(self._words(self._first))

    def position(self) -> list[int]:
        """Return the position, which `go_to` accepts."""
        place = self.reserve(0)
        return [place.key, place.counter]

    def mark(self) -> Sequence[int]:
        """Return the position of a stream on the host, for `go_to`. This is faster than
        `position`.
        """
        return self._place

    def go_to(self, position: Sequence[int]) -> None:
        """Continue at a position that `position` returned."""
        with self._lock:
            self._place, self._kind = Philox(*position), None
            if self._moved is not None:
                self._moved[1].write(self._words(self._place))

    def _words(self, place: Philox) -> Any:
        """Return a position as four uint64, in the layout that CUDA kernels read."""
        halves = place.counter % _LONG, place.counter // _LONG
        return np.array([*halves, place.key, 0], np.uint64)

    def reserve(self, blocks: int) -> Philox:
        """Advance the position by `blocks` blocks, and return the previous position."""
        with self._lock:
            place, self._kind = self._place, None
            if self._moved is None:
                self._place = place.skip(blocks)
                return place
            stored = self._moved[1]
            low, high, *_ = stored.read().tolist()
            place = Philox(place.key, low | high << 64)
            stored.write(self._words(place.skip(blocks)))
        return place

    def fill(self, law: Law, out: Any) -> None:
        """Fill `out` with the next numbers of this stream, drawn by `law`, and advance the
        position.
        """
        row = self._row_ahead(law, out) if 0 < groups_of(out)[0] <= CHUNK // 4 else None
        if row is None:
            law(self.reserve(out.size * RESERVED), out)
        else:
            np.copyto(out.reshape(-1), row)

    def _row_ahead(self, law: Law, out: Any) -> Any:
        """Return the next of the numbers that were drawn ahead. If there are none, draw ahead
        first. If the position is in a GPU's memory, return None.
        """
        kind = law, out.size, out.dtype
        with self._lock:
            if self._moved is not None:
                return None
            if self._kind != kind or self._used == len(self._ahead):
                self._draw_ahead(law, out, 2 * len(self._ahead) if self._kind == kind else 1)
                self._kind = kind
            row = self._ahead[self._used]
            self._used += 1
            self._place = self._place.skip(out.size * RESERVED)
        return row

    def _draw_ahead(self, law: Law, out: Any, runs: int) -> None:
        runs = min(runs, CHUNK // groups_of(out)[0])
        self._kind = None  # invalid until the rows are drawn
        self._ahead, self._used = np.empty((runs, out.size), out.dtype), 0
        if runs == 1:
            law(self._place, self._ahead[0])
        else:
            law.rows(self._place, out.size * RESERVED, self._ahead)


def stream_of(context: KernelContext) -> Stream:
    """Return the stream of this op in this session."""
    seeds = context.attrs["seed"], context.attrs["seed2"]
    return context.state(lambda: Stream(*seeds))


def stored_stream(signature: Signature) -> State:
    """Return the position of the op's stream in the device's memory, as an argument of launches."""
    seeds = signature.attrs["seed"], signature.attrs["seed2"]
    return State(lambda: Stream(*seeds))


def place_of_seed(seed: Any) -> Philox:
    """Return the position at which a stateless op with a seed of two integers starts to draw."""
    first, second = (int(number) % _LONG for number in seed)
    drawn = Philox(STATELESS_KEY, first | second << 64).block()
    return Philox(drawn[0] | drawn[1] << 32, (drawn[2] | drawn[3] << 32) << 64)
