"""The package grpcio, which is imported when the first server or remote session is created."""

from __future__ import annotations

import importlib
from typing import Any

from gpugraph.base.optional_packages import package_of_extra


def grpc() -> Any:
    """Return the module `grpc`. If gRPC is not installed, raise ModuleNotFoundError with
    instructions.
    """
    with package_of_extra("cluster", "grpcio", "Servers and grpc:// targets"):
        return importlib.import_module("grpc")
