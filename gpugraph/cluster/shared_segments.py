"""Memory that the processes of one machine see: anonymous files of Linux (memfd).

A segment has no name, so that nothing is left when its process is killed; its size can't change,
and the last process that maps it frees it. Others open it as `/proc/<pid>/fd/<number>`. That they
are on the same machine, and opened the right one, is proven by a random token that the segment
begins with and that its owner has sent over gRPC. Who can't open it uses gRPC for the tensors too.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterable
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock

_HEAD_BYTES = 64
_TOKEN_BYTES = 32
_MOST_FREE_BYTES = 2 << 30
_IDLE_S = 10.0
"""How long a free segment is kept: shapes that come once only leave nothing."""

_MOST_MAPPED = 256
_MOST_MAPPED_BYTES = 8 << 30
_SEALS = "F_SEAL_SHRINK", "F_SEAL_GROW", "F_SEAL_SEAL"


class SegmentName(NamedTuple):
    """What others need to map a segment; `size` is that of its content, 0 for none."""

    pid: int = 0
    number: int = 0
    token: bytes = b""
    size: int = 0


class Segment:
    """Memory of this process that others may read. OSError where the system has none to give."""

    def __init__(self, size: int) -> None:
        self._file = os.memfd_create("gpugraph", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.posix_fallocate(self._file, 0, _HEAD_BYTES + size)  # else a write could be a SIGBUS
            seals = [getattr(fcntl, name) for name in _SEALS]
            fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, seals[0] | seals[1] | seals[2])
            memory = mmap.mmap(self._file, _HEAD_BYTES + size)
        except BaseException:
            os.close(self._file)
            raise
        token = os.urandom(_TOKEN_BYTES)
        memory[:_TOKEN_BYTES] = token
        self.name = SegmentName(os.getpid(), self._file, token, size)
        self._memory = memory
        self.idle_since = 0.0
        self.content = np.frombuffer(memory, np.uint8)[_HEAD_BYTES:]

    def free(self) -> None:
        """Gives its memory back to the system, though others have it mapped: they read zeros."""
        with contextlib.suppress(OSError):  # where the system can't, it goes with the last mapping
            self._memory.madvise(mmap.MADV_REMOVE)

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            os.close(self._file)


def is_possible() -> bool:
    """Whether this system has such memory."""
    return hasattr(os, "memfd_create") and hasattr(fcntl, "F_ADD_SEALS")


def _available_bytes() -> int:
    """The memory that the system can give without killing somebody. OSError where it won't say."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file if ":" in line)
    return int(lines["MemAvailable"].split()[0]) << 10


def mapped(name: SegmentName) -> Any | None:
    """The content of another process's segment, read-only; None where this process can't see it."""
    size = _HEAD_BYTES + name.size
    with contextlib.suppress(OSError, ValueError, AttributeError):
        file = os.open(f"/proc/{name.pid}/fd/{name.number}", os.O_RDONLY | os.O_CLOEXEC)
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


class SegmentPool:
    """Segments of one task that are free, by size, and those of others that it has mapped."""

    def __init__(self) -> None:
        self._free: OrderedDict[int, list[Segment]] = OrderedDict()  # those used last come last
        self._free_bytes = 0
        self._mapped: OrderedDict[SegmentName, Any] = OrderedDict()
        self._lock = new_lock()

    def take(self, size: int) -> Segment | None:
        """A segment, this caller's until it gives it back; None where there can't be one."""
        with self._lock:
            free = self._free.get(size)
            if free:
                self._free_bytes -= size
                return free.pop()
            self._shrink()
        if not is_possible():
            return None
        try:
            return Segment(size) if size < _available_bytes() // 2 else None
        except OSError:
            return None

    def give_back(self, segment: Segment) -> None:
        """Nobody reads or writes it any more."""
        size = segment.name.size
        segment.idle_since = monotonic()
        with self._lock:
            self._free.setdefault(size, []).append(segment)
            self._free.move_to_end(size)
            self._free_bytes += size
            self._shrink()

    def _shrink(self) -> None:
        """Frees what has not been used for long, and what is too much."""
        for size, kept in list(self._free.items()):
            while kept and (
                self._free_bytes > _MOST_FREE_BYTES or monotonic() - kept[0].idle_since > _IDLE_S
            ):
                kept.pop(0).free()
                self._free_bytes -= size
            if not kept:
                del self._free[size]

    def map(self, name: SegmentName) -> Any | None:
        """The content of another's segment, or None; what was mapped is kept for later steps."""
        if not name.size:
            return None
        with self._lock:
            memory = self._mapped.get(name)
            if memory is not None:
                self._mapped.move_to_end(name)
                return memory
        memory = mapped(name)
        if memory is not None:
            with self._lock:
                self._mapped[name] = memory
                sizes = sum(other.size for other in self._mapped)
                while len(self._mapped) > _MOST_MAPPED or sizes > _MOST_MAPPED_BYTES:
                    sizes -= self._mapped.popitem(last=False)[0].size
        return memory

    def forget(self, names: Iterable[SegmentName]) -> None:
        """Maps these no longer: their owners have failed, and do not use them again."""
        with self._lock:
            for name in names:
                self._mapped.pop(name, None)

    def clear(self) -> None:
        """Frees all that is not in use."""
        with self._lock:
            for segment in itertools.chain(*self._free.values()):
                segment.free()
            self._free.clear()
            self._free_bytes = 0
            self._mapped.clear()
