"""Functions on files and folders with the newer names of `tf.io.gfile`. They call the functions of
`files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.base import errors
from gpugraph.platform import files
from gpugraph.platform.files import FileStatistics, GFile as GFile, system_errors


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file. Raises AlreadyExistsError if the new path exists, unless `overwrite` is true."""
    files.Copy(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Return whether a file or folder with this path exists."""
    return files.Exists(path)


def glob(pattern: Any) -> list[str]:
    """Return the paths that match a pattern, or any of a list of patterns. See `tf.gfile.Glob`."""
    return files.Glob(pattern)


def isdir(path: Any) -> bool:
    """Return whether a folder with this path exists."""
    return files.IsDirectory(path)


def listdir(path: Any) -> list[str]:
    """Return the names in a folder, in arbitrary order. Raises NotFoundError if the folder is
    missing.
    """
    return files.ListDirectory(path)


def makedirs(path: Any) -> None:
    """Create a folder and all missing parents."""
    files.MakeDirs(path)


def mkdir(path: Any) -> None:
    """Create a folder unless it exists. Raises NotFoundError if its parent folder is missing."""
    files.MkDir(path)


def remove(path: Any) -> None:
    """Delete a file. Raises NotFoundError if it is missing, and FailedPreconditionError if it is a
    folder.
    """
    files.Remove(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Move a file or folder. Raises AlreadyExistsError if the new path exists, unless `overwrite`
    is true.
    """
    files.Rename(src, dst, overwrite)


def rmtree(path: Any) -> None:
    """Delete a folder with all its contents. Raises NotFoundError if it is missing."""
    files.DeleteRecursively(path)


def stat(path: Any) -> FileStatistics:
    """Return the size of a file or folder, the time of its last change, and whether it is a folder.

    Raises NotFoundError if the file is missing.
    """
    return files.Stat(path)


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[errors.OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, names of its subfolders, names of its files) for a folder and all folders
    below it.

    Args:
      topdown: whether to yield a folder before its subfolders. If False, the subfolders come first.
      onerror: a function that is called with the error if a folder cannot be read, and may raise
        it. By default, such folders are skipped.
    """

    def tell(error: OSError) -> None:
        if onerror is None:
            return
        try:
            with system_errors(error.filename):
                raise error
        except errors.OpError as found:
            onerror(found)

    yield from files.walked(top, topdown, tell)
