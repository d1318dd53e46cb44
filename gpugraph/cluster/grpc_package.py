"""The package grpcio, which is imported when a first server or remote session is made."""

from __future__ import annotations

import importlib
from typing import Any

from gpugraph.base.optional_packages import package_of_extra


def grpc() -> Any:
    """The module `grpc`; ModuleNotFoundError, with what to install, where it is not there."""
    with package_of_extra("cluster", "grpcio", "Servers and grpc:// targets"):
        return importlib.import_module("grpc")
