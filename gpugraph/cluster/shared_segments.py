"""Memory shared by the processes of one machine: anonymous files of Linux (memfd).

A segment has no name in the file system, so no file remains when its process is killed. Its size
can't change, and the system frees it when the last process has unmapped it. Other processes open
this file as `/proc/<pid>/fd/<number>`. A random token is stored at the start of the segment. The
owner sends the same token over gRPC, which proves that both processes are on the same machine and
that the right file was opened. A process that can't open the segment receives the tensors over gRPC
instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import logging
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterable
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock

_LOG = logging.getLogger("gpugraph")
_HEAD_BYTES = 64
_TOKEN_BYTES = 32
_MAX_FREE_BYTES = 2 << 30
_IDLE_S = 10.0
"""The number of seconds for which a free segment is kept. So shapes that occur only once occupy
memory only for a short time.
"""

_MAX_MAPPED = 256
_MAX_MAPPED_BYTES = 8 << 30
_SEALS = "F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_SEAL"
_SHARED = getattr(mmap, "MAP_SHARED", 0) | getattr(mmap, "MAP_POPULATE", 0)
_OPENING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""The flags for opening a segment. Opening must not block, because on another machine the path may
lead to a FIFO.
"""

_STEPS = 8
"""The number of sizes of lent segments between a power of 2 and the next one. Rounding up to these
lets similar sizes reuse segments.
"""


class SegmentName(NamedTuple):
    """The data that other processes need to map a segment.

    Args:
      number: the file descriptor in the process `pid`.
      token: the bytes at the segment's start.
      size: the number of content bytes after the token, or 0 if there is no segment.
    """

    pid: int = 0
    number: int = 0
    token: bytes = b""
    size: int = 0


class Segment:
    """Memory of this process that other processes may map and read.

    Raises OSError if the system has too little memory left.

    Args:
      size: the size of its contents in bytes.
    """

    def __init__(self, size: int) -> None:
        file = os.memfd_create("gpugraph", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(file, 0, _HEAD_BYTES + size)  # a write could raise SIGBUS
            seals = [getattr(fcntl, name) for name in _SEALS]
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals[0] | seals[1] | seals[2])
            memory = mmap.mmap(file, _HEAD_BYTES + size, flags=_SHARED)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        token = os.urandom(_TOKEN_BYTES)
        memory[:_TOKEN_BYTES] = token
        self.name = SegmentName(os.getpid(), self._file, token, size)
        self._memory = memory
        self.idle_since = 0.0
        self.content = np.frombuffer(memory, np.uint8)[_HEAD_BYTES:]

    def free(self) -> None:
        """Return the memory to the system. A process that still maps the memory then reads
        zeros.
        """
        with contextlib.suppress(OSError):  # otherwise it is freed with the last mapping
            self._memory.madvise(mmap.MADV_REMOVE)

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            os.close(self._file)


def address_of(memory: Any) -> int:
    """Return the address of an array's first byte."""
    return int(memory.__array_interface__["data"][0])


class _Mapping(NamedTuple):
    """A mapping of another process's memory in this process, and the time of its last use."""

    memory: Any
    used: float


def is_possible() -> bool:
    """Return whether this system supports memfd files with seals."""
    return hasattr(os, "memfd_create") and hasattr(fcntl, "F_ADD_SEALS")


def _available_bytes() -> int:
    """Return the number of bytes that Linux estimates as available (MemAvailable). Raises OSError
    if the number is unknown.
    """
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file if ":" in line)
    return int(lines["MemAvailable"].split()[0]) << 10


def mapped(name: SegmentName) -> Any | None:
    """Return a read-only view of the content of another process's segment, or None if the segment
    is not accessible.
    """
    size = _HEAD_BYTES + name.size
    with contextlib.suppress(OSError, ValueError, AttributeError):
        file = os.open(f"/proc/{name.pid}/fd/{name.number}", _OPENING)
        try:
            is_sealed = fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
            if not is_sealed or os.fstat(file).st_size != size:
                return None
            memory = mmap.mmap(file, size, prot=mmap.PROT_READ)
        finally:
            os.close(file)
        if len(name.token) == _TOKEN_BYTES and memory[:_TOKEN_BYTES] == name.token:
            return np.frombuffer(memory, np.uint8)[_HEAD_BYTES:]
    return None


class SegmentLease:
    """The use of the first bytes of a segment by several holders. When the last holder calls
    `drop`, the segment returns to its pool.

    If a step fails, a reader might still use the memory. The lease is then never dropped, and the
    memory is never reused. The system frees the memory when neither this process nor the reader
    maps it.
    """

    def __init__(self, pool: SegmentPool, segment: Segment, size: int) -> None:
        self.name, self.content = segment.name, segment.content[:size]
        self._pool, self._segment, self._num_holders = pool, segment, 1
        self._lock = new_lock()

    def hold(self) -> SegmentLease:
        """Add a holder."""
        with self._lock:
            self._num_holders += 1
        return self

    def drop(self) -> None:
        """Remove a holder. If this holder was the last one, return the segment to its pool."""
        with self._lock:
            self._num_holders -= 1
            is_last = self._num_holders == 0
        if is_last:
            self._pool.end_lease(self, self._segment)


