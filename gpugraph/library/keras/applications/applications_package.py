"""The package keras-applications, whose networks are those of TensorFlow 1.15: used when needed.

It writes networks in the modules of a Keras that it is given, here `tf.keras`. Files of weights
and classes it asks for by name and address; nothing is downloaded, they are looked for in the
folder where Keras keeps downloads.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from gpugraph.base.optional_packages import package_of_extra
from gpugraph.library.keras import backend, layers, models
from gpugraph.library.keras.engine.source_inputs import get_source_inputs


class _Utils:
    """What the package uses of `tf.keras.utils`."""

    get_source_inputs = staticmethod(get_source_inputs)

    @staticmethod
    def get_file(name: str, origin: str, cache_subdir: str, **hashes: str) -> str:
        """The path of a downloaded file; FileNotFoundError, with what to do, where it is not."""
        path = Path.home() / ".keras" / cache_subdir / name
        if path.exists():
            return str(path)
        instead = "" if path.suffix == ".json" else ", or give weights=PATH or weights=None"
        raise FileNotFoundError(
            f"URL fetch failure on {origin}: gpugraph downloads nothing. Put the file at "
            f"{path}{instead}"
        )


def applications_package() -> Any:
    """The package keras-applications; ModuleNotFoundError, with the extra, without it."""
    users = "Networks of tf.keras.applications"
    with package_of_extra("applications", "keras-applications", users):
        package = importlib.import_module("keras_applications")
    # It would keep a tensor of the first graph, and of the first mode, for all others.
    package.imagenet_utils._IMAGENET_MEAN = None
    return package


def call_package(module: str, name: str, arguments: dict[str, Any]) -> Any:
    """What the package's function of that module returns for these arguments, by `tf.keras`."""
    function = getattr(getattr(applications_package(), module), name)
    return function(**arguments, backend=backend, layers=layers, models=models, utils=_Utils)
