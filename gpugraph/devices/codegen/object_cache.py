"""Compiled objects on disk, by content: each is compiled once.

    $XDG_CACHE_HOME/gpugraph/native (~/.cache/... without it), mode 0700
        <key>.so     the object, and after its end the digest of its bytes

Objects are code that will run, so a folder that others could write to is not used. A file appears
whole (written beside, then renamed) and is checked against its digest before it is loaded: what a
full disk or a broken one left is compiled again. Threads and processes may share the folder, and
any file may vanish at any time. Beyond a bound the files that were longest unused go.

Where the folder can't be used, objects go to one of this process's own, which goes with it; the
reason is kept.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

from gpugraph.config.environment import setting

MOST_BYTES = 256 << 20
"""What the objects in the folder may take together."""

_DIGEST = hashlib.sha256().digest_size
_RECENT = 3600.0
"""Seconds in which a file that was just used is not removed: someone may be loading it."""


def cache_folder() -> Path:
    """Where this user's objects are kept."""
    base = setting("XDG_CACHE_HOME")
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~"), ".cache")
    return root / "gpugraph" / "native"


class ObjectCache:
    """A folder of compiled objects.

    reason: why new objects are not kept in the user's folder; empty where they are.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES, ending: str = ".so") -> None:
        self.folder = folder
        self.ending = ending
        self.most_bytes = most_bytes
        self.reason = ""
        self._lock = threading.Lock()
        self._trusted: bool | None = None  # None: not looked at yet
        self._private: tuple[int, Path] | None = None  # with its process

    def find(self, key: str) -> Path | None:
        """The file of a whole object, or None. A broken one is removed."""
        if not self._is_trusted():
            return None
        path = self.folder / f"{key}{self.ending}"
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if len(content) > _DIGEST and _digest(content[:-_DIGEST]) == content[-_DIGEST:]:
            _touch(path)
            return path
        self.drop(path)
        return None

    def content(self, key: str) -> bytes | None:
        """What was stored under the key, or None."""
        path = self.find(key)
        try:
            return None if path is None else path.read_bytes()[:-_DIGEST]
        except OSError:  # gone meanwhile
            return None

    def store(self, key: str, content: bytes, private: bool = False) -> Path:
        """The file that now holds this object. OSError where there is no room for it at all."""
        if not private and self._is_trusted() and not self.reason:
            try:
                path = _write(self.folder, key, self.ending, content)
            except OSError as error:
                self.reason = f"{self.folder} can't be written: {error.strerror or error}"
            else:
                self._prune()
                return path
        return _write(self.private(), key, self.ending, content)

    def drop(self, path: Path) -> None:
        """Removes a file that can't be loaded."""
        with contextlib.suppress(OSError):  # not ours, or gone: then it is stored elsewhere
            path.unlink()

    def private(self) -> Path:
        """A folder of this process alone, made at first use."""
        with self._lock:
            if self._private is None or self._private[0] != os.getpid():  # a fork takes it along
                self._private = os.getpid(), Path(tempfile.mkdtemp(prefix="gpugraph-"))
                atexit.register(_remove, *self._private)
            return self._private[1]

    def _is_trusted(self) -> bool:
        """Whether what lies in the user's folder may be loaded; looked at once."""
        with self._lock:
            if self._trusted is None:
                self.reason = _refusal(self.folder)
                self._trusted = not self.reason
            return self._trusted

    # -- the bound

    def _prune(self) -> None:
        """Removes what was longest unused, down to three quarters of the bound."""
        files = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # gone: others are at it too
                    files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
        total = sum(size for _, size, _ in files)
        if total <= self.most_bytes:
            return
        now = time.time()
        for used, size, path in sorted(files):
            if total <= self.most_bytes * 3 // 4 or now - used < _RECENT:
                return
            self.drop(Path(path))
            total -= size


def _refusal(folder: Path) -> str:
    """Makes the folder; why it must not be used, or nothing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.stat(folder)
    except OSError as error:
        return f"{folder} can't be made: {error.strerror or error}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is no folder"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to another user (id {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{folder} can be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _write(folder: Path, key: str, ending: str, content: bytes) -> Path:
    """Writes beside, then renames: no process ever sees half a file."""
    path = folder / f"{key}{ending}"
    beside = folder / f".{key}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content + _digest(content))
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return path


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):  # a folder that is only read serves as well
        os.utime(path)


def _remove(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