class SegmentPool:
    """The free segments of one task, by size, and the task's mappings of other tasks' segments."""

    def __init__(self) -> None:
        self._free: OrderedDict[int, list[Segment]] = OrderedDict()  # in the order of last use
        self._free_bytes = 0
        self._mapped: OrderedDict[SegmentName, _Mapping] = OrderedDict()
        self._leases: WeakValueDictionary[int, SegmentLease] = WeakValueDictionary()  # by address
        self._probe: Segment | None = None
        self._has_warned = False
        self._lock = new_lock()

    def probe(self) -> SegmentName:
        """Return the name of a small segment. Another process maps the segment to test whether it
        can map segments of this task.

        The name is empty if this system does not support segments.
        """
        if self._probe is None and is_possible():
            with contextlib.suppress(OSError):
                self._probe = Segment(1)
        return SegmentName() if self._probe is None else self._probe.name

    def lend(self, size: int) -> SegmentLease | None:
        """Return a lease of `size` bytes, held by the caller. If shared memory is not available,
        return None.
        """
        step = max(1 << max(size.bit_length() - 1, 0), mmap.PAGESIZE) // _STEPS
        segment = self.take(-(-size // step) * step)
        if segment is None:
            return None
        lease = SegmentLease(self, segment, size)
        self._leases[address_of(lease.content)] = lease
        return lease

    def lease_of(self, memory: Any) -> SegmentLease | None:
        """Add a holder to the lease of exactly this memory, and return the lease. Return None if
        this memory has no lease.

        The caller must make sure that another holder keeps the lease during the call.
        """
        lease = self._leases.get(address_of(memory))
        return None if lease is None or lease.content.nbytes != memory.nbytes else lease.hold()

    def end_lease(self, lease: SegmentLease, segment: Segment) -> None:
        """Take back the segment of a lease that has no holders left."""
        self._leases.pop(address_of(lease.content), None)
        self.give_back(segment)

    def take(self, size: int) -> Segment | None:
        """Return a segment with room for `size` bytes, which the caller must give back later. If
        shared memory is not available, return None.
        """
        with self._lock:
            free = self._free.get(size)
            if free:
                self._free_bytes -= size
                return free.pop()
            self._shrink()
        if not is_possible():
            return None
        try:
            if size < _available_bytes() // 2:
                return Segment(size)
            reason = "there is not twice that memory"
        except OSError as error:
            reason = str(error)
        if not self._has_warned:
            _LOG.warning("Tensors go over gRPC: no %d bytes of shared memory (%s)", size, reason)
            self._has_warned = True
        return None

    def give_back(self, segment: Segment) -> None:
        """Take back a segment that no process reads or writes any more."""
        size = segment.name.size
        segment.idle_since = monotonic()
        with self._lock:
            self._free.setdefault(size, []).append(segment)
            self._free.move_to_end(size)
            self._free_bytes += size
            self._shrink()

    def _shrink(self) -> None:
        """Free segments and drop mappings that have been idle for 10 s or exceed the limits on the
        total size.
        """
        for size, kept in list(self._free.items()):
            while kept and (
                self._free_bytes > _MAX_FREE_BYTES or monotonic() - kept[0].idle_since > _IDLE_S
            ):
                kept.pop(0).free()
                self._free_bytes -= size
            if not kept:
                del self._free[size]
        mapped_bytes = sum(name.size for name in self._mapped)
        for name, mapping in list(self._mapped.items()):
            is_too_much = len(self._mapped) > _MAX_MAPPED or mapped_bytes > _MAX_MAPPED_BYTES
            if not is_too_much and monotonic() - mapping.used < _IDLE_S:
                break
            mapped_bytes -= name.size
            del self._mapped[name]

    def map(self, name: SegmentName) -> Any | None:
        """Return the content of another task's segment, or None if the segment can't be mapped.

        The mapping is kept for later steps.
        """
        if not name.size:
            return None
        with self._lock:
            known = self._mapped.pop(name, None)
        memory = mapped(name) if known is None else known.memory
        if memory is not None:
            with self._lock:
                self._mapped[name] = _Mapping(memory, monotonic())
                self._shrink()
        return memory

    def forget(self, names: Iterable[SegmentName]) -> None:
        """Unmap the segments of failed steps. The owners of these segments never use them again."""
        with self._lock:
            for name in names:
                self._mapped.pop(name, None)

    def clear(self) -> None:
        """Free all idle segments, and drop all mappings."""
        with self._lock:
            for segment in itertools.chain(*self._free.values()):
                segment.free()
            self._free.clear()
            self._free_bytes = 0
            self._mapped.clear()
