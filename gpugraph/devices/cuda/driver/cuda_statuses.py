"""CUDA's error numbers, the set of errors after which a GPU is unusable, and the conversion of
errors to DriverErrors.
"""

from __future__ import annotations

from gpugraph.devices.cuda.driver.driver_interface import DriverError

OUT_OF_MEMORY = 2
NOT_READY = 600
PEER_ACCESS_ALREADY = 704

FATAL = frozenset(
    (
        3,  # the driver could not be initialized
        4,  # the driver is shutting down
        46,  # all devices are in use or can't be reached
        100,  # no device
        101,  # no such device
        214,  # uncorrectable memory error
        220,  # uncorrectable NVLink error
        700,  # a kernel accessed an invalid address
        702,  # a kernel took too long for a GPU that drives a screen
        709,  # the context was destroyed
        710,  # a kernel's assert failed
        714,  # hardware stack error
        715,  # illegal instruction
        716,  # misaligned address
        717,  # address in a wrong address space
        718,  # program counter outside the program
        719,  # a kernel failed
        721,  # tensor memory leaked by a kernel
        802,  # the system is not ready yet (NVSwitch)
        803,  # driver and kernel module differ
        804,  # compatibility libraries that this GPU does not support
        999,  # unknown, seen after a GPU fell off the bus
    )
)
"""Errors after which all further CUDA calls of the process fail, or which mean that no GPU can be
used. The CUDA Runtime API's `cudaError` describes the first kind: "leaves the process in an
inconsistent state and any further CUDA work will return the same error".
"""


def refusal(what: str, error: BaseException) -> DriverError:
    """Convert an error that CuPy has raised to a DriverError with CUDA's error number.

    Args:
      what: the action that failed, as a verb with its object.
    """
    status = int(getattr(error, "status", 0) or 0)
    text = str(error).strip() or type(error).__name__
    fatal = status in FATAL
    lost = "; this process can't use the GPU any longer" if fatal else ""
    return DriverError(f"CUDA could not {what}: {text}{lost}", status, fatal)
