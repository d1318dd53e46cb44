"""Paths of files in the folder of a program's source, as in
`tensorflow.python.platform.resource_loader`.
"""

from __future__ import annotations

import os
import sys

from gpugraph.base.whole_files import open_to_read


def get_data_files_path() -> str:
    """Return the folder of the calling file."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """Return `path`, joined to the folder of the calling file."""
    return os.path.join(_folder_of_caller(), path)


def get_root_dir_with_all_resources() -> str:
    """Return the folder of the calling file, because programs have no separate folder for data
    files.
    """
    return _folder_of_caller()


def load_resource(path: str) -> bytes:
    """Return the content of a file. Raises OSError if it is missing.

    Args:
      path: the path of the file, relative to the folder of the calling file.
    """
    with open_to_read(os.path.join(_folder_of_caller(), path)) as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return `path` unchanged, because no file is read ahead."""
    return path


def _folder_of_caller() -> str:
    return os.path.dirname(sys._getframe(2).f_code.co_filename)
