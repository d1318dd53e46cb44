"""The package grpcio, which is imported when a first server or remote session is made."""

from __future__ import annotations

import importlib
from typing import Any


def grpc() -> Any:
    """The module `grpc`; ModuleNotFoundError, with what to install, where it is not there."""
    try:
        return importlib.import_module("grpc")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Servers and grpc:// targets need the package grpcio, which is not installed: "
            f"pip install 'gpugraph[cluster]' ({error})",
            name="grpc",
        ) from error
