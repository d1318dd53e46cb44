"""libcuda: properties of NVIDIA's driver and of its GPUs, which are read from libcuda.so.1 through
ctypes.

No function of this module creates a CUDA context, which would take GPU memory.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from gpugraph.devices.cuda.driver.cuda_statuses import FATAL
from gpugraph.devices.cuda.driver.driver_interface import DriverError

_NAME = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76  # CUdevice_attribute: compute capability
_COMPUTE_MODE = 20  # CUdevice_attribute: 0 if several processes may use the GPU

_TEXTS = {
    3: "the driver could not be initialized",
    34: "this libcuda.so.1 is a stub for linking, not a driver",
    35: "the driver is too old",
    46: "all GPUs are busy or can't be reached",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    802: "the system is not ready yet",
    803: "the driver's library and its kernel module are of different versions",
    804: "the compatibility libraries of CUDA do not support this GPU",
    999: "unknown error",
}
"""Messages for CUDA statuses, used if the driver is too old or too broken to provide messages."""


class Gpu(NamedTuple):
    """A GPU in the driver's list.

    Args:
      ordinal: the number of the GPU among the visible GPUs.
      capability: the major and minor number of the compute capability, such as (9, 0).
      bus_id: the GPU's address on the PCI bus.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    total_bytes: int
    bus_id: str

    @property
    def capability_text(self) -> str:
        """The compute capability in NVIDIA's notation, such as `9.0`."""
        return f"{self.capability[0]}.{self.capability[1]}"


def version_text(number: int) -> str:
    """Return the text of a CUDA version number, such as 12.9 for 12090."""
    return f"{number // 1000}.{number % 1000 // 10}"


class LibCuda:
    """The driver's library, which the constructor loads. The constructor raises OSError, with the
    loader's message, if there is no driver.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(_NAME)

    def version(self) -> int:
        """Return the newest CUDA version that the driver supports, such as 13000 for 13.0."""
        number = ctypes.c_int(0)
        self._call("cuDriverGetVersion", ctypes.byref(number))
        return number.value

    def initialize(self) -> None:
        """Initialize the driver in this process (cuInit). Raises DriverError, with CUDA's status,
        if the initialization fails.
        """
        self._call("cuInit", ctypes.c_uint(0))

    def gpus(self) -> list[Gpu]:
        """Return the visible GPUs, in the order of CUDA_VISIBLE_DEVICES."""
        count = ctypes.c_int(0)
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return [self._gpu(ordinal) for ordinal in range(count.value)]

    def is_exclusive(self, ordinal: int) -> bool:
        """Return whether the compute mode of a GPU permits only one process to use it."""
        device = ctypes.c_int(0)
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        return self._attribute(_COMPUTE_MODE, device) != 0

    def _gpu(self, ordinal: int) -> Gpu:
        device, total = ctypes.c_int(0), ctypes.c_size_t(0)
        name, bus_id = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32)
        self._call("cuDeviceGet", ctypes.byref(device), ordinal)
        self._call("cuDeviceGetName", name, len(name), device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        self._call("cuDeviceGetPCIBusId", bus_id, len(bus_id), device)
        return Gpu(
            ordinal,
            name.value.decode(errors="replace"),
            (self._attribute(_MAJOR, device), self._attribute(_MINOR, device)),
            total.value,
            bus_id.value.decode(errors="replace"),
        )

    def _attribute(self, number: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int(0)
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        try:
            status = getattr(self._library, name)(*arguments)
        except AttributeError:
            raise DriverError(f"{_NAME} has no {name}: it is not a CUDA driver") from None
        if status:
            text = _TEXTS.get(status) or self._text(status)
            raise DriverError(f"{text} ({name}: {status})", status, status in FATAL)

    def _text(self, status: int) -> str:
        text = ctypes.c_char_p()
        ask = getattr(self._library, "cuGetErrorString", None)
        if ask is None or ask(status, ctypes.byref(text)) or text.value is None:
            return "an error that the driver does not explain"
        return text.value.decode(errors="replace")
