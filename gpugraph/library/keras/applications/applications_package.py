"""Calls of the package keras-applications, which builds TensorFlow 1.15's networks.

The package is imported at the first call of one of its functions. The package builds its networks
with Keras modules that the caller passes to it. gpugraph passes the modules of `tf.keras`. Nothing
is downloaded: files of weights and class names must be in ~/.keras, where Keras stores its
downloads.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from gpugraph.base.optional_packages import package_of_extra
from gpugraph.library.keras import backend, layers, models
from gpugraph.library.keras.engine.source_inputs import get_source_inputs


class _Utils:
    """The functions of `tf.keras.utils` that keras-applications calls."""

    get_source_inputs = staticmethod(get_source_inputs)

    @staticmethod
    def get_file(name: str, origin: str, cache_subdir: str, **hashes: str) -> str:
        """Return the path of a file that was downloaded earlier to ~/.keras/`cache_subdir`.

        Raises FileNotFoundError, with instructions, if the file is missing. `hashes` are not
        checked.
        """
        path = Path.home() / ".keras" / cache_subdir / name
        if path.exists():
            return str(path)
        instead = "" if path.suffix == ".json" else ", or give weights=PATH or weights=None"
        raise FileNotFoundError(
            f"URL fetch failure on {origin}: gpugraph downloads nothing. Put the file at "
            f"{path}{instead}"
        )


KERAS_MODULES: dict[str, Any] = {
    "backend": backend,
    "layers": layers,
    "models": models,
    "utils": _Utils,
}
"""The modules of which the package builds its networks, by the name of its argument."""


def applications_package() -> Any:
    """Import and return the package keras-applications.

    Raises ModuleNotFoundError if the package is missing. The error names the extra of gpugraph to
    install.
    """
    users = "Networks of tf.keras.applications"
    with package_of_extra("applications", "keras-applications", users):
        package = importlib.import_module("keras_applications")
    # The package keeps this tensor in a global variable. Without this reset, it would reuse the
    # tensor of an earlier graph or of another `mode`.
    package.imagenet_utils._IMAGENET_MEAN = None
    return package


def call_package(module: str, name: str, arguments: dict[str, Any]) -> Any:
    """Call the function `name` of the package's module `module`. Pass it the Keras modules that it
    needs, unless the arguments contain others.
    """
    function = getattr(getattr(applications_package(), module), name)
    return function(**(KERAS_MODULES | arguments))
