"""The environment variables that gpugraph reads, in one table, with functions that parse their
values (docs/switches.md).

An invalid value of one of gpugraph's variables raises an InvalidArgumentError that lists the valid
values. Variables of CUDA, TensorFlow and the desktop keep their usual meaning.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import NamedTuple

from gpugraph.base.errors import invalid_argument


class EnvironmentVariable(NamedTuple):
    """An environment variable.

    Args:
      meaning: the meaning of its value, for the documentation.
      values: the valid values, with the meaning of each. The dict is empty if any value is valid.
      default: the value if the variable is not set. If the variable has no default, this is an
        empty string.
    """

    meaning: str
    values: Mapping[str, str] = {}
    default: str = ""


VARIABLES: Mapping[str, EnvironmentVariable] = {
    "GPUGRAPH_GPU": EnvironmentVariable(
        "CUDA GPUs", {"0": "none is used", "1": "all available ones are used"}, "1"
    ),
    "GPUGRAPH_VIRTUAL_GPUS": EnvironmentVariable(
        "the devices that `GPUOptions.virtual_gpus` requests",
        {"numpy": "they run NumPy kernels", "emulated": "they run CUDA kernels on the host"},
        "numpy",
    ),
    "GPUGRAPH_VIRTUAL_GPU_COUNT": EnvironmentVariable(
        "the number of virtual GPUs of sessions whose `GPUOptions` request none", {}, "0"
    ),
    "GPUGRAPH_NATIVE": EnvironmentVariable(
        "native code of the CPU",
        {
            "0": "no compiler is called and no compiled object is loaded",
            "1": "code is compiled as `global_jit_level` requests, by default in the background",
            "wait": "a run waits until its kernels are compiled",
        },
        "1",
    ),
    "GPUGRAPH_CC": EnvironmentVariable("the C compiler: a name on the `PATH`, or a path", {}, "cc"),
    "GPUGRAPH_CXX": EnvironmentVariable(
        "the C++ compiler that compiles CUDA sources for emulated GPUs", {}, "c++"
    ),
    "GPUGRAPH_THREADS": EnvironmentVariable(
        "the number of threads of a kernel; unset, one for each processor of the process"
    ),
    "GPUGRAPH_CAPTURE": EnvironmentVariable(
        "CUDA graphs",
        {"0": "steps of a GPU are not captured", "1": "steps of a GPU are captured"},
        "1",
    ),
    "GPUGRAPH_JOIN": EnvironmentVariable(
        "small launches of one kernel",
        {"0": "launches of a GPU are not joined", "1": "independent ones are joined into one"},
        "1",
    ),
    "GPUGRAPH_CUDNN": EnvironmentVariable(
        "convolutions by cuDNN on GPUs",
        {"0": "gpugraph's kernels compute them", "1": "cuDNN does, if it is installed"},
        "1",
    ),
    "GPUGRAPH_DROPPED_NAMES": EnvironmentVariable(
        "names that Python, NumPy and others have dropped, in `gpugraph run`",
        {"0": "the program does not get them", "1": "the program gets them"},
        "1",
    ),
    "GPUGRAPH_VERIFY": EnvironmentVariable(
        "checks of the graph between compiler passes, and of each step's first native run against "
        "NumPy",
        {"0": "off", "1": "on"},
        "0",
    ),
    "GPUGRAPH_CUDA_SANITIZE": EnvironmentVariable(
        "AddressSanitizer in the kernels of emulated GPUs", {"0": "off", "1": "on"}, "0"
    ),
    "GPUGRAPH_CUDA_CHECKS": EnvironmentVariable(
        "checks of kernels on emulated GPUs, several of `races`, `contraction`, `noise`, `shuffle`"
    ),
    "GPUGRAPH_CLUSTER_KEY": EnvironmentVariable(
        "the secret of a cluster, required by servers that other machines can reach; or `@` and "
        "the path of a file that holds it"
    ),
    "GPUGRAPH_CLUSTER_TLS": EnvironmentVariable(
        "a folder with `ca.pem`, `cert.pem` and `key.pem`, with which the processes of a cluster "
        "identify each other and encrypt their messages"
    ),
    "GPUGRAPH_CLUSTER_WAIT": EnvironmentVariable(
        "the seconds that a session waits for servers that do not answer yet", {}, "60"
    ),
    "GPUGRAPH_SESSION_GC": EnvironmentVariable(
        "the seconds after which a server closes a session whose client is gone; 0: never",
        {},
        "300",
    ),
    "GPUGRAPH_COLLECTIVE_WAIT": EnvironmentVariable(
        "the seconds that a member of a collective waits for the other members; 0: for ever",
        {},
        "600",
    ),
    "GPUGRAPH_COLLECTIVE_BUCKET": EnvironmentVariable(
        "the bytes of reductions that `scoped_allocator_optimization` does at once", {}, "8388608"
    ),
    "CUDA_VISIBLE_DEVICES": EnvironmentVariable("CUDA's: the GPUs that the process sees"),
    "CUDA_PATH": EnvironmentVariable("CUDA's: a folder with CUDA's libraries and headers"),
    "CUDA_HOME": EnvironmentVariable("CUDA's: the same, if CUDA_PATH has none"),
    "CUDA_LAUNCH_BLOCKING": EnvironmentVariable(
        "CUDA's: anything but `0` makes each launch wait for its end, so that an error names its op"
    ),
    "NVIDIA_TF32_OVERRIDE": EnvironmentVariable(
        "NVIDIA's: `0` forbids TF32 in float32 matrix products and convolutions, `1` demands it"
    ),
    "TF_FORCE_GPU_ALLOW_GROWTH": EnvironmentVariable(
        "TensorFlow's: `true` or `false` overrides `GPUOptions.allow_growth`"
    ),
    "TF_ENABLE_GPU_GARBAGE_COLLECTION": EnvironmentVariable(
        "TensorFlow's: `false` keeps free regions when GPU memory runs out"
    ),
    "TF_CONFIG": EnvironmentVariable(
        "TensorFlow's: the cluster and this process's task in it, as JSON, for strategies"
    ),
    "TEST_TMPDIR": EnvironmentVariable(
        "TensorFlow's: the folder of `tf.test.get_temp_dir`; unset, a temporary one"
    ),
    "XDG_CACHE_HOME": EnvironmentVariable(
        "the folder in which `gpugraph/` holds compiled kernels; unset, `~/.cache`"
    ),
}
"""All variables by name."""


def setting(name: str) -> str:
    """Return the value of a variable of the table. If the variable is not set or is empty, return
    its default.

    Raises InvalidArgumentError if the value is not among the valid values.
    """
    variable = VARIABLES[name]
    value = os.environ.get(name) or variable.default
    if variable.values and value not in variable.values:
        possible = "; ".join(f"{key} ({meaning})" for key, meaning in variable.values.items())
        raise invalid_argument(
            f"{name} is {value!r}; possible are: {possible}. Unset it is {variable.default}."
        )
    return value


def seconds(name: str) -> float:
    """Return the value of a variable that holds a time in seconds.

    Raises InvalidArgumentError unless the value is a number from 0 to `threading.TIMEOUT_MAX`.
    """
    value = setting(name)
    try:
        if 0 <= float(value) <= threading.TIMEOUT_MAX:
            return float(value)
    except ValueError:
        pass
    raise _not_possible(name, value, "a number of seconds, 0 or more")


def whole_number(name: str, unit: str) -> int:
    """Return the value of a variable that holds a count.

    Raises InvalidArgumentError unless the value is an integer that is at least 0.

    Args:
      unit: a plural noun for the counted things, for the error.
    """
    value = setting(name)
    if value.isascii() and value.isdecimal():
        return int(value)
    raise _not_possible(name, value, f"a number of {unit}, 0 or more")


def _not_possible(name: str, value: str, wanted: str) -> Exception:
    default = VARIABLES[name].default
    return invalid_argument(f"{name} is {value!r}; it must be {wanted}. Unset it is {default}.")


def value_of(name: str) -> str | None:
    """Return the unchecked value of a variable of the table, or None if it is not set."""
    assert name in VARIABLES
    return os.environ.get(name)


def change_setting(name: str, value: str) -> None:
    """Set a variable of the table for this process and its future child processes."""
    assert name in VARIABLES
    os.environ[name] = value


def put_first_in_python_path(folder: str) -> None:
    """Put a folder first in PYTHONPATH, for future child processes. If PYTHONPATH already contains
    the folder, do nothing.
    """
    before = os.environ.get("PYTHONPATH", "")
    if folder not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before}" if before else folder


def is_on(name: str) -> bool:
    """Return whether a variable whose valid values are 0 and 1 is set to 1."""
    return setting(name) == "1"


def thread_count() -> int:
    """Return the number of threads that a kernel may use: GPUGRAPH_THREADS or, by default, the
    number of processors.

    Raises InvalidArgumentError if GPUGRAPH_THREADS is not a positive integer.
    """
    value = setting("GPUGRAPH_THREADS")
    if value:
        if not value.isdecimal() or int(value) < 1:
            raise invalid_argument(
                f"GPUGRAPH_THREADS is {value!r}; it must be a positive number of threads"
            )
        return int(value)
    return processor_count()


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
