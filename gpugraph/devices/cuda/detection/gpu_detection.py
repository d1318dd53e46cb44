"""Detection of the usable GPUs. If no GPU is usable, this module gives the reason and a remedy.

    GPUGRAPH_GPU=0?  ->  driver?  ->  CuPy?  ->  versions fit?  ->  GPUs visible?  ->  CuPy imports?
                     ->  a small kernel compiles, runs and has the right result

Cheap checks come first, so that detection takes almost no time on a machine without a GPU. CuPy is
imported only if there is a GPU. The result is kept until the process ends. If the small kernel
succeeds, the success is also recorded in the user's cache folder, together with the versions of all
packages involved. With these versions, later processes do not run the kernel again. Each process
still checks that the GPU can be opened.
"""

from __future__ import annotations

import hashlib
import logging
import os
from typing import NamedTuple

from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config.environment import is_on, value_of
from gpugraph.devices.codegen.object_cache import ObjectCache, cache_folder
from gpugraph.devices.cuda.detection.cupy_packages import (
    CuPy,
    extra_for,
    find_cupy,
    installed_version,
)
from gpugraph.devices.cuda.detection.probe_kernel import probe
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.driver_opening import (
    binding_problem,
    binding_version,
    compiler_version,
    open_driver,
)
from gpugraph.devices.cuda.driver.libcuda import Gpu, LibCuda, version_text

SWITCH = "GPUGRAPH_GPU"
VISIBLE = "CUDA_VISIBLE_DEVICES"
OLDEST_CAPABILITY = (7, 0)

_OLDEST_DRIVER = 12010
"""The oldest CUDA version that the driver must support. Before 12.1 (driver 530), a kernel has at
most 4 KiB of parameters, and generated kernels may have more.
"""
_PARTS = (
    *("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime"),
)
"""Packages besides CuPy whose versions affect the compilation of kernels."""

_logger = logging.getLogger(__name__)


class Detection(NamedTuple):
    """The usable GPUs, or the reason why there are none.

    Args:
      left_out: for each visible GPU that is not used, a sentence with the reason.
      surprising: whether no GPU is used although an NVIDIA driver is installed. If so, the reason
        is logged as a warning.
    """

    gpus: tuple[Gpu, ...] = ()
    reason: str = ""
    left_out: tuple[str, ...] = ()
    surprising: bool = False


_lock = new_lock()
_detections: dict[tuple[int, str | None], Detection] = {}
_started_in: list[int] = []
"""The id of the process that started the CUDA driver, if any: processes forked from it can't use
the driver.
"""


def detect() -> Detection:
    """Return the GPUs that this process can use. The GPUs are detected once for each value of
    CUDA_VISIBLE_DEVICES.

    Raises InvalidArgumentError if GPUGRAPH_GPU is neither 0 nor 1.
    """
    if not is_on(SWITCH):
        return Detection(reason=f"{SWITCH} is 0, which switches CUDA GPUs off")
    key = os.getpid(), value_of(VISIBLE)
    with _lock:
        if key not in _detections:
            _detections[key] = _detect()
            _log(_detections[key])
        return _detections[key]


def forget() -> None:
    """Drop the results, so that the next call of `detect` searches for GPUs again."""
    with _lock:
        _detections.clear()


def _log(detection: Detection) -> None:
    for gpu in detection.gpus:
        _logger.info("GPU %d is used: %s, %s", gpu.ordinal, gpu.name, gpu.bus_id)
    for sentence in detection.left_out:
        _logger.warning("A GPU is left out: %s", sentence)
    if detection.surprising:
        _logger.warning("No CUDA GPU is used: %s", detection.reason)


def _detect() -> Detection:
    try:
        library = LibCuda()
    except OSError as error:
        return Detection(reason=_no_driver(str(error)))
    if reason := _hidden():
        return Detection(reason=reason)
    reason, detection = "", Detection()
    try:
        version = library.version()
        cupy = find_cupy(version)
        reason = cupy.reason or _too_old(version, cupy.cuda, cupy.name)
        if not reason:
            detection = _usable(_visible_gpus(library), version, cupy)
    except DriverError as error:
        reason = _not_started(error)
    return detection._replace(reason=reason or detection.reason, surprising=not detection.gpus)


