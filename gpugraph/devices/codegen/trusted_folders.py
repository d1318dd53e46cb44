"""Trusted folders: folders and files that no other user can have written. A folder is checked after
it is opened, and is then used through its descriptor.

    with open_folder(path) as folder:       created with its parents if missing, mode 0700
        write_file(folder, name, content)   whole, or not at all
        read_file(folder, name, max)        a regular file of this user or root, of a bounded size

A user who can write to a folder can replace the folders in it. Therefore all folders above a
trusted folder are checked too, as in ssh. Each folder must belong to this user or to root. No other
user may be able to write to the folder, unless it has the sticky bit (as /tmp has).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """Yield a descriptor (for `dir_fd`) of a folder to which only this user can write. Missing
    folders are created.

    Raises PermissionError, with the name of the folder, if other users could write to the folder.
    Raises OSError if the folder can't be created.
    """
    try:
        handle = _walk(os.path.abspath(path))
    except NotADirectoryError:  # perhaps a link: its target counts
        handle = _walk(os.path.realpath(path))
    try:
        yield handle
    finally:
        os.close(handle)


def _walk(path: str) -> int:
    """Return a descriptor of the folder at an absolute path. No component of the path may be a
    link.
    """
    reached = os.sep
    handle = os.open(reached, _FOLDER)
    try:
        for name in Path(path).parts[1:]:
            _check(os.fstat(handle), reached, owners=(0, os.geteuid()), is_sticky_safe=True)
            inner = _inner(handle, name)
            os.close(handle)
            handle, reached = inner, os.path.join(reached, name)
        _check(os.fstat(handle), reached, owners=(os.geteuid(),), is_sticky_safe=False)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _inner(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another process has just created it
            os.mkdir(name, 0o700, dir_fd=folder)
            os.chmod(name, 0o700, dir_fd=folder)  # independent of the umask
        return os.open(name, _FOLDER, dir_fd=folder)


def _check(
    status: os.stat_result, path: str, owners: tuple[int, ...], is_sticky_safe: bool
) -> None:
    if status.st_uid not in owners:
        raise PermissionError(f"{path} belongs to another user (id {status.st_uid})")
    is_safe = is_sticky_safe and status.st_mode & stat.S_ISVTX
    if status.st_mode & _OF_OTHERS and not is_safe:
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        raise PermissionError(f"{path} can be written by others (mode {mode})")


def read_file(folder: int, name: str, most_bytes: int) -> bytes:
    """Return the content of a file, and set its time of last use to the current time.

    Raises FileNotFoundError if the file does not exist. Raises PermissionError, before anything is
    read, if another user may have written the file. The same error is raised if the file is not a
    regular file, or has more than `most_bytes` bytes.
    """
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            raise PermissionError(f"{name} is no regular file of {most_bytes} bytes at most")
        _check(status, name, owners=(0, os.geteuid()), is_sticky_safe=False)
        with contextlib.suppress(OSError):  # a read-only folder is fine
            os.utime(handle)
        with open(handle, "rb", closefd=False) as file:
            return file.read(most_bytes)
    finally:
        os.close(handle)


def write_file(folder: int, name: str, content: bytes) -> None:
    """Write the content to a temporary file, and give that file its final name only then. So no
    process ever reads partial content. Raises OSError if the file can't be written.
    """
    beside = f".{name}.{secrets.token_hex(4)}"
    try:
        handle = os.open(beside, _WRITE, 0o600, dir_fd=folder)
        with open(handle, "wb") as file:
            os.fchmod(handle, 0o600)  # independent of the umask
            file.write(content)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_file(folder, beside)
        raise


def remove_file(folder: int, name: str) -> None:
    """Remove a file, a link (but not its target), or an empty folder. Errors are ignored.

    A folder that is not empty is renamed instead, because its contents may belong to another user.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            os.unlink(name, dir_fd=folder)
            return
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            aside = f"{name}.{secrets.token_hex(4)}"
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)


_PRIVATE: dict[int, Path] = {}


def private_folder() -> Path:
    """Return a temporary folder of this process, which is removed when the process ends.

    Raises PermissionError if another user could replace the folder.
    """
    process = os.getpid()  # a forked child gets its own folder
    if process not in _PRIVATE or not _PRIVATE[process].is_dir():
        path = Path(tempfile.mkdtemp(prefix="gpugraph-"))
        atexit.register(_remove, process, path)
        with open_folder(path):
            _PRIVATE[process] = path
    return _PRIVATE[process]


def _remove(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
