"""Atomic creation of files, opening of files for reading, and conversion of the system's errors to
OpErrors.

Error numbers map to the same classes as in TensorFlow's core/platform/error.cc. A number that is
not in the table becomes an UnknownError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import fnmatch
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

from gpugraph.base import errors
from gpugraph.base.interruptions.signal_handlers import raised_by_handler, uninterrupted

_NUMBERS: dict[Any, str] = {
    errors.InvalidArgumentError: "EINVAL ENAMETOOLONG E2BIG EDESTADDRREQ EDOM EFAULT EILSEQ "
    "ENOPROTOOPT ENOSTR ENOTSOCK ENOTTY EPROTOTYPE ESPIPE",
    errors.DeadlineExceededError: "ETIMEDOUT ETIME",
    errors.NotFoundError: "ENODEV ENOENT ENXIO ESRCH",
    errors.AlreadyExistsError: "EEXIST EADDRNOTAVAIL EALREADY",
    errors.PermissionDeniedError: "EPERM EACCES EROFS",
    errors.FailedPreconditionError: "ENOTEMPTY EISDIR ENOTDIR EADDRINUSE EBADF EBUSY ECHILD "
    "EISCONN ENOTBLK ENOTCONN EPIPE ESHUTDOWN ETXTBSY",
    errors.ResourceExhaustedError: "ENOSPC EDQUOT EMFILE EMLINK ENFILE ENOBUFS ENODATA ENOMEM "
    "ENOSR EUSERS",
    errors.OutOfRangeError: "EFBIG EOVERFLOW ERANGE",
    errors.UnimplementedError: "ENOSYS ENOTSUP EAFNOSUPPORT EPFNOSUPPORT EPROTONOSUPPORT "
    "ESOCKTNOSUPPORT EXDEV",
    errors.UnavailableError: "EAGAIN ECONNREFUSED ECONNABORTED ECONNRESET EINTR EHOSTDOWN "
    "EHOSTUNREACH ENETDOWN ENETRESET ENETUNREACH ENOLCK ENOLINK ENONET",
    errors.AbortedError: "EDEADLK ESTALE",
    errors.CancelledError: "ECANCELED",
}
_SCHEME = "file://"
_CLASSES = {
    getattr(errno, name): kind
    for kind, names in _NUMBERS.items()
    for name in names.split()
    if hasattr(errno, name)  # no system defines all of them
}


def local_path(path: Any) -> str:
    """Return a path as the operating system accepts it: a string that is not a `file://` URL.

    "file:///folder/name" becomes "/folder/name".
    """
    text = os.fsdecode(path)
    if not text.startswith(_SCHEME):
        return text
    _, slash, rest = text[len(_SCHEME) :].partition("/")  # the host part is ignored
    return slash + rest


@contextlib.contextmanager
def system_errors(path: Any) -> Iterator[None]:
    """Convert an OSError raised in the block to an OpError whose message names `path`."""
    try:
        yield
    except OSError as error:
        if raised_by_handler(error):  # a TimeoutError, for example, is an OSError too
            raise
        kind = _CLASSES.get(error.errno or 0, errors.UnknownError)
        why = error.strerror or str(error)
        raise kind(None, None, f"{os.fsdecode(path)}; {why}") from error


def open_to_read(path: Any, buffering: int = -1, devices: bool = False) -> BinaryIO:
    """Open a file to be read from its beginning to its end, as bytes.

    Raises OSError for objects that have no end or no bytes: EISDIR for folders, ESPIPE for pipes,
    sockets and devices. For a pipe, the error is raised immediately, without waiting for a writer.

    Args:
      devices: whether devices are permitted. /dev/null is always permitted.
    """
    return open(local_path(path), "rb", buffering, opener=partial(_open, devices))


def check_end(file: BinaryIO) -> None:
    """Raise OSError (ESPIPE) if the open file is a device, pipe or socket, which has no known end.

    For a folder, the error number is EISDIR.
    """
    problem = _problem(os.fstat(file.fileno()), False)
    if problem:
        raise OSError(problem, os.strerror(problem))


def _open(devices: bool, path: Any, flags: int) -> int:
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        problem = _problem(os.fstat(handle), devices)
        if problem:
            raise OSError(problem, os.strerror(problem), path)
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _problem(status: os.stat_result, devices: bool) -> int:
    """Return the error number for an object that can't be read as a file, or 0 if it can be
    read.
    """
    if stat.S_ISDIR(status.st_mode):
        return errno.EISDIR
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    permitted = devices or (is_device and status.st_rdev == os.stat(os.devnull).st_rdev)
    return 0 if stat.S_ISREG(status.st_mode) or (is_device and permitted) else errno.ESPIPE


_TEMPORARY = ".tempstate"


def temporary_name(path: str) -> str:
    """Return a new path in the folder of `path`: its name with an unguessable random suffix."""
    return f"{path}{_TEMPORARY}{secrets.token_hex(8)}"


def create_beside(path: str, buffering: int = -1) -> tuple[BinaryIO, str]:
    """Create an empty file under a temporary name in the folder of `path`. Return the open file and
    its path.

    While the file is open, or protected by `kept`, `remove_stale` does not remove it in any
    process.
    """
    path = local_path(path)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        name = temporary_name(path)
        handle = os.open(name, flags, 0o666)
        _lock(handle, fcntl.LOCK_SH)
        if os.path.lexists(name):  # nobody removed it before it was locked
            return open(handle, "wb", buffering), name
        os.close(handle)


@contextlib.contextmanager
def kept(paths: Sequence[str]) -> Iterator[None]:
    """Prevent `remove_stale`, in any process, from removing these files while the block runs, even
    after they are renamed.
    """
    with contextlib.ExitStack() as stack:
        for path in paths:
            with contextlib.suppress(OSError):  # the code that uses the file will report it
                file = stack.enter_context(open(path, "rb"))
                _lock(file.fileno(), fcntl.LOCK_SH)
        yield


def _lock(handle: int, how: int) -> bool:
    """Lock a file. Return False if another process holds a lock on it, or locks are unsupported."""
    try:
        fcntl.flock(handle, how)
    except OSError:
        return False
    return True


def sync_and_close(file: BinaryIO) -> None:
    """Sync a file to disk and close it."""
    with file:
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Sync a folder's entries to disk; do nothing if the system can't sync folders."""
    with contextlib.suppress(OSError):
        handle = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@uninterrupted
