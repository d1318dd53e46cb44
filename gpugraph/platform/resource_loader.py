"""Files beside a program: `tensorflow.python.platform.resource_loader`."""

from __future__ import annotations

import os
import sys

from gpugraph.base.whole_files import open_to_read


def get_data_files_path() -> str:
    """Return the folder of the calling file."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """Return a path below the folder of the calling file."""
    return os.path.join(_folder_of_caller(), path)


def get_root_dir_with_all_resources() -> str:
    """Return the folder of the calling file: there is no other one for a program's files."""
    return _folder_of_caller()


def load_resource(path: str) -> bytes:
    """Return the bytes of a file below the folder of the calling file; OSError if it is missing."""
    with open_to_read(os.path.join(_folder_of_caller(), path)) as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path: nothing is read ahead here."""
    return path


def _folder_of_caller() -> str:
    return os.path.dirname(sys._getframe(2).f_code.co_filename)