def _usable(visible: list[Gpu], version: int, cupy: CuPy) -> Detection:
    """Return the visible GPUs that can be used.

    Args:
      version: the CUDA version of the driver.
    """
    if not visible:
        return Detection(reason=f"the NVIDIA driver is here, but shows no GPU{_as_visible()}")
    gpus = tuple(gpu for gpu in visible if gpu.capability >= OLDEST_CAPABILITY)
    left_out = tuple(_too_weak(gpu) for gpu in visible if gpu.capability < OLDEST_CAPABILITY)
    if not gpus:
        return Detection(reason="; ".join(left_out))
    if problem := binding_problem():
        return Detection(reason=f"{cupy.name} {cupy.version} can't be imported: {problem}")
    try:
        reason = _too_old(version, binding_version() // 1000, cupy.name)
        reason = reason or _too_old(version, (compiler_version() or 0) // 1000, "NVRTC")
        if not reason:
            _try_out(gpus[0], version, cupy)
    except DriverError as error:
        reason = f"{gpus[0].name} (GPU {gpus[0].ordinal}) failed its trial: {error}"
    return Detection(reason=reason) if reason else Detection(gpus, "", left_out)


def _visible_gpus(library: LibCuda) -> list[Gpu]:
    if not _started_in:
        _started_in.append(os.getpid())
    library.initialize()
    return library.gpus()


# -- the last check


def _try_out(gpu: Gpu, version: int, cupy: CuPy) -> None:
    """Compile and run a small kernel, unless the cache records an earlier success. Raises
    DriverError if the kernel can't be compiled or run.
    """
    cache = ObjectCache(cache_folder().with_name("gpu"))
    key = _key(gpu, version, cupy)
    driver = open_driver(gpu.ordinal)  # raises for a lost GPU
    try:
        if cache.load(key) is None:
            probe(driver)
            cache.store(key, f"{gpu.name} answered right\n".encode())
            if cache.reason:
                _logger.info("The trial of %s is repeated in each process: %s", gpu, cache.reason)
    finally:
        driver.close()


def _key(gpu: Gpu, version: int, cupy: CuPy) -> str:
    parts = [f"{name} {installed_version(name)}" for name in _PARTS]
    parts.append(f"NVRTC {compiler_version()}")
    homes = [f"{name}={value_of(name)}" for name in (VISIBLE, "CUDA_HOME", "CUDA_PATH")]
    lines = [repr(gpu), str(version), f"{cupy.name} {cupy.version}", *parts, *homes]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# -- reasons


def _no_driver(text: str) -> str:
    cupy = find_cupy(None)
    also = "" if not cupy.reason else f"; besides, {cupy.reason}"
    return f"there is no NVIDIA driver ({text}){also}"


def _too_old(version: int, cuda: int, package: str) -> str:
    """Return the reason if a driver is too old for a package, or "" if the driver can run the
    package.

    Args:
      version: the CUDA version that the driver supports, such as 12080 for 12.8.
      cuda: the major CUDA version of the package.
    """
    needed = max(cuda * 1000, _OLDEST_DRIVER)
    if version >= needed:
        return ""
    return (
        f"the NVIDIA driver is too old: it serves CUDA {version_text(version)} at most, {package} "
        f"needs {version_text(needed)} or later: update the driver, or remove {package}, then "
        f"{extra_for(version)}"
    )


def _hidden() -> str:
    """Return the reason if CUDA_VISIBLE_DEVICES hides all GPUs, or "" if it does not. CUDA ignores
    the first invalid entry, such as -1, and all entries after it.
    """
    visible = value_of(VISIBLE)
    if visible is None:
        return ""
    if not visible.strip():
        return f"{VISIBLE} is empty, which hides all GPUs"
    if visible.split(",")[0].strip() == "-1":
        return f"{VISIBLE} is {visible!r}, which hides all GPUs"
    return ""


def _as_visible() -> str:
    visible = value_of(VISIBLE)
    return "" if visible is None else f" ({VISIBLE} is {visible!r})"


def _not_started(error: DriverError) -> str:
    if _started_in and _started_in[0] != os.getpid():
        return (
            "this process was forked from one that had started CUDA, and can't use it: start it by "
            f"multiprocessing's 'spawn', or before the first session ({error})"
        )
    if error.status == 100:
        return f"the NVIDIA driver finds no GPU{_as_visible()}: {error}"
    return f"the NVIDIA driver does not start{_as_visible()}: {error}"


def _too_weak(gpu: Gpu) -> str:
    wanted = ".".join(map(str, OLDEST_CAPABILITY))
    return (
        f"{gpu.name} (GPU {gpu.ordinal}) has compute capability {gpu.capability_text}, "
        f"{wanted} or later is needed"
    )
