"""What the members of a collective send each other, and in which order they reduce.

Each element of a sum (or the like) is computed by one member, in an order that follows from the
number of members and the element's place, and is sent to the others as it is. So all members have
the same bits, and equal inputs give equal results in each run. The order differs between the three
ways, which are chosen by size:

    halving and doubling  small: log2(n) exchanges of halves, there and back; few messages
    ring                  large: n parts go round, each member sends and receives at all times
    shared memory         large, and all members on one machine (`shared_segments.py`)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

SMALL_BYTES, PART_BYTES = 256 << 10, 64 << 10
"""Up to this size by halving and doubling; so, too, where the parts of a ring would be so small."""

PIECE_BYTES = 4 << 20
"""What goes around a ring at a time: while one piece is reduced, others are on their way."""

_BLOCK = 1 << 16  # elements that are reduced at a time over shared memory
_NOTHING = np.zeros(0, np.bool_)
_AHEAD = 4  # pieces that are asked for before they are needed

Merge = Callable[..., Any]
"""A function of two arrays, `merge(first, second, out)`."""

MERGES: dict[str, Merge] = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}


class Wire(Protocol):
    """What carries arrays between the members of one collective, by names."""

    rank: int
    size: int

    def send(self, rank: int, name: str, array: Any) -> None:
        """Leaves an array for a member, without waiting; it must not change until it is taken."""

    def ask(self, rank: int, name: str) -> Callable[[], Any]:
        """Asks a member for an array. What this gives waits for it."""


def divide(part: Any, divisor: int) -> None:
    """Divides a part of the result in place, integers toward zero, as the op Div does."""
    if divisor == 1:
        return
    if part.dtype.kind == "f":
        np.divide(part, part.dtype.type(divisor), out=part)
    else:
        np.multiply(np.sign(part), np.floor_divide(np.abs(part), divisor), out=part)


def bounds(count: int, parts: int) -> list[int]:
    """Where each of so many parts of about the same size begins, and the end."""
    return [count * part // parts for part in range(parts + 1)]


def all_reduce(wire: Wire, array: Any, merge: Merge, divisor: int) -> None:
    """Reduces a flat array over all members, and divides it, in place."""
    is_small = array.nbytes <= max(SMALL_BYTES, wire.size * PART_BYTES)
    (halving_doubling if is_small else ring)(wire, array, merge, divisor)


def halving_doubling(wire: Wire, array: Any, merge: Merge, divisor: int) -> None:
    """Reduces in log2(n) exchanges of halves, and gathers in as many.

    Of n members that are no power of two, the last ones give theirs to the first before it.
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
    """Parts go round twice: merged on the way, then whole.

    A part begins with the member of its number and is whole at the one before that. It ends when
    the neighbour has read all: the caller may write to the array again.
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
    wire.send(left, "read", _NOTHING)  # pieces are lent, and the array is written to in later steps
    wire.ask(right, "read")()


def _asked(wire: Wire, rank: int, wanted: Sequence[tuple[str, Any, bool]]) -> Iterator[Any]:
    """The arrays of these names in their order; the next ones are asked for before."""
    names = [name for name, _, _ in wanted]
    waiting = deque(wire.ask(rank, name) for name in names[:_AHEAD])
    for name in names[_AHEAD:]:
        yield waiting.popleft()()
        waiting.append(wire.ask(rank, name))
    while waiting:
        yield waiting.popleft()()


def meet(wire: Wire, name: str, value: Any) -> list[Any]:
    """Gives all others a small value, and waits for theirs: the values, in the order of ranks."""
    others = [rank for rank in range(wire.size) if rank != wire.rank]
    asked = {rank: wire.ask(rank, name) for rank in others}
    for rank in others:
        wire.send(rank, name, value)
    return [value if rank == wire.rank else asked[rank]() for rank in range(wire.size)]


def shared_all_reduce(wire: Wire, arrays: Sequence[Any], merge: Merge, divisor: int) -> None:
    """Reduces over memory that all members see: `arrays` are those of all, in the order of ranks.

    Each member reduces one part, in the order of ranks, into its own array, and takes the other
    parts from the others'. Nobody writes what another may still read.
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
