"""HDF5 files by h5py, written whole or not at all, and read without trust.

A group keeps the names of its parts in order, as an attribute; one that is too long for an HDF5
header is in pieces `name0`, `name1` ... An array is read if it lies in the file itself, and only
once its shape is known to be the right one: a file neither reaches other files by links nor takes
more memory than what it is read into.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.whole_files import create_beside, sync_folder, system_errors

_MOST_BYTES = 64512
"""The most bytes of an attribute; HDF5 keeps attributes in a header of 64 KiB."""


def hdf5_library() -> Any:
    """The package h5py; ImportError that says how to install it."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise ImportError(
            "HDF5 files of models require h5py, which is not installed: "
            f"pip install 'gpugraph[hdf5]' ({error})"
        ) from error


def is_open_file(file: Any) -> bool:
    """Whether it is a file or group of h5py, and no path."""
    return hasattr(file, "attrs") and hasattr(file, "create_group")


@contextmanager
def written_file(file: Any) -> Iterator[Any]:
    """A file to write to: a new one of that path, there once all is written, or `file` itself."""
    if is_open_file(file):
        yield file
        return
    path = os.fspath(file)
    folder = os.path.dirname(path) or "."
    library = hdf5_library()
    with system_errors(path):
        os.makedirs(folder, exist_ok=True)
        handle, temporary = create_beside(path)
        handle.close()
        try:
            with library.File(temporary, "w") as opened:
                yield opened
            with open(temporary, "rb+") as whole:
                os.fsync(whole.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # it may be renamed already
                os.unlink(temporary)
            raise
        sync_folder(folder)


@contextmanager
def read_file(file: Any) -> Iterator[Any]:
    """A file to read from: that of a path, or `file` itself. OSError where it is no HDF5 file."""
    if is_open_file(file):
        yield file
        return
    path = os.fspath(file)
    library = hdf5_library()
    try:
        opened = library.File(path, "r")
    except OSError as error:
        if raised_by_handler(error):
            raise
        raise OSError(f"Unable to open file {path} as HDF5: {error}") from error
    with opened:
        yield opened


def write_names(group: Any, attribute: str, names: Sequence[str]) -> None:
    """Keeps names as an attribute, in pieces where they are too long together.

    RuntimeError for a name that is too long by itself.
    """
    encoded = [name.encode("utf-8") for name in names]
    if any(len(name) > _MOST_BYTES for name in encoded):
        raise RuntimeError(
            f"The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{_MOST_BYTES} bytes: {[name[:40] for name in names if len(name) > _MOST_BYTES]}"
        )
    width = max(map(len, encoded), default=1)
    most = max(1, _MOST_BYTES // max(1, width))
    if len(encoded) <= most:
        group.attrs[attribute] = np.array(encoded, dtype=f"S{max(1, width)}")
        return
    for piece, start in enumerate(range(0, len(encoded), most)):
        group.attrs[f"{attribute}{piece}"] = np.array(encoded[start : start + most])


def read_names(group: Any, attribute: str) -> list[str]:
    """The names that `write_names` has kept; none where there is no such attribute."""
    if attribute in group.attrs:
        return [as_text(name) for name in np.ravel(group.attrs[attribute])]
    names: list[str] = []
    piece = 0
    while f"{attribute}{piece}" in group.attrs:
        names += [as_text(name) for name in np.ravel(group.attrs[f"{attribute}{piece}"])]
        piece += 1
    return names


def read_text(group: Any, attribute: str) -> str | None:
    """An attribute as text; None where there is none."""
    value = group.attrs.get(attribute)
    return None if value is None else as_text(value)


def as_text(value: Any) -> str:
    """Text of an HDF5 file; ValueError where it is no UTF-8."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise ValueError(f"Expected text in the file, found {type(value).__name__}")
    return value


def write_array(group: Any, name: str, value: np.ndarray[Any, Any]) -> None:
    """Adds an array under a name; slashes in it make groups."""
    group.create_dataset(name, data=value)


def part_of(group: Any, name: str) -> Any:
    """A group or array in a group of the same file.

    ValueError for a name that is not there, and for one that leads to another file.
    """
    library = hdf5_library()
    part = group
    for step in name.split("/"):
        link = part.get(step, getlink=True) if is_open_file(part) else None
        if link is None:
            raise ValueError(f"{_place(group)} has no {name!r}")
        if isinstance(link, library.ExternalLink):
            raise ValueError(f"{_place(group)}: {name!r} is a link to another file, not read")
        part = part.get(step)
        if part is None:
            raise ValueError(f"{_place(group)}: {name!r} is a link to nothing")
    return part


class StoredArray:
    """An array in a file: its shape is known, its elements are read by `value`.

    ValueError for what is no array of numbers that lies in the file.
    """

    def __init__(self, group: Any, name: str) -> None:
        dataset = part_of(group, name)
        if not hasattr(dataset, "shape") or dataset.shape is None:
            raise ValueError(f"{_place(group)}: {name!r} is no array")
        if dataset.external or dataset.is_virtual:
            raise ValueError(f"{_place(group)}: {name!r} lies in another file, not read")
        if dataset.dtype.kind not in "fiub":
            raise ValueError(f"{_place(group)}: {name!r} has no numbers but {dataset.dtype}")
        self.name, self.shape = name, tuple(int(size) for size in dataset.shape)
        self._dataset = dataset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.value(), dtype)

    def value(self) -> np.ndarray[Any, Any]:
        """The elements; ValueError where the file is damaged."""
        try:
            return np.asarray(self._dataset[()])
        except OSError as error:
            if raised_by_handler(error):
                raise
            raise ValueError(f"{self.name!r} can't be read: {error}") from error


def _place(group: Any) -> str:
    return f"{group.file.filename}, {group.name}"
