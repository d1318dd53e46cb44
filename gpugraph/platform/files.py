"""Functions on files and folders of the local file system, with TensorFlow's names and error
classes.

Each error of the operating system has an error class in TensorFlow. For example, a missing file
raises NotFoundError, and an unreadable file raises PermissionDeniedError. Paths are strings, bytes
(UTF-8) or `os.PathLike`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from gpugraph.base import errors
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.streamed_file import remove_file
from gpugraph.base.whole_files import (
    check_end,
    local_path as _local,
    open_to_read,
    system_errors as system_errors,
)

_MAGIC = ("*", "?", "[", "\\")
_OTHERWISE = re.compile(r"\\(.)|\[\^(\]?[^\]]*\])|(\[!?\]?[^\]]*\])")


def _text(path: Any) -> str:
    return os.fsdecode(path)


class FileStatistics(NamedTuple):
    """The result of `Stat`.

    `length` is the size in bytes. `mtime_nsec` is the time of the last change, in nanoseconds since
    1970.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


class GFile:
    """A file. It is read and written as text in UTF-8, or as bytes if the mode contains "b".

    It is also a context manager, and an iterator over lines. The file is opened on the first read
    or write. This raises NotFoundError if the file is missing, InvalidArgumentError if the mode is
    unknown, and PermissionDeniedError if the mode does not allow the access.

    Args:
      mode: "r", "w", "a", "r+", "w+" or "a+", with or without "b". The meaning is the same as for
        Python's `open`.

    >>> with tf.gfile.GFile(folder + "/notes.txt", "w") as file:
    ...     file.write("one line")
    >>> with tf.gfile.GFile(folder + "/notes.txt") as file:
    ...     file.read()
    'one line'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        plain = mode.replace("b", "")
        self._name, self._mode = name, mode
        self._reads, self._writes = "r" in plain or "+" in plain, plain != "r"
        self._binary = "b" in mode
        self._opened: Any = None
        self._has_end = False

    @property
    def name(self) -> Any:
        """The path that was passed to the constructor."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that was passed to the constructor."""
        return self._mode

    def _file(self, for_writing: bool = False) -> Any:
        self._check_mode()
        if not (self._writes if for_writing else self._reads):
            what = "writing" if for_writing else "reading"
            raise errors.PermissionDeniedError(None, None, f"File isn't open for {what}")
        return self._any_file()

    def _file_with_end(self) -> Any:
        source = self._file()
        if not self._has_end:
            with system_errors(self._name):
                check_end(source)
            self._has_end = True
        return source

    def _check_mode(self) -> str:
        plain = self._mode.replace("b", "")
        if plain not in ("r", "w", "a", "r+", "w+", "a+"):
            message = f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+', but '{plain}'"
            raise errors.invalid_argument(message)
        return plain

    def _any_file(self) -> Any:
        if self._opened is None:
            plain = self._check_mode()
            with system_errors(self._name):
                if plain == "r":
                    self._opened = open_to_read(_local(self._name), devices=True)
                else:
                    self._opened = open(_local(self._name), f"{plain}b")  # noqa: SIM115
        return self._opened

    def _read(self, data: bytes) -> Any:
        return data if self._binary else data.decode()

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return Stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes, by default all remaining bytes. In text mode, they are
        decoded.

        Raises InvalidArgumentError if `n` is not passed and the file is an endless device such as
        /dev/zero.
        """
        source = self._file() if n is not None and n >= 0 else self._file_with_end()
        with system_errors(self._name):
            return self._read(source.read(n))

    def readline(self) -> Any:
        """Return the next line with its line break. At the end of the file, return "" or b""."""
        source = self._file_with_end()
        with system_errors(self._name):
            return self._read(source.readline())

    def readlines(self) -> list[Any]:
        """Return all remaining lines with their line breaks."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readline, b"" if self._binary else "")

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """Return the next line. Raises StopIteration at the end."""
        return self.__next__()

    def write(self, file_content: Any) -> None:
        """Write text, which is encoded in UTF-8, or bytes at the current position."""
        target = self._file(for_writing=True)
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        with system_errors(self._name):
            target.write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to `offset` bytes from the start (whence 0), the current position (1) or the end
        (2).

        `position` is an older name of `offset`. Raises TypeError if neither is passed.
        """
        chosen = position if offset is None else offset
        if chosen is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise errors.invalid_argument(
                f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        source = self._file()
        with system_errors(self._name):
            source.seek(chosen, whence)

    def tell(self) -> int:
        """Return the current position, in bytes from the start of the file."""
        return int(self._any_file().tell())

    def seekable(self) -> bool:
        """Return True, because local files are seekable."""
        return True

    def flush(self) -> None:
        """Pass buffered writes to the operating system."""
        if self._opened is not None and self._writes:
            with system_errors(self._name):
                self._opened.flush()

    def close(self) -> None:
        """Close the file. A later read or write opens it again."""
        if self._opened is not None:
            with system_errors(self._name):
                self._opened.close()
        self._opened = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@uninterrupted
def Exists(filename: Any) -> bool:
    """Return whether a file or folder with this path exists.

    >>> tf.gfile.Exists(folder)
    True
    """
    return os.path.exists(_local(filename))


@uninterrupted
def IsDirectory(dirname: Any) -> bool:
    """Return whether a folder with this path exists."""
    return os.path.isdir(_local(dirname))


@uninterrupted
def Stat(filename: Any) -> FileStatistics:
    """Return the size of a file or folder, the time of its last change, and whether it is a folder.

    Raises NotFoundError if the file is missing.
    """
    with system_errors(filename):
        status = os.stat(_local(filename))
    folder = os.path.isdir(_local(filename))
    return FileStatistics(status.st_size, status.st_mtime_ns, folder)


@uninterrupted
def Glob(filename: Any) -> list[str]:
    """Return the paths that match a pattern, or any of a list of patterns, sorted for each pattern.

    A component of a path may contain the wildcards `*` and `?`, `[...]` for one of the listed
    characters, and `[^...]` or `[!...]` for a character that is not listed. A character after a
    backslash is literal. Wildcards also match names that begin with a dot.

    >>> tf.gfile.Glob(folder + "/*.none")
    []
    """
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else filename
    return [path for pattern in patterns for path in sorted(_matching(_text(pattern)))]


def _as_python(pattern: str) -> str:
    """Translate a pattern to the syntax of `fnmatch`, which has neither `[^...]` nor the
    backslash.
    """

    def changed(match: re.Match[str]) -> str:
        sign, others, kept = match.groups()
        if sign is not None:
            return f"[{sign}]" if sign in "*?[" else sign
        return kept if others is None else f"[!{others}"

    return _OTHERWISE.sub(changed, pattern)


def _matching(pattern: str) -> list[str]:
    if not any(sign in pattern for sign in _MAGIC):
        return [pattern] if os.path.lexists(_local(pattern)) else []
    head, tail = os.path.split(pattern)
    if not tail:
        return [os.path.join(parent, "") for parent in _matching(head) if IsDirectory(parent)]
    paths = []
    for folder in _matching(head) if head else [""]:
        try:
            names = os.listdir(_local(folder) or ".")
        except OSError:
            continue
        paths += [os.path.join(folder, name) for name in fnmatch.filter(names, _as_python(tail))]
    return paths


@uninterrupted
def ListDirectory(dirname: Any) -> list[str]:
    """Return the names in a folder, in arbitrary order. Raises NotFoundError if the folder is
    missing.
    """
    if not IsDirectory(dirname):
        message = f"Could not find directory {_text(dirname)}"
        raise errors.NotFoundError(None, None, message)
    with system_errors(dirname):
        return os.listdir(_local(dirname))


@uninterrupted
def MkDir(dirname: Any) -> None:
    """Create a folder unless it exists. Raises NotFoundError if its parent folder is missing."""
    with system_errors(dirname), contextlib.suppress(FileExistsError):
        os.mkdir(_local(dirname))


@uninterrupted
def MakeDirs(dirname: Any) -> None:
    """Create a folder and all missing parents.

    Raises FailedPreconditionError if the folder or one of its parents exists as a file.

    >>> tf.gfile.MakeDirs(folder + "/a/b")
    >>> tf.gfile.IsDirectory(folder + "/a/b")
    True
    """
    try:
        with system_errors(dirname):
            os.makedirs(_local(dirname), exist_ok=True)
    except errors.AlreadyExistsError as error:
        message = f"{_text(dirname)} is not a directory"
        raise errors.FailedPreconditionError(None, None, message) from error


@uninterrupted
def Remove(filename: Any) -> None:
    """Delete a file. Raises NotFoundError if it is missing, and FailedPreconditionError if it is a
    folder.
    """
    with system_errors(filename):
        remove_file(_local(filename))


@uninterrupted
def DeleteRecursively(dirname: Any) -> None:
    """Delete a folder with all its contents. Raises NotFoundError if it is missing."""
    path = _local(dirname)
    with system_errors(dirname):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def _refuse_existing(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise errors.AlreadyExistsError(None, None, f"{_text(path)}; file already exists")


@uninterrupted
def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or folder to another path.

    Raises AlreadyExistsError if the new path exists, unless `overwrite` is true. Raises
    NotFoundError if the old path does not exist.
    """
    _refuse_existing(newname, overwrite)
    with system_errors(oldname):
        os.replace(_local(oldname), _local(newname))


@uninterrupted
def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises AlreadyExistsError if the new path exists, unless `overwrite` is true. Raises
    NotFoundError if the old path does not exist.
    """
    _refuse_existing(newpath, overwrite)
    with system_errors(oldpath), open_to_read(_local(oldpath)) as source:
        with system_errors(newpath), open(_local(newpath), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, names of its subfolders, names of its files) for a folder and all folders
    below it. If `top` is missing, yield nothing.

    Args:
      in_order: whether to yield a folder before its subfolders. If False, the subfolders come
        first.
    """
    yield from walked(top, in_order, None)


def walked(top: Any, topdown: bool, onerror: Any) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the same tuples as `os.walk`, for a path that `tf.gfile` accepts.

    Yielded paths begin with `top` as it was passed.
    """
    text, path = _text(top), _local(top)
    for folder, folders, names in os.walk(path, topdown, onerror):
        yield text + folder[len(path) :], folders, names
