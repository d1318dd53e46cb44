"""Files and folders by the newer names of `tf.io.gfile`; `files` says what each does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.base import errors
from gpugraph.platform import files
from gpugraph.platform.files import FileStatistics, GFile as GFile, system_errors


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file. AlreadyExistsError for a path that is there, unless `overwrite`."""
    files.Copy(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Whether there is a file or folder of this path."""
    return files.Exists(path)


def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, or one of a list of them; see `tf.gfile.Glob`."""
    return files.Glob(pattern)


def isdir(path: Any) -> bool:
    """Whether there is a folder of this path."""
    return files.IsDirectory(path)


def listdir(path: Any) -> list[str]:
    """The names in a folder, in no order. NotFoundError where there is no folder."""
    return files.ListDirectory(path)


def makedirs(path: Any) -> None:
    """Makes a folder and those around it, as far as they are not there."""
    files.MakeDirs(path)


def mkdir(path: Any) -> None:
    """Makes a folder, where there is none. NotFoundError without the folder around it."""
    files.MkDir(path)


def remove(path: Any) -> None:
    """Deletes a file. NotFoundError where there is none, FailedPreconditionError for a folder."""
    files.Remove(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file or folder another path. AlreadyExistsError for one that is there, unless
    `overwrite`."""
    files.Rename(src, dst, overwrite)


def rmtree(path: Any) -> None:
    """Deletes a folder with all that is in it. NotFoundError where there is none."""
    files.DeleteRecursively(path)


def stat(path: Any) -> FileStatistics:
    """Size and age. NotFoundError where there is nothing."""
    return files.Stat(path)


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[errors.OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, names of folders in it, names of files in it) for a folder and all below it.

    topdown: a folder comes before those in it; otherwise after. onerror: is given the error of a
    folder that can't be listed; it may raise it. By default such folders are left out.
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
