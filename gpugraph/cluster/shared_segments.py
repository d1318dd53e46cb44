"""Memory that the processes of one machine see: anonymous files of Linux (memfd).

A segment has no name, so that nothing is left when its process is killed; its size can't change,
and the last process that maps it frees it. Others open it as `/proc/<pid>/fd/<number>`. That they
are on the same machine, and opened the right one, is proven by a random token that the segment
begins with and that its owner has sent over gRPC. Who can't open it uses gRPC for the tensors too.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.fork_safe_locks import new_lock

_HEAD_BYTES = 64
_TOKEN_BYTES = 32
_MOST_FREE_BYTES = 2 << 30
_MOST_MAPPED = 256
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
        self.content = np.frombuffer(memory, np.uint8)[_HEAD_BYTES:]

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
    """Segments of one session that are free, by size, and those of others that it has mapped."""

    def __init__(self) -> None:
        self._free: OrderedDict[int, list[Segment]] = OrderedDict()
        self._mapped: OrderedDict[SegmentName, Any] = OrderedDict()
        self._lock = new_lock()

    def take(self, size: int) -> Segment | None:
        """A segment, this caller's until it gives it back; None where there can't be one."""
        with self._lock:
            free = self._free.get(size)
            if free:
                return free.pop()
        if not is_possible():
            return None
        try:
            return Segment(size) if size < _available_bytes() // 2 else None
        except OSError:
            return None

    def give_back(self, segment: Segment) -> None:
        """Nobody reads or writes it any more."""
        with self._lock:
            self._free.setdefault(segment.name.size, []).append(segment)
            self._free.move_to_end(segment.name.size)
            while sum(size * len(kept) for size, kept in self._free.items()) > _MOST_FREE_BYTES:
                size, kept = next(iter(self._free.items()))
                if kept:
                    kept.pop()
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
                while len(self._mapped) > _MOST_MAPPED:
                    self._mapped.popitem(last=False)
        return memory

    def clear(self) -> None:
        """Forgets all: memory goes when nobody has it mapped."""
        with self._lock:
            self._free.clear()
            self._mapped.clear()
