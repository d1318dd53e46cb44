"""The cache of compiled code on disk: native libraries and cubins.

    $XDG_CACHE_HOME/gpugraph/native (~/.cache/... without it), mode 0700
        <key>.so     the content, followed by a digest of its name and bytes

The content will be executed, so a file is used only if no other user (except root) can have written
it. The folder and all folders above it are checked at each use, and a file is checked after it has
been opened (`codegen.trusted_folders`). A file gets its final name only when it is complete, and
its digest is checked when it is read. If a disk error has truncated a file, or a file was renamed,
the file is removed and its code is compiled again. Threads and processes may share the folder, and
any file may disappear at any time. The thread that compiles an entry locks its key, and all other
threads and processes that need the entry wait. When the files exceed a size limit, the least
recently used files are removed.

If the folder can't be used, nothing is stored, and `reason` contains the cause.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import re
import stat
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.config.environment import setting
from gpugraph.devices.codegen.trusted_folders import open_folder, read_file, remove_file, write_file

MOST_BYTES = 256 << 20
"""The maximum total size in bytes of a folder's entries."""

_MOST_ENTRY_BYTES = 64 << 20
_DIGEST = hashlib.sha256().digest_size
_KEY = "[0-9a-f]{40,64}"
_RECENT = 3600.0
"""A file is never removed within this number of seconds after its last use."""

_POLL = 0.02
"""Seconds between two attempts to lock a key."""

_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
"""Errors that are caused by the process or the system, so they do not mean that a file is
invalid.
"""


def cache_folder() -> Path:
    """Return the folder of this user's compiled code. The folder may not exist yet."""
    base = setting("XDG_CACHE_HOME")
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~"), ".cache")
    return root / "gpugraph" / "native"


@cache
def log_once(reason: str) -> None:
    """Log a warning that compiled code is not stored, with the reason. Each reason is logged only
    once.
    """
    logging.getLogger(__name__).warning("%s", reason)


def key_of(*parts: object) -> str:
    """Return a key of 40 hexadecimal digits, which is a digest of the `repr` of `parts`. The parts
    must contain everything that affects the content of the cache entry.
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


class ObjectCache:
    """A cache of entries by key, in files of one folder.

    Args:
      ending: the suffix of the files' names.

    Attributes:
      reason: the reason why nothing is stored, or "" if there was no problem.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES, ending: str = ".so") -> None:
        self.folder = folder
        self.ending = ending
        self.most_bytes = most_bytes
        self.reason = ""
        self._own_name = re.compile(rf"{_KEY}{re.escape(ending)}")
        self._unfinished_name = re.compile(rf"\.{_KEY}{re.escape(ending)}\.\w+")
        self._unpruned = most_bytes  # bytes stored since the last pruning

    @uninterrupted
    def load(self, key: str) -> bytes | None:
        """Return the content that is stored under the key, or None. If the file for the key is
        invalid, it is removed.
        """
        name = self._name(key)
        with self._folder() as folder:
            if folder is None:
                return None
            try:
                content = read_file(folder, name, _MOST_ENTRY_BYTES)
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno in _PASSING:
                    return None
                content = b""
            if len(content) >= _DIGEST and content.endswith(_digest(name, content[:-_DIGEST])):
                return content[:-_DIGEST]
            remove_file(folder, name)
        return None

    @uninterrupted
    def store(self, key: str, content: bytes) -> bool:
        """Store a content under its key. Return whether the content was stored. If an error
        prevents this, set `reason`.
        """
        name = self._name(key)
        if self.reason or len(content) > _MOST_ENTRY_BYTES - _DIGEST:
            return False
        with self._folder() as folder:
            if folder is not None:
                write_file(folder, name, content + _digest(name, content))
                self._unpruned += len(content)
                if self._unpruned > self.most_bytes // 16:
                    self._unpruned = 0
                    self._prune(folder)
        return not self.reason

    @uninterrupted
    def drop(self, key: str) -> None:
        """Remove the entry of a key."""
        with self._folder() as folder:
            if folder is not None:
                remove_file(folder, self._name(key))

    @contextlib.contextmanager
    def locked(self, key: str, most_seconds: float) -> Iterator[None]:
        """Hold the key's lock in the `with` block, so that only one thread of one process compiles
        the key's source.

        If the lock is not free after `most_seconds`, or the file system has no locks, the block
        runs without a lock.
        """
        name = f".{self._name(key)}.lock"
        handle = self._lock(name, time.monotonic() + most_seconds)
        try:
            yield
        finally:
            if handle is not None:
                with self._folder() as folder:
                    if folder is not None:
                        remove_file(folder, name)
                fcntl.flock(handle, fcntl.LOCK_UN)  # a forked process has the descriptor too
                os.close(handle)

    def _lock(self, name: str, deadline: float) -> int | None:
        if self.reason:
            return None
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with open_folder(self.folder) as folder:
                handle = os.open(name, flags, 0o600, dir_fd=folder)
        except OSError:
            return None
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_POLL)
                    continue
            except OSError:  # a file system without locks
                pass
            os.close(handle)
            return None

    @contextlib.contextmanager
    def _folder(self) -> Iterator[int | None]:
        """Yield a descriptor of the checked folder, or None if the folder can't be used. An OSError
        in the `with` block is recorded as `reason`.
        """
        is_open = False
        try:
            with open_folder(self.folder) as folder:
                is_open = True
                yield folder
        except OSError as error:
            self.reason = f"compiled code is not kept in {self.folder}: {error}"
            if not is_open:
                yield None

    def _name(self, key: str) -> str:
        name = key + self.ending
        assert self._own_name.fullmatch(name), "keys are hexadecimal digests"
        return name

    def _prune(self, folder: int) -> None:
        """If the entries exceed the size limit, remove the least recently used entries until the
        remaining entries fill three quarters of the limit. Also remove old unfinished files of
        processes that have died.

        Only regular files with names of this cache are counted and removed.
        """
        files = []
        for name in _names(folder):
            is_unfinished = self._unfinished_name.fullmatch(name)
            if not is_unfinished and not self._own_name.fullmatch(name):
                continue
            with contextlib.suppress(OSError):  # other processes remove files too
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files.append((not is_unfinished, status.st_mtime, status.st_size, name))
        total = sum(size for _, _, size, _ in files)
        wanted = self.most_bytes * 3 // 4 if total > self.most_bytes else total
        now = time.time()
        for is_entry, used, size, name in sorted(files):
            if (is_entry and total <= wanted) or now - used < _RECENT:
                continue
            remove_file(folder, name)
            total -= size


def _names(folder: int) -> list[str]:
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.listdir(handle)
    finally:
        os.close(handle)


def _digest(name: str, content: bytes) -> bytes:
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return digest.digest()
