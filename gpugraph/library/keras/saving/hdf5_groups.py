"""HDF5 files by h5py, written whole or not at all, and read without trust.

A group keeps the names of its parts in order, as an attribute; one that is too long for an HDF5
header is in pieces `name0`, `name1` ... An array is read if it lies in the file itself, and only
once its shape is known to be the right one: a file neither reaches other files by links nor takes
more memory than what it is read into.

libhdf5 may loop for ever or crash on a damaged file. So a file of a path that this process has
neither written nor read before is first read by a process of its own, `hdf5_walk.py`, under limits
of processor time and memory.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.optional_packages import package_of_extra
from gpugraph.base.whole_files import local_path, open_to_read, write_whole
from gpugraph.library.keras.saving.foreign_files import kind_text

_MOST_BYTES = 64512
"""The most bytes of an attribute; HDF5 keeps attributes in a header of 64 KiB."""


_SECONDS, _MEGABYTES = 5, 1024
"""What the structure of a small file may take of a processor and of memory."""

_STARTED = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


def hdf5_library() -> Any:
    """The package h5py; ModuleNotFoundError, with the extra to install, without it."""
    with package_of_extra("hdf5", "h5py", "HDF5 files"):
        return importlib.import_module("h5py")


def is_open_file(file: Any) -> bool:
    """Whether it is a file or group of h5py, and no path."""
    return hasattr(file, "attrs") and hasattr(file, "create_group")


@contextmanager
def written_file(file: Any) -> Iterator[Any]:
    """A file to write to: a new one of that path, there once all is written, or `file` itself."""
    if is_open_file(file):
        yield file
        return
    path = local_path(file)
    image = io.BytesIO()  # libhdf5 crashes where it can't write, as on a full disk
    with hdf5_library().File(image, "w") as opened:
        yield opened
    write_whole(path, image.getbuffer())
    _sound.add(_identity(os.stat(path)))


@contextmanager
def read_file(file: Any) -> Iterator[Any]:
    """A file to read from: that of a path, or `file` itself. OSError where it is no HDF5 file."""
    if is_open_file(file):
        yield file
        return
    with opened_file(file) as opened:
        yield opened


def opened_file(path: Any) -> Any:
    """The file of a path, open for reading. OSError where it is no HDF5 file, or a damaged one on
    which the library would loop or crash."""
    path = local_path(path)
    library = hdf5_library()
    try:
        with open_to_read(path) as file:
            status = os.fstat(file.fileno())
        if _identity(status) not in _sound:
            _check_structure(path, status.st_size)
            _sound.add(_identity(status))
        return library.File(path, "r")
    except OSError as error:
        if raised_by_handler(error):
            raise
        reason = f"{error}{kind_text(path)}"
        raise OSError(f"Unable to open file {path} as HDF5: {reason}") from error


_sound: set[tuple[int, ...]] = set()
"""The files that this process has written or checked, as they were then."""


def _identity(status: os.stat_result) -> tuple[int, ...]:
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_size, *times)


def _check_structure(path: str, size: int) -> None:
    """Have another process walk through a file. OSError where it does not come to an end."""
    megabytes = size >> 20
    seconds = _SECONDS + megabytes // 10
    words = [json.dumps(sys.path), str(Path(__file__).with_name("hdf5_walk.py"))]
    words += [os.path.abspath(path), str(seconds), str(_MEGABYTES + megabytes)]
    command = [sys.executable, "-I", "-S", "-c", _STARTED, *words]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode < 0:
        raise OSError(
            f"the file is damaged: to read its structure took over {seconds} s, or crashed "
            f"(signal {-done.returncode})"
        )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise OSError(f"the structure of the file can't be read: {last}")


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


@contextmanager
def _refusals(group: Any, name: str) -> Iterator[None]:
    """Makes of what h5py raises for a damaged file a ValueError."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        if raised_by_handler(error):
            raise
        why = error.args[0] if error.args else type(error).__name__
        raise ValueError(f"{_place(group)}: {name!r} can't be read: {why}") from error


def has_attribute(group: Any, name: str) -> bool:
    """Whether a group has an attribute. ValueError where the file is damaged."""
    with _refusals(group, name):
        return name in group.attrs


def has_part(group: Any, name: str) -> bool:
    """Whether a group has a part. ValueError where the file is damaged."""
    with _refusals(group, name):
        return name in group


def _attribute(group: Any, name: str) -> Any:
    """An attribute; None where there is none. `get` would say so of a damaged one too."""
    with _refusals(group, name):
        return group.attrs[name] if name in group.attrs else None  # noqa: SIM401


def read_names(group: Any, attribute: str) -> list[str]:
    """The names that `write_names` has kept; none where there is no such attribute.

    ValueError where the file is damaged, as by `read_text`.
    """
    names = _attribute(group, attribute)
    if names is not None:
        return [as_text(name) for name in np.ravel(names)]
    pieces: list[str] = []
    piece = 0
    while (names := _attribute(group, f"{attribute}{piece}")) is not None:
        pieces += [as_text(name) for name in np.ravel(names)]
        piece += 1
    return pieces


def read_text(group: Any, attribute: str) -> str | None:
    """An attribute as text; None where there is none."""
    value = _attribute(group, attribute)
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
        with _refusals(group, name):
            link = part.get(step, getlink=True) if is_open_file(part) else None
        if link is None:
            raise ValueError(f"{_place(group)} has no {name!r}")
        if isinstance(link, library.ExternalLink):
            raise ValueError(f"{_place(group)}: {name!r} is a link to another file, not read")
        with _refusals(group, name):
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
        with _refusals(group, name):
            shape = getattr(dataset, "shape", None)
            elsewhere = shape is not None and (dataset.external or dataset.is_virtual)
            dtype = None if shape is None else dataset.dtype
        if shape is None or dtype is None:
            raise ValueError(f"{_place(group)}: {name!r} is no array")
        if elsewhere:
            raise ValueError(f"{_place(group)}: {name!r} lies in another file, not read")
        if dtype.kind not in "fiub":
            raise ValueError(f"{_place(group)}: {name!r} has no numbers but {dtype}")
        self.name, self.shape = name, tuple(int(size) for size in shape)
        self._group, self._dataset = group, dataset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.value(), dtype)

    def value(self) -> np.ndarray[Any, Any]:
        """The elements; ValueError where the file is damaged."""
        with _refusals(self._group, self.name):
            return np.asarray(self._dataset[()])


def _place(group: Any) -> str:
    return f"{group.file.filename}, {group.name}"
