"""Large files: the disk gets one while it is written, and frees one when it has time.

To sync a file at its end would wait for the disk alone: half of the time. Here a thread has the
disk take what is there, while the next bytes are computed and written. To remove a file takes as
long as to free its blocks; a thread does that too, when the name is gone.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, BinaryIO

_GATHERED = 1 << 20
_MOST_BUFFERS = 512
"""So many bytes, or buffers, are written by one call of the system."""

_EARLY = 16 << 20
"""Files of fewer bytes are synced when they are closed."""

_sync_data = getattr(os, "fdatasync", os.fsync)


class StreamedFile:
    """A new file, open for writing without a buffer, which this closes.

    Buffers are read when they are written: soon, or by `close`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._handle = file.fileno()
        self._buffers: list[memoryview] = []
        self._gathered = 0
        self._written = 0
        self._syncing: _Syncing | None = None

    def write(self, content: Any) -> None:
        """Appends the bytes of a contiguous buffer. OSError."""
        view = memoryview(content)
        if not view.nbytes:
            return
        self._buffers.append(view if view.format == "B" and view.ndim == 1 else view.cast("B"))
        self._gathered += view.nbytes
        if self._gathered >= _GATHERED or len(self._buffers) >= _MOST_BUFFERS:
            self._flush()

    def _flush(self) -> None:
        buffers, self._buffers = self._buffers, []
        self._gathered = 0
        while buffers:
            count = _write(self._handle, buffers)
            self._written += count
            while buffers and count >= len(buffers[0]):
                count -= len(buffers[0])
                del buffers[0]
            if count:
                buffers[0] = buffers[0][count:]
        if self._syncing is not None:
            self._syncing.again()
        elif self._written >= _EARLY:
            self._syncing = _Syncing(self._handle)

    def close(self) -> None:
        """Closes the file once the disk has all of it. OSError, also of syncing in between."""
        try:
            self._flush()
            if self._syncing is not None:
                self._syncing.end()
            os.fsync(self._handle)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Closes the file as it is; nothing where it is closed already."""
        syncing, self._syncing = self._syncing, None
        self._buffers.clear()
        try:
            if syncing is not None:
                syncing.end()
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError):
                self._file.close()


def _write(handle: int, buffers: list[memoryview]) -> int:
    if hasattr(os, "writev"):
        return os.writev(handle, buffers)
    return os.write(handle, buffers[0])


class _Syncing:
    """A thread that syncs a file whenever more has been written."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._more = threading.Event()
        self._is_over = False
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="checkpoint sync", daemon=True)
        self._thread.start()

    def again(self) -> None:
        """More has been written."""
        self._more.set()

    def _run(self) -> None:
        while not self._is_over and self._error is None:
            try:
                _sync_data(self._handle)
            except OSError as error:  # the system reports it once: a later sync may succeed
                self._error = error
            self._more.wait()
            self._more.clear()

    def end(self) -> None:
        """Waits for the thread. OSError where a sync failed."""
        self._is_over = True
        self._more.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


def remove_file(path: str) -> None:
    """Removes a file; the blocks of a large one are free a moment later. OSError."""
    handle = -1
    if os.name == "posix":
        with contextlib.suppress(OSError):
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
            handle = os.open(path, flags) if os.lstat(path).st_size >= _EARLY else -1
    try:
        os.remove(path)
    finally:
        if handle >= 0:  # the blocks go with the last handle
            threading.Thread(target=os.close, args=(handle,), daemon=True).start()
