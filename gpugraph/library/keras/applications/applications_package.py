"""The package keras-applications, which builds TensorFlow 1.15's networks. Imported on demand.

The package writes networks with the Keras modules that are passed to it, here those of `tf.keras`.
It requests files of weights and class names by file name and address. Nothing is downloaded: the
files are looked up in the folder where Keras keeps downloads.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from gpugraph.base.optional_packages import package_of_extra
from gpugraph.library.keras import backend, layers, models
from gpugraph.library.keras.engine.source_inputs import get_source_inputs


class _Utils:
    """The part of `tf.keras.utils` that the package uses."""

    get_source_inputs = staticmethod(get_source_inputs)

    @staticmethod
    def get_file(name: str, origin: str, cache_subdir: str, **hashes: str) -> str:
        """Return the path of a downloaded file.

        Raise FileNotFoundError with instructions if it is missing.
        """
        path = Path.home() / ".keras" / cache_subdir / name
        if path.exists():
            return str(path)
        instead = "" if path.suffix == ".json" else ", or give weights=PATH or weights=None"
        raise FileNotFoundError(
            f"URL fetch failure on {origin}: gpugraph downloads nothing. Put the file at "
            f"{path}{instead}"
        )


def applications_package() -> Any:
    """Return the package keras-applications.

    Raise ModuleNotFoundError, which names the extra to install, if it is missing.
    """
    users = "Networks of tf.keras.applications"
    with package_of_extra("applications", "keras-applications", users):
        package = importlib.import_module("keras_applications")
    # Otherwise the package would reuse a tensor of the first graph, and of the first mode, in all
    # others.
    package.imagenet_utils._IMAGENET_MEAN = None
    return package


def call_package(module: str, name: str, arguments: dict[str, Any]) -> Any:
    """Call a function of the package's module with the modules of `tf.keras`."""
    function = getattr(getattr(applications_package(), module), name)
    return function(**arguments, backend=backend, layers=layers, models=models, utils=_Utils)
