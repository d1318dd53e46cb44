"""Is there a GPU to compute on, and if not, why: one sentence that says what to do.

    GPUGRAPH_GPU=0?  ->  driver?  ->  CuPy?  ->  they fit?  ->  GPUs visible?  ->  CuPy imports?
                     ->  a tiny kernel compiles, runs and answers right

The first questions are cheap, so that a machine without a GPU pays next to nothing, and CuPy is
imported only where there is a GPU. The answer is kept for the process. That the last question was
answered well is kept in the user's cache folder too, by the versions of all that takes part; what
a GPU lost since then would answer is asked each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from typing import NamedTuple

from gpugraph.base.errors import invalid_argument
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

_PARTS = (
    *("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime-cu12"),
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime"),
)
"""The packages besides CuPy that take part in compiling a kernel."""

_logger = logging.getLogger(__name__)


class Detection(NamedTuple):
    """The GPUs that can compute; or none, and why. left_out: of each that can't, why.

    surprising: whether who has an NVIDIA driver would not have thought so.
    """

    gpus: tuple[Gpu, ...] = ()
    reason: str = ""
    left_out: tuple[str, ...] = ()
    surprising: bool = False


_lock = threading.Lock()
_known: dict[tuple[int, str | None], Detection] = {}
_started_in: list[int] = []
"""The process that started the driver: one that is forked from it can't."""


def detect() -> Detection:
    """What GPUs this process has, found out once.

    InvalidArgumentError for a GPUGRAPH_GPU that is neither 0 nor 1.
    """
    switch = os.environ.get(SWITCH, "")
    if switch not in ("", "0", "1"):
        raise invalid_argument(
            f"{SWITCH} is {switch!r}; possible are 0 (no CUDA GPU is used) and 1 (all that are "
            "there, as when it is not set)"
        )
    if switch == "0":
        return Detection(reason=f"{SWITCH} is 0, which switches CUDA GPUs off")
    key = os.getpid(), os.environ.get(VISIBLE)
    with _lock:
        if key not in _known:
            _known[key] = _detect()
            _tell(_known[key])
        return _known[key]


def forget() -> None:
    """Lets the next `detect` ask again."""
    with _lock:
        _known.clear()


def _tell(found: Detection) -> None:
    """Once: nobody shall wonder where the program runs."""
    for gpu in found.gpus:
        _logger.info("GPU %d is used: %s, %s", gpu.ordinal, gpu.name, gpu.bus_id)
    for sentence in found.left_out:
        _logger.warning("A GPU is left out: %s", sentence)
    if found.surprising:
        _logger.warning("No CUDA GPU is used: %s", found.reason)


def _detect() -> Detection:
    try:
        library = LibCuda()
    except OSError as error:
        return Detection(reason=_no_driver(str(error)))
    if reason := _hidden():
        return Detection(reason=reason)
    reason, found = "", Detection()
    try:
        version = library.version()
        cupy = find_cupy(version)
        reason = cupy.reason or _too_old(version, cupy.cuda, cupy.name)
        if not reason:
            found = _usable(_visible_gpus(library), version, cupy)
    except DriverError as error:
        reason = _not_started(error)
    return found._replace(reason=reason or found.reason, surprising=not found.gpus)


def _usable(found: list[Gpu], version: int, cupy: CuPy) -> Detection:
    """Of the GPUs that are there."""
    if not found:
        return Detection(reason=f"the NVIDIA driver is here, but shows no GPU{_as_visible()}")
    gpus = tuple(gpu for gpu in found if gpu.capability >= OLDEST_CAPABILITY)
    left_out = tuple(_too_weak(gpu) for gpu in found if gpu.capability < OLDEST_CAPABILITY)
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


# -- the last question


def _try_out(gpu: Gpu, version: int, cupy: CuPy) -> None:
    """Compiles and runs a kernel, unless that is known to go well. DriverError says what failed."""
    cache = ObjectCache(cache_folder().with_name("gpu"))
    key = _key(gpu, version, cupy)
    driver = open_driver(gpu.ordinal)  # a GPU that is lost shows here
    try:
        if cache.find(key) is None:
            probe(driver)
            with contextlib.suppress(OSError):  # nowhere to keep it: it is asked again
                cache.store(key, f"{gpu.name} answered right\n".encode())
            if cache.reason:
                _logger.info("The trial of %s is repeated in each process: %s", gpu, cache.reason)
    finally:
        driver.close()


def _key(gpu: Gpu, version: int, cupy: CuPy) -> str:
    parts = [f"{name} {installed_version(name)}" for name in _PARTS]
    parts.append(f"NVRTC {compiler_version()}")
    homes = [f"{name}={os.environ.get(name)}" for name in (VISIBLE, "CUDA_HOME", "CUDA_PATH")]
    asked = [repr(gpu), str(version), f"{cupy.name} {cupy.version}", *parts, *homes]
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()


# -- reasons


def _no_driver(text: str) -> str:
    cupy = find_cupy(None)
    also = "" if not cupy.reason else f"; besides, {cupy.reason}"
    return f"there is no NVIDIA driver ({text}){also}"


def _too_old(version: int, needed: int, package: str) -> str:
    if version >= needed * 1000:
        return ""
    return (
        f"the NVIDIA driver is too old: it serves CUDA {version_text(version)} at most, {package} "
        f"needs {needed}.0 or later: update the driver, or remove {package}, then "
        f"{extra_for(version)}"
    )


def _hidden() -> str:
    """Why CUDA_VISIBLE_DEVICES hides all GPUs, if it does: what follows a bad entry is hidden."""
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return ""
    if not visible.strip():
        return f"{VISIBLE} is empty, which hides all GPUs"
    if visible.split(",")[0].strip() == "-1":
        return f"{VISIBLE} is {visible!r}, which hides all GPUs"
    return ""


def _as_visible() -> str:
    visible = os.environ.get(VISIBLE)
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
