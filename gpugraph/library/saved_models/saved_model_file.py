"""The file of a SavedModel: a function that checks whether it exists, and a function that reads
it.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.formats import messages_pb2
from gpugraph.library.saved_models import model_names
from gpugraph.platform import files


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Return whether a folder contains a file with the name of a SavedModel.

    The file is not read.
    """
    return any(files.Exists(path) for path in _file_paths(export_dir))


def _file_paths(export_dir: Any) -> tuple[str, str]:
    folder = model_names.folder_text(export_dir)
    names = (model_names.SAVED_MODEL_FILENAME_PB, model_names.SAVED_MODEL_FILENAME_PBTXT)
    return os.path.join(folder, names[0]), os.path.join(folder, names[1])


def parse_saved_model(export_dir: Any) -> Any:
    """Read the SavedModel message in a folder from its binary file. If the binary file does not
    exist, read the text file.

    Raises OSError if the folder has neither file, or if the file is not a SavedModel.
    """
    for path, parse in zip(
        _file_paths(export_dir), (messages_pb2.parse_bytes, messages_pb2.parse_text)
    ):
        if not files.Exists(path):
            continue
        with files.GFile(path, "rb") as file:
            content = file.read()
        try:
            return parse(messages_pb2.SavedModel, content)
        except ValueError as error:
            raise OSError(f"Cannot parse file {path}: {error}.") from error
    raise OSError(
        f"SavedModel file does not exist at: {model_names.folder_text(export_dir)}{os.sep}"
        f"{{{model_names.SAVED_MODEL_FILENAME_PBTXT}|{model_names.SAVED_MODEL_FILENAME_PB}}}"
    )
