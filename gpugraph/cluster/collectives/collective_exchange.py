"""The exchange of data between the members of a collective, and the order of reduction.

Each element of the result is computed by a single member, which sends it unchanged to all other
members. The order of the summands depends only on the number of members and the element's index. So
the results of all members are equal bit by bit, and equal inputs give equal results in every run.
The order differs between the three algorithms. The size of the array determines the algorithm:

    halving and doubling  small arrays: log2(n) exchanges to reduce halves, log2(n) to gather
    ring                  large arrays: n parts circulate; all members always send and receive
    shared memory         large arrays, with all members on one machine (`shared_segments.py`)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

SMALL_BYTES, PART_BYTES = 256 << 10, 64 << 10
"""An array of at most SMALL_BYTES in total, or PART_BYTES for each member, is reduced by halving
and doubling; a larger one by a ring.
"""

PIECE_BYTES = 4 << 20
"""The number of bytes that circulate in a ring as a unit: one piece is reduced while other pieces
are in transfer.
"""

_BLOCK = 1 << 16  # elements that are reduced at a time over shared memory
_NOTHING = np.zeros(0, np.bool_)
_AHEAD = 4  # pieces that are requested before they are needed

Merge = Callable[..., Any]
"""A function `merge(first, second, out)` that writes the reduction of two arrays to `out`."""

MERGES: dict[str, Merge] = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}


class Wire(Protocol):
    """The transport of named arrays between the members of one collective.

    Args:
      rank: the index of this member.
      size: the number of members.
    """

    rank: int
    size: int

    def send(self, rank: int, name: str, array: Any) -> None:
        """Queue an array for the member `rank`, without waiting. The caller must not change the
        array until the array is received.
        """

    def ask(self, rank: int, name: str) -> Callable[[], Any]:
        """Request an array from the member `rank`. Return a function that waits for the array and
        returns it.
        """


def divide(part: Any, divisor: int) -> None:
    """Divide a part of the result in place. Integers are rounded toward zero, as in the op Div."""
    if divisor == 1:
        return
    if part.dtype.kind == "f":
        np.divide(part, part.dtype.type(divisor), out=part)
    else:
        np.multiply(np.sign(part), np.floor_divide(np.abs(part), divisor), out=part)


def bounds(count: int, parts: int) -> list[int]:
    """Return `parts` + 1 boundaries that divide `count` elements into parts of almost equal
    size.
    """
    return [count * part // parts for part in range(parts + 1)]


def all_reduce(wire: Wire, array: Any, merge: Merge, divisor: int) -> None:
    """Reduce a flat array over all members in place, and divide the result by `divisor`."""
    is_small = array.nbytes <= max(SMALL_BYTES, wire.size * PART_BYTES)
    (halving_doubling if is_small else ring)(wire, array, merge, divisor)


def halving_doubling(wire: Wire, array: Any, merge: Merge, divisor: int) -> None:
    """Reduce the array in log2(n) exchanges of halves, and gather the results in as many exchanges.

    If n is not a power of two, let p be the largest power of two below n. The members with index p
    or higher first send their arrays to the first p members, and at the end receive the results
    from them.
    """
    rank, count = wire.rank, array.size
    paired = 1 << (wire.size.bit_length() - 1)
    if rank >= paired:
        wire.send(rank - paired, "in", array.copy())
        array[...] = wire.ask(rank - paired, "out")()
        return
    follower = rank + paired if rank + paired < wire.size else None
    if follower is not None:
        merge(array, wire.ask(follower, "in")(), out=array)
    low, high, distance = 0, count, paired // 2
    halves = []
    while distance:
        middle, partner = (low + high) // 2, rank ^ distance
        is_lower = rank < partner
        kept, passed = (low, middle), (middle, high)
        if not is_lower:
            kept, passed = passed, kept
        incoming = wire.ask(partner, f"half {distance}")
        wire.send(partner, f"half {distance}", array[slice(*passed)].copy())
        half, other = array[slice(*kept)], incoming()
        merge(*((half, other) if is_lower else (other, half)), out=half)
        halves.append((partner, distance, kept, passed))
        (low, high), distance = kept, distance // 2
    divide(array[low:high], divisor)
    for partner, distance, kept, passed in reversed(halves):
        incoming = wire.ask(partner, f"whole {distance}")
        wire.send(partner, f"whole {distance}", array[slice(*kept)].copy())
        array[slice(*passed)] = incoming()
    if follower is not None:
        wire.send(follower, "out", array.copy())


def ring(wire: Wire, array: Any, merge: Merge, divisor: int) -> None:
    """Reduce by sending the n parts of the array around the ring of members twice.

    In the first round, each member merges its values into the part that it receives. In the second
    round, members receive the complete parts. Part i starts at member i and is complete at member i
    - 1. The function returns when the next member has read everything, so that the caller may write
    to the array again.
    """
    rank, size = wire.rank, wire.size
    ends = bounds(array.size, size)
    right, left = (rank + 1) % size, (rank - 1) % size

    def pieces(part: int) -> Iterator[tuple[str, Any]]:
        length = max(1, PIECE_BYTES // array.itemsize)
        for start in range(ends[part], ends[part + 1], length):
            yield f"{part} {start}", array[start : min(start + length, ends[part + 1])]

    wanted = [
        (f"{way} {name}", piece, way == "sum" and turn == size - 2)
        for way, first in (("sum", rank - 1), ("whole", rank))
        for turn in range(size - 1)
        for name, piece in pieces((first - turn) % size)
    ]
    for name, piece in pieces(rank):
        wire.send(right, f"sum {name}", piece)
    last_whole = f"whole {(rank - (size - 2)) % size} "
    for (name, piece, is_whole), incoming in zip(wanted, _asked(wire, left, wanted)):
        if name.startswith("sum"):
            merge(incoming, piece, out=piece)
            if is_whole:
                divide(piece, divisor)
                name = name.replace("sum", "whole", 1)
        else:
            piece[...] = incoming
        if not name.startswith(last_whole):
            wire.send(right, name, piece)
    wire.send(left, "read", _NOTHING)  # the neighbour reads this array itself
    wire.ask(right, "read")()


def _asked(wire: Wire, rank: int, wanted: Sequence[tuple[str, Any, bool]]) -> Iterator[Any]:
    """Yield the arrays named in `wanted` from a member, in order. Up to `_AHEAD` arrays are
    requested in advance.
    """
    names = [name for name, _, _ in wanted]
    waiting = deque(wire.ask(rank, name) for name in names[:_AHEAD])
    for name in names[_AHEAD:]:
        yield waiting.popleft()()
        waiting.append(wire.ask(rank, name))
    while waiting:
        yield waiting.popleft()()


def meet(wire: Wire, name: str, value: Any) -> list[Any]:
    """Send a small value to all other members. Return the values of all members, in the order of
    ranks.
    """
    others = [rank for rank in range(wire.size) if rank != wire.rank]
    asked = {rank: wire.ask(rank, name) for rank in others}
    for rank in others:
        wire.send(rank, name, value)
    return [value if rank == wire.rank else asked[rank]() for rank in range(wire.size)]


def shared_all_reduce(wire: Wire, arrays: Sequence[Any], merge: Merge, divisor: int) -> None:
    """Reduce over shared memory.

    Each member reduces one part into its own array, in the order of ranks, and copies all other
    parts from the arrays of the other members. No member writes to memory that another member may
    still read.

    Args:
      arrays: the arrays of all members, in the order of ranks.
    """
    target, rank = arrays[wire.rank], wire.rank
    ends = bounds(target.size, wire.size)
    for start in range(ends[rank], ends[rank + 1], _BLOCK):
        block = slice(start, min(start + _BLOCK, ends[rank + 1]))
        total = merge(arrays[0][block], arrays[1][block])
        for array in arrays[2:]:
            merge(total, array[block], out=total)
        divide(total, divisor)
        target[block] = total
    meet(wire, "reduced", _NOTHING)
    for other in range(wire.size):
        if other != rank:
            part = slice(ends[other], ends[other + 1])
            target[part] = arrays[other][part]
    meet(wire, "gathered", _NOTHING)
