"""Values of tensors as messages: raw memory with dtype and shape. Nothing is pickled.

A value of up to `INLINE_BYTES` is part of the message. A larger value is a parcel: the sender keeps
its memory, and the message contains a ticket that the receiver uses to fetch the memory in chunks.
If both processes are on one machine, the parcel is in shared memory (`shared_segments.py`), and the
message also contains the name of its segment. The receiver then reads the parcel in place, and
notifies the sender afterwards.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import prod
from time import monotonic
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype, resource, string
from gpugraph.base.errors import NotFoundError, ResourceExhaustedError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.cluster.shared_segments import SegmentLease, SegmentName, SegmentPool
from gpugraph.formats.tensor_bytes import decoded_strings, encoded_strings

INLINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 20
MAX_VALUE_BYTES = 8 << 30
"""The maximum size in bytes of one tensor that is sent to another process."""

MAX_PARCEL_BYTES = 16 << 30
"""The maximum size in bytes of all parcels that a server keeps for receivers."""

KEPT_S = 600.0
_KEPT_OF_ENDED_S = 2.0
"""The number of seconds for which parcels of failed steps are kept. A receiver that fetches a
parcel within this time gets the step's error.
"""

_LATER_S = 0.05
_MAX_ENDED = 4096
_MAX_RANK = 254

Memory = Any
"""A flat NumPy array of bytes."""


def write_segment(message: Any, name: SegmentName) -> None:
    """Set the fields of a Segment message."""
    message.pid, message.number, message.token, message.size = name


def read_segment(message: Any) -> SegmentName:
    """Return the name in a Segment message."""
    return SegmentName(message.pid, message.number, message.token, message.size)


def write_values(
    messages: Any,
    arrays: Iterable[Any],
    put: Callable[[Memory], str],
    share: Callable[[Memory], tuple[str, SegmentName] | None] | None = None,
) -> None:
    """Add a Value message for each array.

    Args:
      put: a function that stores the memory of a large array and returns a ticket for it.
      share: a function that is tried before `put`. The function returns a ticket and the name of
        the shared memory that holds the array, or None if the array can't be in shared memory.
    """
    for value in arrays:
        array = np.asarray(value)
        dtype = _dtype_of(array.dtype)
        message = messages.add(dtype=dtype.as_datatype_enum, sizes=array.shape)
        if dtype is string:
            texts = array.astype(object).reshape(-1).tolist()
            memory = np.frombuffer(encoded_strings([_as_bytes(text) for text in texts]), np.uint8)
        elif array.nbytes <= INLINE_BYTES:
            message.size, message.content = array.nbytes, array.tobytes()
            continue
        else:
            memory = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        message.size = memory.nbytes
        if memory.nbytes > MAX_VALUE_BYTES:
            raise ResourceExhaustedError.of_no_node(
                f"A tensor of {memory.nbytes} bytes does not go to another process: the limit is "
                f"{MAX_VALUE_BYTES}"
            )
        if memory.nbytes <= INLINE_BYTES:
            message.content = memory.tobytes()
            continue
        shared = None if share is None else share(memory)
        if shared is None:
            message.ticket = put(memory)
        else:
            message.ticket = shared[0]
            write_segment(message.segment, shared[1])


@cache
def _dtype_of(numpy_dtype: Any) -> DType:
    """Return the dtype under which a NumPy array is sent. Raises TypeError if arrays of its NumPy
    dtype can't be sent.
    """
    return string if numpy_dtype.kind in "OSU" else as_dtype(numpy_dtype)


@cache
def _dtype_of_number(number: int) -> DType:
    """Return the dtype for the DataType number in a Value message. Raises TypeError if the number
    is invalid.
    """
    return as_dtype(number).base_dtype


def _as_bytes(text: Any) -> bytes:
    if not isinstance(text, (str, bytes)):
        raise invalid_argument(f"A {type(text).__name__} does not go to another process")
    return text.encode() if isinstance(text, str) else text


def read_values(
    messages: Sequence[Any],
    take: Callable[[str, int], Memory],
    see: Callable[[Any], Memory | None] | None = None,
) -> list[Any]:
    """Return the arrays in Value messages.

    Raises InvalidArgumentError if a message is malformed.

    Args:
      take: a function that receives a ticket and a size, and returns the memory.
      see: a function that receives a Value message and returns its shared memory, or None if this
        memory is not accessible.
    """
    return [_read(message, take, see) for message in messages]


SeenParcels = list[tuple[str, SegmentName]]
"""Parcels that stay in shared memory of a server: the ticket and the segment of each."""


def see_parcel(segments: SegmentPool, seen: SeenParcels, message: Any) -> Memory | None:
    """Return the shared memory that a Value message names, and record it in `seen`. If this memory
    is not accessible, return None.
    """
    name = read_segment(message.segment)
    content = segments.map(name) if name.size >= message.size else None
    if content is None:
        return None
    seen.append((message.ticket, name))
    return content[: message.size]


def _read(
    message: Any, take: Callable[[str, int], Memory], see: Callable[[Any], Memory | None] | None
) -> Any:
    sizes = list(message.sizes)
    try:
        dtype = _dtype_of_number(message.dtype)
    except TypeError as error:
        raise invalid_argument(f"A value of no dtype: {error}") from None
    if dtype is resource or len(sizes) > _MAX_RANK or min(sizes, default=0) < 0:
        raise invalid_argument(f"No value: dtype {dtype.name}, shape {sizes[:9]}")
    if not 0 <= message.size <= MAX_VALUE_BYTES:
        raise invalid_argument(f"No value: {message.size} bytes")
    count, is_text = prod(sizes), dtype is string
    if (count > message.size) if is_text else (count * dtype.itemsize != message.size):
        raise invalid_argument(f"{message.size} bytes are not {dtype.name} of shape {sizes[:9]}")
    if message.ticket:
        memory = see(message) if see is not None and message.HasField("segment") else None
        if memory is None:
            memory = take(message.ticket, message.size)
    else:
        memory = np.frombuffer(bytearray(message.content), np.uint8)
    if memory.nbytes != message.size:
        raise invalid_argument(f"{memory.nbytes} bytes came in place of {message.size}")
    try:
        if is_text:
            texts = np.empty(count, object)
            texts[:] = decoded_strings(memory.tobytes(), count)
            return texts.reshape(sizes)
        return memory.view(np.dtype(dtype.as_numpy_dtype)).reshape(sizes)
    except (ValueError, TypeError) as error:
        raise invalid_argument(f"No {dtype.name} of shape {sizes[:9]}: {error}") from None


def chunks(memory: Memory) -> Iterator[bytes]:
    """Yield the memory in pieces of at most CHUNK_BYTES."""
    view = memoryview(memory)
    for start in range(0, len(view), CHUNK_BYTES):
        yield bytes(view[start : start + CHUNK_BYTES])


def joined(pieces: Iterable[memoryview | bytes], size: int) -> Memory:
    """Join pieces into an array of `size` bytes. Raises InvalidArgumentError if their total size
    differs.
    """
    memory: Memory = np.empty(size, np.uint8)
    view, position = memoryview(memory), 0
    for piece in pieces:
        if position + len(piece) > size:
            break
        view[position : position + len(piece)] = piece
        position += len(piece)
    else:
        if position == size:
            return memory
    raise invalid_argument(f"A parcel is not of {size} bytes")


def _came_of_ended() -> float:
    """Return an arrival time for a parcel of an ended step, such that the parcel is dropped in
    `_KEPT_OF_ENDED_S` seconds.
    """
    return monotonic() - KEPT_S + _KEPT_OF_ENDED_S


Owners = tuple[int, str]
"""The step of a parcel (0: none), and the connection of its receiver ("": none)."""

NO_OWNERS: Owners = (0, "")


class _Parcel:
    """Memory that is kept until its receiver takes it.

    Args:
      lease: the lease of the memory if it is shared, else None.
    """

    def __init__(
        self, memory: Memory, came: float, owners: Owners, lease: SegmentLease | None
    ) -> None:
        self.memory, self.came, self.owners, self.lease = memory, came, owners, lease


class Parcels:
    """The parcels (memory of large values in transfer), by ticket. Each parcel can be taken once.

    A parcel that was not taken within `KEPT_S` seconds is dropped, because its receiver must be
    gone.

    Attributes:
      segments: the pool of shared memory.
    """

    def __init__(self) -> None:
        self.segments = SegmentPool()
        self._parcels: dict[str, _Parcel] = {}  # in the order of their arrival
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._bytes = 0
        self._lock = new_lock()
        self._timer: threading.Timer | None = None

    def put(
        self, memory: Memory, owners: Owners = NO_OWNERS, lease: SegmentLease | None = None
    ) -> str:
        """Store memory and return its ticket. Raises ResourceExhaustedError if the parcels exceed
        `MAX_PARCEL_BYTES`.

        Args:
          owners: the step and the connection of the parcel. The parcel is dropped when the step
            fails or the connection ends.
          lease: the lease of the memory, if it is shared. The lease is held until the parcel is
            freed.
        """
        ticket = os.urandom(16).hex()
        with self._lock:
            self._forget_old()
            if self._bytes + memory.nbytes > MAX_PARCEL_BYTES:
                raise ResourceExhaustedError.of_no_node(
                    f"{self._bytes} bytes of tensors wait to be fetched: there is no room for "
                    f"{memory.nbytes} more"
                )
            is_late = owners[0] in self._ended
            came = _came_of_ended() if is_late else monotonic()
            self._parcels[ticket] = _Parcel(memory, came, owners, lease)
            self._bytes += memory.nbytes
            if is_late:
                self._look_later()
        return ticket

    def share(self, memory: Memory, owners: Owners = NO_OWNERS) -> tuple[str, SegmentName] | None:
        """Store memory as `put` does, but in shared memory. `memory` is copied into shared memory
        unless it already is in shared memory.

        Returns the ticket and the name of the segment, or None if there is no shared memory.
        """
        lease = self.segments.lease_of(memory)
        if lease is None:
            lease = self.segments.lend(memory.nbytes)
            if lease is None:
                return None
            np.copyto(lease.content, memory)
        return self.put(lease.content, owners, lease), lease.name

    def end(self, step: int) -> None:
        """Record that a step has failed. The parcels of the step, including parcels that are stored
        later, are dropped after a few seconds.
        """
        with self._lock:
            self._ended[step] = None
            if len(self._ended) > _MAX_ENDED:
                self._ended.popitem(last=False)
        self.expire(step)

    def expire(self, owner: int | str) -> None:
        """Mark the parcels of a failed step or an ended connection, so that they are dropped in a
        few seconds.
        """
        with self._lock:
            for parcel in self._parcels.values():
                if owner in parcel.owners:
                    parcel.came = min(parcel.came, _came_of_ended())
            self._forget_old()
            self._look_later()

    def _look_later(self) -> None:
        """Start a timer, so that expired parcels are dropped even if no method is called."""
        came = min((parcel.came for parcel in self._parcels.values()), default=monotonic())
        wait_s = came + KEPT_S - monotonic()
        if self._timer is None and wait_s <= _KEPT_OF_ENDED_S:
            self._timer = threading.Timer(max(wait_s, 0) + _LATER_S, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        with self._lock:
            self._timer = None
            self._forget_old()
            self._look_later()

    def _forget_old(self) -> None:
        limit = monotonic() - KEPT_S
        for ticket in [name for name, parcel in self._parcels.items() if parcel.came < limit]:
            self._pop(ticket)

    def _pop(self, ticket: str) -> _Parcel | None:
        parcel = self._parcels.pop(ticket, None)
        if parcel is not None:
            self._bytes -= parcel.memory.nbytes
        return parcel

    def take(self, ticket: str, size: int = -1) -> Memory:
        """Remove and return the memory that is stored under a ticket.

        Raises NotFoundError if the ticket is unknown, and InvalidArgumentError if the memory has
        another size.

        Args:
          size: the expected number of bytes, or -1 for any size.
        """
        with self._lock:
            parcel = self._pop(ticket)
        if parcel is None:
            raise NotFoundError.of_no_node("There is no parcel of this ticket")
        if size not in (-1, parcel.memory.nbytes):
            raise invalid_argument(f"A parcel has {parcel.memory.nbytes} bytes, not {size}")
        return parcel.memory

    def free(self, tickets: Iterable[str]) -> None:
        """Free parcels that their receivers have read in place. Unknown tickets are ignored."""
        with self._lock:
            parcels = [self._pop(ticket) for ticket in tickets]
        for parcel in parcels:
            if parcel is not None and parcel.lease is not None:
                parcel.lease.drop()
