"""Files beside a program: `tensorflow.python.platform.resource_loader`."""

from __future__ import annotations

import os
import sys

from gpugraph.base.whole_files import open_to_read


def get_data_files_path() -> str:
    """The folder of the file that calls."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """A path below the folder of the file that calls."""
    return os.path.join(_folder_of_caller(), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the file that calls: there is no other one for a program's files."""
    return _folder_of_caller()


def load_resource(path: str) -> bytes:
    """The bytes of a file below the folder of the file that calls; OSError if it is not there."""
    with open_to_read(os.path.join(_folder_of_caller(), path)) as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path: nothing is read ahead here."""
    return path


def _folder_of_caller() -> str:
    return os.path.dirname(sys._getframe(2).f_code.co_filename)
