"""The one door to the module that imports CuPy: it is imported when the first GPU is opened.

Importing it would be the costliest thing `import gpugraph` does, for all who have CuPy and no need
of a GPU in this process.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from gpugraph.devices.cuda.driver.cublaslt import CublasLt, load_cublaslt
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Product
from gpugraph.devices.cuda.driver.nvrtc import find_nvrtc

_logger = logging.getLogger(__name__)

_CUDA_VERSIONS = (12, 13)


def binding_problem() -> str:
    """Why CuPy can't be imported, or nothing."""
    return str(_cupy_driver().PROBLEM)


def binding_version() -> int:
    """The version of the CUDA runtime that CuPy carries: 12090 is 12.9. DriverError."""
    return int(_cupy_driver().runtime_version())


def open_driver(ordinal: int) -> Driver:
    """A driver of a visible GPU. DriverError."""
    return _cupy_driver().CupyDriver(ordinal, compile_text, _products)


def _cupy_driver() -> Any:
    return importlib.import_module("gpugraph.devices.cuda.driver.cupy_driver")


Bind = Callable[[Product, tuple[int, int], int], Callable[[], None] | None]


def _products() -> Bind:
    """cublasLt's, of CuPy's CUDA version if it is there; nobody's where it is not."""
    own = binding_version() // 1000
    try:
        return CublasLt(
            load_cublaslt((own, *(each for each in _CUDA_VERSIONS if each != own)))
        ).bind
    except (OSError, AttributeError, DriverError) as error:  # AttributeError: too old a library
        _logger.warning("Matrix products are computed by kernels of our own: %s", error)
        return _none


def _none(product: Product, workspace: tuple[int, int], stream: int) -> None:
    return None


def compile_text(text: str, arch: str, name: str) -> bytes:
    """The cubin of a CUDA text by NVRTC, or DriverError: there is none, or it refuses the text."""
    found = find_nvrtc()
    if found.nvrtc is None:
        raise DriverError(found.reason)
    return found.nvrtc.compile(text, name, arch).content


def compiler_version() -> int | None:
    """NVRTC's version, 12090 for 12.9; None where there is none."""
    nvrtc = find_nvrtc().nvrtc
    return None if nvrtc is None else nvrtc.version[0] * 1000 + nvrtc.version[1] * 10
