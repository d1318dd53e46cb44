"""Explanations, for error messages, of why a model file cannot be read.

Files that cannot be read come from Keras 1, Keras 3 and other programs. HDF5 files and JSON texts
contain the version of Keras. SavedModels are recognized by their folders, and all other files by
their first bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from gpugraph.base.lfs_pointers import pointer_text_of_file

_MARKS_OF_KERAS_1 = tuple(
    f'"{name}"'
    for name in ("W_regularizer", "border_mode", "nb_filter", "dim_ordering", "inner_init")
)
"""Arguments of layers in Keras 1 whose names are different in Keras 2."""

_MAX_BYTES = 1 << 16


def kind_text(path: Any) -> str:
    """Return an explanation of a path that is not an HDF5 file, or "" if the kind of file is
    unknown.
    """
    path = os.fsdecode(path)
    if os.path.isdir(path):
        if not any(os.path.isfile(os.path.join(path, f"saved_model.{e}")) for e in ("pb", "pbtxt")):
            return ""
        return (
            " (it is a SavedModel: `tf.saved_model.load(sess, tags, path)` loads its graph and "
            "variables, and `tf.saved_model.load_function` a function of it; "
            "`gpugraph show` lists what it has)"
        )
    if os.path.isfile(path) and zipfile.is_zipfile(path):
        return _archive_text(path)
    return pointer_text_of_file(path)


def _archive_text(path: str) -> str:
    """Return the explanation of a zip archive: whether it is a `.keras` file, and the version of
    Keras that wrote it.
    """
    with contextlib.suppress(OSError, ValueError, RuntimeError, zipfile.BadZipFile, KeyError):
        with zipfile.ZipFile(path) as archive:
            if "config.json" not in archive.namelist():
                return " (it is a zip archive)"
            with archive.open("metadata.json") as file:
                version = json.loads(file.read(_MAX_BYTES)).get("keras_version")
            return (
                f" (it is a `.keras` archive by Keras {version}, a format of later versions: save "
                "the model there as HDF5, by `tf_keras` or Keras 2, or its `get_weights()`)"
            )
    return " (it is a zip archive)"


def version_text(version: str | None, config: str = "") -> str:
    """Return an explanation that names the version of Keras that wrote a file. Return "" for Keras
    2 and tf.keras.

    Args:
      version: the version that the file records, or None.
      config: the model's configuration as JSON. If `version` is None, the configuration is
        searched for arguments of Keras 1.
    """
    if version is None:
        if not any(mark in config for mark in _MARKS_OF_KERAS_1):
            return ""
        version = "1"
    number = re.match(r"\d{1,9}", version)
    major = int(number[0]) if number else 2
    if major < 2:
        return (
            f" The model is by Keras {version}, whose layers have other names, arguments and "
            "variables. Keras 2 reads it partly: load it there, and save it again"
        )
    if major > 2:
        return (
            f" The model is by Keras {version}, which writes other configurations than Keras 2 and "
            "tf.keras of TensorFlow 1.15: save it by `tf_keras`, or save its `get_weights()` and "
            "set them in a model that is built here"
        )
    return ""


@contextlib.contextmanager
def naming_version(version: str | None, config: str = "") -> Iterator[None]:
    """Append the explanation from `version_text` to errors that are raised inside a `with` block.

    Some classes of errors become ValueError. If the explanation is "", errors are unchanged.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, NotImplementedError) as error:
        text = version_text(version, config)
        if not text:
            raise
        same = (NotImplementedError, TypeError)
        kind = next((kind for kind in same if isinstance(error, kind)), ValueError)
        raise kind(f"{str(error).rstrip('.')}.{text}") from error
