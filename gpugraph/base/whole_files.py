"""Files that are there as a whole or not at all, and what the system refuses as errors."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from typing import Any, BinaryIO

from gpugraph.base import errors
from gpugraph.base.interruptions.signal_handlers import raised_by_handler, uninterrupted

_CLASSES = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EBUSY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
}


@contextlib.contextmanager
def system_errors(path: Any) -> Iterator[None]:
    """Makes of an OSError in it the error of its class, which names the path."""
    try:
        yield
    except OSError as error:
        if raised_by_handler(error):  # as a TimeoutError
            raise
        kind = _CLASSES.get(error.errno or 0, errors.UnknownError)
        why = error.strerror or str(error)
        raise kind(None, None, f"{os.fsdecode(path)}; {why}") from error


def create_beside(path: str, buffering: int = -1) -> tuple[BinaryIO, str]:
    """A new empty file under a temporary name beside `path`, and that name."""
    name = f"{path}.tempstate{secrets.token_hex(8)}"
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
    return open(handle, "wb", buffering), name


def sync_and_close(file: BinaryIO) -> None:
    """Closes a file once the disk has all of it."""
    with file:
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Lets the disk have the names of files in a folder; where folders can't be synced, nothing."""
    with contextlib.suppress(OSError):
        handle = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@uninterrupted
def remove_stale(start: str, before: float) -> None:
    """Removes temporary files that begin with `start` and were last written before a time.

    They are of writers that were killed; one that is at work has written later.
    """
    folder, base = os.path.split(start)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or "."):
            path = os.path.join(folder, name)
            is_temporary = name.startswith(base) and ".tempstate" in name
            if is_temporary and os.lstat(path).st_mtime < before:
                with contextlib.suppress(OSError):
                    os.unlink(path)


@uninterrupted
def write_whole(path: str, content: bytes) -> None:
    """Writes a file under another name and renames it, so that it is never there in part.

    Its folder is made where it is missing. tf.errors.OpError of what the system refuses.
    """
    folder = os.path.dirname(path) or "."
    with system_errors(path):
        os.makedirs(folder, exist_ok=True)
        file, temporary = create_beside(path)
        try:
            with file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):  # it may be renamed already
                os.unlink(temporary)
            raise
        sync_folder(folder)
