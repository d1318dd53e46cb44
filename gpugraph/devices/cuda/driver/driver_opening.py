"""Opening of GPUs. The module that imports CuPy is imported only when the first GPU is opened.

Otherwise `import gpugraph` would spend most of its time on importing CuPy, even in processes that
use no GPU.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from gpugraph.config.environment import is_on
from gpugraph.devices.cuda.driver.cublaslt import CublasLt, load_cublaslt
from gpugraph.devices.cuda.driver.cudnn import Cudnn, load_cudnn
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Product
from gpugraph.devices.cuda.driver.nvrtc import NvrtcSearch, find_nvrtc

_logger = logging.getLogger(__name__)

_CUDA_VERSIONS = (12, 13)


def binding_problem() -> str:
    """Return the reason why CuPy can't be imported, or "" if it can."""
    return str(_cupy_driver().cupy.PROBLEM)


def binding_version() -> int:
    """Return the version of CuPy's CUDA runtime, such as 12090 for 12.9. Raises DriverError if the
    version can't be determined.
    """
    return int(_cupy_driver().cupy.runtime_version())


def open_driver(ordinal: int) -> Driver:
    """Open a driver for the visible GPU with this ordinal. Raises DriverError if the GPU can't be
    opened.
    """
    return _cupy_driver().CupyDriver(ordinal, compile_source, _products, _convolutions)


def _cupy_driver() -> Any:
    return importlib.import_module("gpugraph.devices.cuda.driver.cupy_driver")


Bind = Callable[[Product, tuple[int, int], int], Callable[[], None] | None]


def _products() -> Bind:
    """Return a function that binds matrix products to cublasLt. If possible, cublasLt has the same
    CUDA version as CuPy. If cublasLt can't be loaded, the function returns None for each product.
    """
    runtime = binding_version() // 1000
    try:
        return CublasLt(load_cublaslt(tuple(dict.fromkeys((runtime, *_CUDA_VERSIONS))))).bind
    except (OSError, AttributeError, DriverError) as error:  # AttributeError: an old library
        _logger.warning("Matrix products are computed by kernels of our own: %s", error)
        return _none


def _convolutions() -> Cudnn | None:
    """Return cuDNN, or None if it is not installed or GPUGRAPH_CUDNN disables it.

    cuDNN loads cublasLt by name, and ends the process if this fails. So cublasLt is loaded first.
    """
    if not is_on("GPUGRAPH_CUDNN"):
        return None
    try:
        cuda = binding_version() // 1000
        load_cublaslt((cuda,))
        library = Cudnn(load_cudnn())
        if library.cuda != cuda:
            raise DriverError(f"cuDNN {library.version} is for CUDA {library.cuda}, not {cuda}")
        return library
    except (OSError, AttributeError, DriverError) as error:  # AttributeError: another cuDNN
        _logger.info("Convolutions are computed by kernels of our own: %s", error)
        return None


def _none(product: Product, workspace: tuple[int, int], stream: int) -> None:
    return None


def compile_source(source: str, arch: str, name: str) -> bytes:
    """Compile a CUDA source to a cubin with NVRTC. Raises DriverError if NVRTC is not found or the
    source does not compile.
    """
    nvrtc, reason = _nvrtc()
    if nvrtc is None:
        raise DriverError(reason)
    return nvrtc.compile(source, name, arch).content


def compiler_version() -> int | None:
    """Return NVRTC's version in CUDA's numbering, such as 12090 for 12.9. If NVRTC is not found,
    return None.
    """
    nvrtc = _nvrtc().nvrtc
    return None if nvrtc is None else nvrtc.version[0] * 1000 + nvrtc.version[1] * 10


def _nvrtc() -> NvrtcSearch:
    """Search for NVRTC, if possible for one of CuPy's major CUDA version."""
    try:
        return find_nvrtc(binding_version() // 1000)
    except DriverError:
        return find_nvrtc()
