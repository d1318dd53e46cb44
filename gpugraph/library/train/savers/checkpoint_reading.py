"""The contents of a checkpoint, read without a graph: `load_checkpoint`, `list_variables`."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base.dtypes import DType, plain_integers, runtime_name
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint
from gpugraph.library.train.savers.checkpoint_files import latest_checkpoint
from gpugraph.platform import files


class CheckpointReader:
    """A reader of a checkpoint, which finds tensors by their names.

    Raises NotFoundError if there is no checkpoint, and DataLossError if it is damaged.
    """

    def __init__(self, filename: str) -> None:
        self._reader = open_checkpoint(filename)

    def has_tensor(self, tensor_str: Any) -> bool:
        """Return whether the checkpoint has a tensor of this name."""
        return os.fsdecode(tensor_str) in self._reader.entries

    def get_tensor(self, tensor_str: Any) -> Any:
        """Return the value of a tensor as an array, or as a NumPy scalar if the tensor is a scalar.
        The slices of a partitioned variable are joined.

        Raises NotFoundError if the checkpoint has no tensor of this name, and DataLossError if a
        file is damaged.
        """
        with self._reader:  # data files are open only while they are read
            value = plain_integers(self._reader.read(os.fsdecode(tensor_str)))
        return value if value.ndim else value[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return a dict from the name of each tensor to its shape, a list of sizes."""
        return {name: list(entry.shape) for name, entry in self._reader.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return a dict from the name of each tensor to its dtype."""
        return {name: entry.dtype for name, entry in self._reader.entries.items()}

    def debug_string(self) -> bytes:
        """Return a text with the name, dtype and shape of each tensor, one tensor per line."""
        lines = [
            f"{name} ({_enum_name(entry.dtype)}) [{','.join(map(str, entry.shape))}]\n"
            for name, entry in self._reader.entries.items()
        ]
        return "".join(lines).encode("utf-8", "surrogateescape")


def _enum_name(dtype: DType) -> str:
    return f"DT_{runtime_name(dtype).upper()}"


def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """Return a reader of the checkpoint at this path. See `CheckpointReader`."""
    return CheckpointReader(os.fsdecode(filepattern))


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Return a reader of a checkpoint, or of the latest checkpoint of a folder.

    Raises ValueError if the folder has no checkpoint.
    """
    return NewCheckpointReader(checkpoint_path(os.fspath(ckpt_dir_or_file)))


def checkpoint_path(path: str) -> str:
    """Return `path` itself if it is a checkpoint. For a folder, return the path of its latest
    checkpoint.

    Raises ValueError if the folder has no checkpoint.
    """
    if not files.IsDirectory(path):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return latest


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return the value of a tensor in a checkpoint, or in the latest checkpoint of a folder."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of all tensors of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
