"""The environment of tests: a folder for the files of tests, and the available devices."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile

from gpugraph.config.environment import setting
from gpugraph.devices.device_listing import list_local_devices

_temp_dirs: list[str] = []


def get_temp_dir() -> str:
    """Return a folder for the files of tests. If the environment variable TEST_TMPDIR is set,
    return the folder that it names. Otherwise return a folder that is deleted when the process
    ends.
    """
    path = setting("TEST_TMPDIR")
    if path:
        os.makedirs(path, exist_ok=True)
        return path
    if not _temp_dirs:
        _temp_dirs.append(tempfile.mkdtemp(prefix="gpugraph_test_"))
        atexit.register(shutil.rmtree, _temp_dirs[0], ignore_errors=True)
    return _temp_dirs[0]


def test_src_dir_path(relative_path: str) -> str:
    """Return the path of `relative_path`, which is relative to the folder of the program that was
    started.
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


def gpu_device_name() -> str:
    """Return the name of the first GPU of a session without a config. If there is no GPU, return
    "".
    """
    names = (device.name for device in list_local_devices() if device.device_type == "GPU")
    return next(names, "")


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return whether a session without a config has a GPU.

    The arguments have no effect. For example, the compute capability of the GPU is not checked.
    """
    del cuda_only, min_cuda_compute_capability
    return bool(gpu_device_name())


def is_built_with_cuda() -> bool:
    """Return False, because no CUDA code is compiled into the package. GPUs are detected when a
    program runs.
    """
    return False


def is_built_with_gpu_support() -> bool:
    """Return False, because no GPU code is compiled into the package. GPUs are detected when a
    program runs.
    """
    return False


def is_built_with_rocm() -> bool:
    """Return False, because AMD's ROCm is not supported."""
    return False


def is_built_with_xla() -> bool:
    """Return False, because XLA is not part of the package."""
    return False
