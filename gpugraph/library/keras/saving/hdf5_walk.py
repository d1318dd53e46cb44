"""A program that reads the structure of an HDF5 file, to test whether libhdf5 can read the file
safely.

    python hdf5_walk.py PATH SECONDS MEGABYTES

On a damaged file, libhdf5 may loop forever or write to invalid memory. This program's process,
which has limits on time and memory, then ends instead of the process that needs the file.

The program reads each group, link and attribute, the description of each array and the positions of
its chunks, but no elements. Errors that libhdf5 reports are ignored, because the later read raises
them again. Only h5py is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import resource
import sys
from collections.abc import Callable
from typing import Any

_REFUSALS = (
    *(OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError),
    *(NotImplementedError, OverflowError),
)
"""The errors that h5py raises for damaged groups and arrays."""


def walk(library: Any, path: str) -> None:
    """Read the structure of a file, to check that libhdf5 can read it within the limits. Raises
    MemoryError if reading the structure exceeds the memory limit.
    """
    with contextlib.suppress(*_REFUSALS), library.File(path, "r") as file:
        seen: set[Any] = set()
        waiting = [file]
        while waiting:
            waiting += _read(library, waiting.pop(), seen)


def _read(library: Any, part: Any, seen: set[Any]) -> list[Any]:
    """Read a group or array, unless it has been read before. Return the members of a group."""
    address = _tried(lambda: library.h5o.get_info(part.id).addr)
    if address in seen:
        return []
    seen.add(address)
    attributes = part.attrs
    for name in _tried(lambda: list(attributes)) or ():
        _tried(lambda name=name: attributes[name])  # type: ignore[misc]
    if isinstance(part, library.Dataset):
        _tried(lambda: (part.shape, part.dtype, part.external, part.is_virtual))
        _tried(lambda: part.chunks and part.id.get_num_chunks())
        return []
    if not isinstance(part, library.Group):
        return []
    links = [(name, part.get(name, getlink=True)) for name in _tried(lambda: list(part)) or ()]
    inner = [
        _tried(lambda name=name: part.get(name))  # type: ignore[misc]
        for name, link in links
        if not isinstance(link, library.ExternalLink)
    ]
    return [child for child in inner if child is not None]


def _tried(read: Callable[[], Any]) -> Any:
    """Return the result of `read()`. If h5py raises an error, return None."""
    with contextlib.suppress(*_REFUSALS):
        return read()
    return None


def main() -> None:
    path, seconds, megabytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    library = importlib.import_module("h5py")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    walk(library, path)


if __name__ == "__main__":
    main()
