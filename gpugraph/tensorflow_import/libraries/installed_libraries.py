"""`library_of`, which finds the installed library that contains a source file."""

from __future__ import annotations

import functools
import os
import sys
from importlib import metadata


def library_of(file: str) -> str:
    """Return the name and the version of the installed library that contains a file. If no
    installed library contains the file, return "".
    """
    folders = sorted((os.path.abspath(path) + os.sep for path in sys.path if path), key=len)
    for folder in reversed(folders):
        if file.startswith(folder):
            root = file[len(folder) :].partition(os.sep)[0].removesuffix(".py")
            return _named(root, tuple(sys.path))
    return ""


def _named(root: str, path: tuple[str, ...]) -> str:
    names = _distributions(path).get(root)
    return f"{names[0]} {metadata.version(names[0])}" if names else ""


@functools.lru_cache(maxsize=1)
def _distributions(path: tuple[str, ...]) -> dict[str, list[str]]:
    """Return a dict from modules to the distributions that contain them. The argument is
    `sys.path`.
    """
    del path
    return dict(metadata.packages_distributions())
