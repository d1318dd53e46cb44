"""Internal functions on files and folders, from `file_io` and `saved_model.utils_impl`."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.library.saved_models import model_names
from gpugraph.platform import files

# -- tensorflow.python.lib.io.file_io

file_exists, is_directory, get_matching_files = files.Exists, files.IsDirectory, files.Glob
create_dir, recursive_create_dir = files.MkDir, files.MakeDirs
delete_file, delete_recursively, rename, copy = (
    files.Remove,
    files.DeleteRecursively,
    files.Rename,
    files.Copy,
)
list_directory, walk, stat = files.ListDirectory, files.Walk, files.Stat


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """Return the content of a file as a str. If `binary_mode` is true, return it as bytes."""
    with files.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Write a file. A file that already exists is replaced."""
    with files.GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


atomic_write_string_to_file = write_string_to_file

# -- tensorflow.python.saved_model.utils_impl


def _below(export_dir: Any, *names: str) -> str:
    return os.path.join(model_names.folder_text(export_dir), *names)


def get_variables_dir(export_dir: Any) -> str:
    """Return the folder of a SavedModel's variables."""
    return _below(export_dir, model_names.VARIABLES_DIRECTORY)


def get_variables_path(export_dir: Any) -> str:
    """Return the path prefix of a SavedModel's variables."""
    return model_names.variables_prefix(export_dir)


def get_assets_dir(export_dir: Any) -> str:
    """Return the folder of a SavedModel's assets."""
    return _below(export_dir, model_names.ASSETS_DIRECTORY)


def _created(folder: str) -> str:
    if not files.Exists(folder):
        files.MakeDirs(folder)
    return folder


def get_or_create_variables_dir(export_dir: Any) -> str:
    """Return the folder of a SavedModel's variables. Create the folder if it does not exist."""
    return _created(get_variables_dir(export_dir))


def get_or_create_assets_dir(export_dir: Any) -> str:
    """Return the folder of a SavedModel's assets. Create the folder if it does not exist."""
    return _created(get_assets_dir(export_dir))