def remove_stale(*targets: str) -> None:
    """Remove temporary files that were left behind by killed writers. A writer that is still
    running holds a lock on its file.

    Args:
      targets: the paths that the temporary files were created for, all in one folder. The last
        component of each may be a pattern with `*` and `?`.
    """
    paths = [local_path(target) for target in targets]
    folder = os.path.dirname(paths[0])
    patterns = [f"{os.path.basename(path)}{_TEMPORARY}*" for path in paths]
    with contextlib.suppress(OSError):
        for name in os.listdir(folder or "."):
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                with contextlib.suppress(OSError):
                    _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
            os.unlink(path)
    finally:
        os.close(handle)


_discarding: list[bool] = []


@contextlib.contextmanager
def discarded_writes() -> Iterator[None]:
    """In the block, discard the program's checkpoints, models, events and graphs instead of writing
    files, because a rehearsal computes no values.
    """
    _discarding.append(True)
    try:
        yield
    finally:
        _discarding.pop()


def are_writes_discarded() -> bool:
    """Return whether a block of `discarded_writes` is running."""
    return bool(_discarding)


@uninterrupted
def write_whole(path: str, content: bytes | memoryview) -> None:
    """Write a file under a temporary name, sync it, and then rename it to `path`. Therefore the
    file at `path` never has partial content.

    The folder is created if it is missing. In a block of `discarded_writes`, nothing is written.
    Raises an OpError for errors of the operating system.
    """
    if _discarding:
        return
    path = local_path(path)
    folder = os.path.dirname(path) or "."
    with system_errors(path):
        os.makedirs(folder, exist_ok=True)
        file, temporary = create_beside(path)
        try:
            with kept([temporary]):
                with file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):  # it may have been renamed already
                os.unlink(temporary)
            raise
        sync_folder(folder)
