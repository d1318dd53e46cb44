"""Conversion of variables between checkpoints, SavedModels, safetensors and `.npz` files.

Variables are read and written one at a time. The suffix of a path determines its format. A path
without a known suffix is the prefix of a checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.whole_files import (
    create_beside,
    local_path,
    sync_and_close,
    sync_folder,
    system_errors,
)
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint
from gpugraph.formats.variable_files.archived_array import ArchivedArray
from gpugraph.formats.variable_files.npz_files import NpzReader, write_npz
from gpugraph.formats.variable_files.safetensors import SafetensorsReader, write_safetensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_READERS: dict[str, Any] = {".safetensors": SafetensorsReader, ".npz": NpzReader}
_WRITERS: dict[str, Callable[..., None]] = {".safetensors": write_safetensors, ".npz": write_npz}
_INDEX = ".index"
_OBJECT_GRAPHS = frozenset({"_CHECKPOINTABLE_OBJECT_GRAPH"})
"""Entries of object-based checkpoints that are not variables."""


class VariableFile:
    """The variables of a file or checkpoint, as a context manager.

    `arrays` contains the descriptions by name, and `read(name)` returns one array.

    Raises tf.errors.NotFoundError, or another error of the system, if the path can't be opened.
    Raises DataLossError if the content is damaged.
    """

    def __init__(self, path: str) -> None:
        self._closing = ExitStack()
        reader = _READERS.get(_suffix(path))
        if reader is not None:
            with system_errors(path):
                opened = self._closing.enter_context(reader(path))
            self.arrays: dict[str, ArchivedArray] = opened.arrays
            self.read: Callable[[str], NDArray[Any]] = opened.read
            return
        bundle = self._closing.enter_context(open_checkpoint(checkpoint_prefix(path)))
        self.arrays = {
            name: ArchivedArray(name, entry.dtype, entry.shape)
            for name, entry in sorted(bundle.entries.items())
            if name not in _OBJECT_GRAPHS
        }
        self.read = bundle.read

    def __enter__(self) -> VariableFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self._closing.close()


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1]


def checkpoint_prefix(path: str) -> str:
    """Return the prefix of a checkpoint.

    Args:
      path: the prefix, the index file, or a SavedModel's folder.
    """
    path = local_path(path)
    in_model = os.path.join(path, "variables", "variables")
    if os.path.isfile(in_model + _INDEX):
        return in_model
    if not os.path.isfile(path + _INDEX) and path.endswith(_INDEX):
        return path.removesuffix(_INDEX)
    return path


def is_checkpoint(path: str) -> bool:
    """Return whether a path is the prefix or the index file of a checkpoint, or the folder of a
    SavedModel.
    """
    return os.path.isfile(checkpoint_prefix(path) + _INDEX)


def convert_variables(source: str, target: str) -> list[ArchivedArray]:
    """Write the variables of `source` to `target`. Return their descriptions.

    Only one array at a time is in memory. The target is replaced atomically. If an error occurs,
    the target remains unchanged.

    Raises:
      tf.errors.InvalidArgumentError: the target's format does not support a dtype.
      tf.errors.NotFoundError: the source does not exist.
      tf.errors.DataLossError: the source is damaged.
      tf.errors.OpError: another error of the system.
    """
    with VariableFile(source) as variables:
        arrays = list(variables.arrays.values())
        values = ((array.name, variables.read(array.name)) for array in arrays)
        write = _WRITERS.get(_suffix(target))
        if write is None:
            _write_checkpoint(target, arrays, values)
        else:
            _write_file(target, write, arrays, values)
    return arrays


def _write_file(
    path: str,
    write: Callable[..., None],
    arrays: list[ArchivedArray],
    values: Iterator[tuple[str, NDArray[Any]]],
) -> None:
    path = local_path(path)
    with system_errors(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        file, temporary = create_beside(path)
        try:
            with file:
                write(file, arrays, values)
                sync_and_close(file)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # it may have been renamed already
                os.unlink(temporary)
            raise
        sync_folder(os.path.dirname(path))


def _write_checkpoint(
    prefix: str, arrays: list[ArchivedArray], values: Iterator[tuple[str, NDArray[Any]]]
) -> None:
    if not os.path.basename(prefix):
        message = f"The prefix of a checkpoint can't be a folder: {prefix!r}"
        raise InvalidArgumentError(None, None, message)
    with BundleWriter(prefix) as writer:
        for array, (name, value) in zip(arrays, values, strict=True):
            writer.add(name.encode("utf-8", "surrogateescape"), value, array.dtype)
