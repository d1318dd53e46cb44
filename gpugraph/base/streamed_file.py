"""Writing and removal of large files. Threads sync a file while it is written, and free the blocks
of a removed file.

If a file were synced only when it is complete, the program would be idle for half of the total
time. Instead, one thread writes and another syncs the written part, while the program computes the
next bytes. Freeing the blocks of a removed file takes a long time as well, so a thread frees them
after the name is removed.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import threading
from abc import ABC, abstractmethod
from typing import Any, BinaryIO

from gpugraph.base.interruptions.signal_handlers import uninterrupted

_GATHERED = 1 << 20
_MAX_BUFFERS = 512
"""The maximum number of bytes, and of buffers, that one system call writes."""

_MAX_BATCHES = 8
_EARLY = 8 << 20
"""The minimum size in bytes of a file that threads write and sync, or remove."""

_sync_data = getattr(os, "fdatasync", os.fsync)


class StreamedFile:
    """A new file, open for unbuffered writing, which `close` and `abandon` close.

    Buffers are not copied. A buffer must not change until it is written to the file, which may
    happen as late as in `close`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._handle = file.fileno()
        self._buffers: list[memoryview] = []
        self._gathered = 0
        self._written = 0
        self._threads_from: float = _EARLY
        self._syncing: _Syncing | None = None
        self._writing: _Writing | None = None

    def write(self, content: Any) -> None:
        """Append the bytes of a contiguous buffer. Raises OSError if writing these or earlier bytes
        fails.
        """
        view = memoryview(content)
        size = view.nbytes
        if not size:
            return
        self._buffers.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        self._gathered += size
        if self._gathered >= _GATHERED or len(self._buffers) >= _MAX_BUFFERS:
            self._flush()

    def _flush(self) -> None:
        buffers, self._buffers = self._buffers, []
        self._written += self._gathered
        self._gathered = 0
        if self._written >= self._threads_from:
            self._start_threads()
        if self._writing is not None:
            self._writing.put(buffers)
        else:
            _write_all(self._handle, buffers)

    def _start_threads(self) -> None:
        self._threads_from = math.inf
        with contextlib.suppress(RuntimeError):  # too many threads, or the program is about to exit
            self._syncing = _Syncing(self._handle)
            self._writing = _Writing(self._handle, self._syncing)

    def close(self) -> None:
        """Sync the file to disk and close it. Raises OSError if this fails, or if a thread's
        earlier write has failed.
        """
        try:
            self._flush()
            self._end_threads()
            os.fsync(self._handle)
        finally:
            self.abandon()

    def _end_threads(self) -> None:
        """Wait until the writing and the syncing thread have finished and ended. Raises their
        OSError.
        """
        writing, self._writing = self._writing, None
        syncing, self._syncing = self._syncing, None
        try:
            if writing is not None:
                writing.end()
        finally:
            if syncing is not None:
                syncing.end()

    @uninterrupted
    def abandon(self) -> None:
        """Close the file without a sync, and drop the bytes that are not written yet.

        Do nothing if the file is already closed.
        """
        self._buffers.clear()
        with contextlib.suppress(OSError):
            self._end_threads()
        with contextlib.suppress(OSError):
            self._file.close()


def _write_all(handle: int, buffers: list[memoryview]) -> None:
    while buffers:
        count = _write(handle, buffers)
        while buffers and count >= len(buffers[0]):
            count -= len(buffers[0])
            del buffers[0]
        if count:
            buffers[0] = buffers[0][count:]


def _write(handle: int, buffers: list[memoryview]) -> int:
    if hasattr(os, "writev"):
        return os.writev(handle, buffers)
    return os.write(handle, buffers[0])


class _Helper(ABC):
    """A thread that works on one file until an OSError occurs or `end` is called."""

    def __init__(self, name: str) -> None:
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except OSError as error:  # keep it: the system reports an error only once
            self._error = error

    @abstractmethod
    def _work(self) -> None:
        """Do the thread's work. Return after a call of `_ask_to_end`."""

    def end(self) -> None:
        """Wait until the thread has finished its work and ended. Raises the thread's OSError, if
        any.
        """
        self._ask_to_end()
        self._thread.join()
        if self._error is not None:
            raise self._error

    @abstractmethod
    def _ask_to_end(self) -> None:
        """Make `_work` return when it has finished."""


class _Syncing(_Helper):
    """A thread that syncs a file again whenever more has been written."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._has_written = threading.Event()
        self._is_over = False
        super().__init__("file sync")

    def again(self) -> None:
        """Notify the thread that more bytes have been written."""
        self._has_written.set()

    def _work(self) -> None:
        while not self._is_over:
            _sync_data(self._handle)
            self._has_written.wait()
            self._has_written.clear()

    def _ask_to_end(self) -> None:
        self._is_over = True
        self._has_written.set()


class _Writing(_Helper):
    """A thread that writes batches of buffers in order, from a short queue."""

    def __init__(self, handle: int, syncing: _Syncing) -> None:
        self._handle = handle
        self._syncing = syncing
        self._batches: queue.Queue[list[memoryview]] = queue.Queue(_MAX_BATCHES)
        super().__init__("file writer")

    def put(self, buffers: list[memoryview]) -> None:
        """Queue buffers for writing. Waits while the queue is full.

        Raises the OSError of an earlier write.
        """
        while True:
            if self._error is not None:
                raise self._error
            with contextlib.suppress(queue.Full):
                self._batches.put(buffers, timeout=0.1)
                return

    def _work(self) -> None:
        while buffers := self._batches.get():
            _write_all(self._handle, buffers)
            self._syncing.again()

    def _ask_to_end(self) -> None:
        with contextlib.suppress(OSError):
            self.put([])


@uninterrupted
def remove_file(path: str) -> None:
    """Remove a file. If it is large, a thread frees its blocks afterwards. Raises OSError if the
    file can't be removed.
    """
    handle = -1
    if os.name == "posix":
        with contextlib.suppress(OSError):
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
            handle = os.open(path, flags) if os.lstat(path).st_size >= _EARLY else -1
    try:
        os.remove(path)
    finally:
        if handle >= 0:  # closing the last handle frees the blocks
            try:
                threading.Thread(target=os.close, args=(handle,), daemon=True).start()
            except RuntimeError:
                os.close(handle)
