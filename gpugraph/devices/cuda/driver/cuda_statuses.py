"""CUDA's error numbers: which of them end all work on a GPU, and the DriverError of each."""

from __future__ import annotations

from gpugraph.devices.cuda.driver.driver_interface import DriverError

OUT_OF_MEMORY = 2
NOT_READY = 600
PEER_ACCESS_ALREADY = 704

FATAL = frozenset(
    (
        3,  # the driver could not be initialized
        4,  # it is shutting down
        46,  # all devices are busy or can't be reached
        100,  # no device
        101,  # no such device
        214,  # memory error that could not be corrected
        220,  # NVLink error that could not be corrected
        700,  # a kernel wrote or read where it must not
        702,  # a kernel took too long for a GPU that drives a screen
        709,  # the context was destroyed
        710,  # a kernel's assert failed
        714,  # the hardware's stack
        715,  # illegal instruction
        716,  # misaligned address
        717,  # address of a wrong space
        718,  # program counter outside the program
        719,  # a kernel failed
        721,  # tensor memory leaked by a kernel
        802,  # the system is not ready yet (NVSwitch)
        803,  # driver and kernel module differ
        804,  # compatibility libraries that this GPU does not support
        999,  # unknown, seen after a GPU fell off the bus
    )
)
"""After these all further calls in the process fail too, or no GPU could be used before.

From the descriptions of `cudaError` in the CUDA Runtime API: "leaves the process in an inconsistent
state and any further CUDA work will return the same error".
"""


def refusal(what: str, error: BaseException) -> DriverError:
    """An error of CuPy, raised by the attempt to `what`, as a DriverError with CUDA's number."""
    status = int(getattr(error, "status", 0) or 0)
    text = str(error).strip() or type(error).__name__
    fatal = status in FATAL
    lost = "; this process can't use the GPU any longer" if fatal else ""
    return DriverError(f"CUDA could not {what}: {text}{lost}", status, fatal)
