"""HDF5 files through h5py: written completely or not at all, and checked before they are trusted.

A group has an attribute with the ordered names of its members. A list that exceeds an HDF5 header
is divided among attributes `name0`, `name1` ... An array is read only if its data is in the file
itself, and only after its shape is checked. So a file can't access other files by links, and a load
can't use more memory than the model's arrays.

libhdf5 may loop forever or crash on a damaged file. So before this process reads a file that it has
neither written nor checked, a separate process reads the file with limits on processor time and
memory. That process runs `hdf5_walk.py`.
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
from gpugraph.base.whole_files import are_writes_discarded, local_path, open_to_read, write_whole
from gpugraph.library.keras.saving.foreign_files import kind_text

_MAX_BYTES = 64512
"""The maximum size of an attribute in bytes, since HDF5 has attributes in a header of 64 KiB."""


_SECONDS, _MEGABYTES = 5, 1024
"""Limits of processor seconds and megabytes for the check of a small file.

The two grow with the file's size.
"""

_STARTED = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


def hdf5_library() -> Any:
    """Import and return the package h5py.

    If h5py is missing, raises ModuleNotFoundError, which names the extra of gpugraph to install.
    """
    with package_of_extra("hdf5", "h5py", "HDF5 files"):
        return importlib.import_module("h5py")


def is_open_file(file: Any) -> bool:
    """Return whether `file` is an open file or group of h5py. Any other `file` is a path."""
    return hasattr(file, "attrs") and hasattr(file, "create_group")


@contextmanager
def written_file(file: Any) -> Iterator[Any]:
    """Yield an h5py file to write to: `file` itself, or a new file if `file` is a path.

    The new file appears at the path at the end of the `with` block.
    """
    if is_open_file(file):
        yield file
        return
    path = local_path(file)
    # written in memory first, because libhdf5 crashes if a write fails, for example on a full disk
    image = io.BytesIO()
    with hdf5_library().File(image, "w") as opened:
        yield opened
    write_whole(path, image.getbuffer())
    if not are_writes_discarded():
        _sound.add(_identity(os.stat(path)))


@contextmanager
def read_file(file: Any) -> Iterator[Any]:
    """Yield an h5py file to read from: `file` itself, or the file at this path.

    Raises OSError if the file is not an HDF5 file.
    """
    if is_open_file(file):
        yield file
        return
    with opened_file(file) as opened:
        yield opened


def opened_file(path: Any) -> Any:
    """Open the HDF5 file at a path for reading. On the first opening, the structure of the file is
    checked.

    Raises OSError if the file is not an HDF5 file, or if it is so damaged that the library would
    crash or never return.
    """
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
"""Identities, including size and times, of the files that this process has written or checked."""


def _identity(status: os.stat_result) -> tuple[int, ...]:
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_size, *times)


def _check_structure(path: str, size: int) -> None:
    """Let another process read the structure of a file. See the module's docstring.

    Raises OSError if that process fails or exceeds its limits.
    """
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
    """Store names as one attribute, or as several attributes if they are too long for one.

    Raises RuntimeError if a single name is too long.
    """
    encoded = [name.encode("utf-8") for name in names]
    if any(len(name) > _MAX_BYTES for name in encoded):
        raise RuntimeError(
            f"The following attributes cannot be saved to HDF5 file because they are larger than "
            f"{_MAX_BYTES} bytes: {[name[:40] for name in names if len(name) > _MAX_BYTES]}"
        )
    width = max(map(len, encoded), default=1)
    names_per_piece = max(1, _MAX_BYTES // max(1, width))
    if len(encoded) <= names_per_piece:
        group.attrs[attribute] = np.array(encoded, dtype=f"S{max(1, width)}")
        return
    for piece, start in enumerate(range(0, len(encoded), names_per_piece)):
        group.attrs[f"{attribute}{piece}"] = np.array(encoded[start : start + names_per_piece])


@contextmanager
def _refusals(group: Any, name: str) -> Iterator[None]:
    """Convert h5py's errors about a damaged file to ValueErrors that name the file, the group and
    `name`.
    """
    try:
        yield
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        if raised_by_handler(error):
            raise
        why = error.args[0] if error.args else type(error).__name__
        raise ValueError(f"{_place(group)}: {name!r} can't be read: {why}") from error


def has_attribute(group: Any, name: str) -> bool:
    """Return whether a group has an attribute of this name. Raises ValueError if the file is
    damaged.
    """
    with _refusals(group, name):
        return name in group.attrs


def has_part(group: Any, name: str) -> bool:
    """Return whether a group has a member of this name.

    Raises ValueError if the file is damaged.
    """
    with _refusals(group, name):
        return name in group


def _attribute(group: Any, name: str) -> Any:
    """Return the attribute `name` of a group. If the group has no such attribute, return None."""
    with _refusals(group, name):
        return group.attrs[name] if name in group.attrs else None  # noqa: SIM401


def read_names(group: Any, attribute: str) -> list[str]:
    """Return the names that `write_names` stored. If there is no such attribute, return an empty
    list.

    Raises ValueError if the file is damaged.
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
    """Return the attribute `attribute` of a group as text. If the group has no such attribute,
    return None.
    """
    value = _attribute(group, attribute)
    return None if value is None else as_text(value)


def as_text(value: Any) -> str:
    """Convert a text that was read from an HDF5 file to a str.

    Raises ValueError for bytes that are not UTF-8, and for a value that is not text.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise ValueError(f"Expected text in the file, found {type(value).__name__}")
    return value


def write_array(group: Any, name: str, value: np.ndarray[Any, Any]) -> None:
    """Add an array to a group under a name. Slashes in the name create groups."""
    group.create_dataset(name, data=value)


def part_of(group: Any, name: str) -> Any:
    """Return a group or array inside a group, by its path of names.

    Raises ValueError for a name that does not exist, and for a link to another file.
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
    """An array in an HDF5 file. Its shape is known, and `value` reads its elements.

    The constructor raises ValueError if the member is not an array of numbers, or if its data is in
    another file.
    """

    def __init__(self, group: Any, name: str) -> None:
        dataset = part_of(group, name)
        with _refusals(group, name):
            shape = getattr(dataset, "shape", None)
            elsewhere = shape is not None and (dataset.external or dataset.is_virtual)
            dtype = None if shape is None else dataset.dtype
        if shape is None or dtype is None:
            raise ValueError(f"{_place(group)}: {name!r} is not an array")
        if elsewhere:
            raise ValueError(f"{_place(group)}: {name!r} lies in another file, not read")
        if dtype.kind not in "fiub":
            raise ValueError(f"{_place(group)}: {name!r} has no numbers but {dtype}")
        self.name, self.shape = name, tuple(int(size) for size in shape)
        self._group, self._dataset = group, dataset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.value(), dtype)

    def value(self) -> np.ndarray[Any, Any]:
        """Read the array and return it. Raises ValueError if the file is damaged."""
        with _refusals(self._group, self.name):
            return np.asarray(self._dataset[()])


def _place(group: Any) -> str:
    return f"{group.file.filename}, {group.name}"
