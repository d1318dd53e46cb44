"""Event files: files of TFRecords that contain Event messages. Their names allow TensorBoard to
find them.

There is no writer thread. Events are buffered in memory. The buffered events are written when there
are `max_queue` of them, when an event is added more than `flush_secs` seconds after the last write,
when the writer is flushed or closed, and when the process ends.
"""

from __future__ import annotations

import io
import itertools
import os
import socket
import time
import weakref
from typing import Any

from gpugraph.base.errors import AlreadyExistsError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.whole_files import are_writes_discarded, local_path
from gpugraph.formats.summary_bytes import file_version_event
from gpugraph.formats.tf_record import write_record
from gpugraph.platform import files


class _OpenFile:
    """The file and its buffered events. This object is separate from the writer, so that the
    writer's finalizer can close the file.
    """

    def __init__(self, path: str) -> None:
        self.path, self.owner = path, os.getpid()
        self.waiting: list[bytes] = []
        place, mode = (os.devnull, "wb") if are_writes_discarded() else (local_path(path), "xb")
        with files.system_errors(path):
            self.file = open(place, mode, buffering=0)  # noqa: SIM115  # closed by `close`

    def write(self) -> None:
        """Write all buffered events. In a forked child process, discard the events, because the
        parent process writes them.
        """
        waiting, self.waiting = self.waiting, []
        if not waiting or self.owner != os.getpid():
            return
        frames = io.BytesIO()
        for event in waiting:
            write_record(frames, event)
        content = frames.getbuffer()
        with files.system_errors(self.path):
            while (
                content
            ):  # a full disk may accept a part of the content before it rejects the rest
                content = content[self.file.write(content) :]

    def close(self) -> None:
        """Write the buffered events, and close the file."""
        try:
            self.write()
        finally:
            self.file.close()


class EventFileWriter:
    """A writer of events to a new file in a folder.

    Args:
      logdir: the folder. It is created if it does not exist.
      max_queue: the number of events that may be buffered before they are written.
      flush_secs: if an event is added more than this number of seconds after the last write, all
        buffered events are written.
      filename_suffix: a suffix of the file's name.

    Raises:
      tf.errors.OpError: the file can't be created. The class depends on the file system's error.
    """

    def __init__(
        self,
        logdir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = os.fspath(logdir)
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._lock = new_lock()
        files.MakeDirs(self._logdir or ".")
        self._open()

    def get_logdir(self) -> Any:
        """Return the folder of the event file."""
        return self._logdir

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return not self._finalizer.alive

    def add_event_bytes(self, event: bytes) -> None:
        """Add a serialized Event message. If the writer is closed, do nothing."""
        with self._lock:
            if self.closed:
                return
            self._file.waiting.append(event)
            if len(self._file.waiting) >= self._max_queue or time.time() >= self._write_at:
                self._write()

    def flush(self) -> None:
        """Write all buffered events."""
        with self._lock:
            if not self.closed:
                self._write()

    def close(self) -> None:
        """Write all buffered events, and close the file."""
        with self._lock:
            self._finalizer()

    def reopen(self) -> None:
        """If the writer is closed, open a new file, to which later events are written."""
        with self._lock:
            if self.closed:
                self._open()

    def _write(self) -> None:
        self._file.write()
        self._write_at = time.time() + self._flush_secs

    def _open(self) -> None:
        self._file = _new_file(self._logdir, self._suffix)
        self._finalizer = weakref.finalize(self, self._file.close)
        self._write_at = time.time() + self._flush_secs
        self._file.waiting.append(file_version_event(time.time()))
        self._file.write()


def _new_file(logdir: str, suffix: str) -> _OpenFile:
    """Create a file whose name contains the current time in seconds and the name of the host. If
    this name is in use, a number is added.
    """
    start = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
    for number in itertools.count():
        name = f"{start}.{number}{suffix}" if number else f"{start}{suffix}"
        try:
            return _OpenFile(os.path.join(logdir, name))
        except AlreadyExistsError:
            continue
    raise AssertionError("numbers have no end")
