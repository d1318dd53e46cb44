"""Device options: the CUDA devices of a session, as its options select, divide and limit the GPUs.

As in TensorFlow (`gpu_device.cc`), `visible_device_list` selects and orders the GPUs,
`device_count["GPU"]` limits their number, `experimental.virtual_devices` divides each GPU into
several devices, and `per_process_gpu_memory_fraction` limits the memory of undivided GPUs. Without
a fraction, a device may use the GPU's free memory, except for a reserve. Devices are numbered from
0 across all GPUs.

There are two differences from TensorFlow. First, a fraction above 1 is an error. In TensorFlow, it
requests unified memory. Second, memory is allocated when it is needed, even without `allow_growth`.
TensorFlow allocates all memory at once, for all sessions. Here each session has separate memory, so
if the first session allocated all of it, no memory would be left for other sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpugraph.base.errors import InternalError, InvalidArgumentError, UnknownError, invalid_argument
from gpugraph.config import GPUOptions, SessionOptions
from gpugraph.devices.cuda.cuda_device import CudaDevice
from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError
from gpugraph.devices.cuda.driver.driver_opening import open_driver

_SMALL_GPU = 2 << 30
_SMALL_RESERVE = 225 << 20
_MIN_RESERVE = 300 << 20
_RESERVED_PART = 0.05


class Split(NamedTuple):
    """One GPU device of a session: a whole GPU, or one of the devices into which a GPU is divided.

    Args:
      ordinal: the GPU's number among the visible GPUs.
      memory_limit: the memory limit in bytes.
      number: the device's number in the session.
    """

    ordinal: int
    memory_limit: int
    number: int


def create_cuda_devices(options: SessionOptions, name_prefix: str) -> list[CudaDevice]:
    """Create the CUDA devices of a session. If there are no GPUs, return an empty list. (`detect`
    returns the reason.)

    Each device has a separate driver, so it can be closed without affecting the other devices.
    Raises InternalError if a GPU that was detected can't be used now. In this case, drivers that
    were already opened are closed.
    """
    if options.config.device_count.get("GPU", 1) <= 0:
        return []
    ordinals = [gpu.ordinal for gpu in detect().gpus]
    if not ordinals:
        return []
    opened: list[Driver] = []
    devices: list[CudaDevice] = []

    def open_and_note(ordinal: int) -> Driver:
        opened.append(open_driver(ordinal))
        return opened[-1]

    spare: dict[int, Driver] = {}

    def memory(ordinal: int) -> tuple[int, int]:
        if ordinal not in spare:
            spare[ordinal] = open_and_note(ordinal)
        properties = spare[ordinal].properties
        return properties.free_bytes, properties.total_bytes

    try:
        for ordinal, limit, number in splits(options, ordinals, memory):
            driver = spare.pop(ordinal, None) or open_and_note(ordinal)
            name = f"{name_prefix}/device:GPU:{number}"
            devices.append(CudaDevice(name, number, driver, limit, allow_growth=True))
    except BaseException as error:
        _close(devices, opened)
        if isinstance(error, DriverError):
            raise InternalError.of_no_node(f"A GPU can't be used: {error}") from error
        raise
    return devices


def _close(devices: Sequence[CudaDevice], drivers: Sequence[Driver]) -> None:
    for device in devices:
        device.close()
    for driver in drivers:
        driver.close()  # closes a device's driver a second time, which has no effect


def splits(
    options: SessionOptions, ordinals: Sequence[int], memory: Callable[[int], tuple[int, int]]
) -> list[Split]:
    """Return the devices that these options require.

    As in TensorFlow, raises InvalidArgumentError if options are invalid or contradict each other,
    and UnknownError if the number of GPUs to be divided differs from the number of usable GPUs.

    Args:
      ordinals: the numbers of the usable GPUs.
      memory: a function that receives the number of a GPU, and returns the GPU's free and total
        bytes.
    """
    gpu_options = options.config.gpu_options
    most = options.config.device_count.get("GPU", len(ordinals))
    if most <= 0:
        return []
    _check(gpu_options)
    visible = _visible(gpu_options.visible_device_list, ordinals)
    virtual = gpu_options.experimental.virtual_devices
    parts = [list(device.memory_limit_mb) for device in virtual]
    if parts:
        _check_parts(gpu_options, len(parts), min(most, len(visible)), len(visible))
        most = len(parts)
    limits: list[tuple[int, int]] = []
    for index, ordinal in enumerate(visible[:most]):
        if parts and parts[index]:
            limits += [(ordinal, _part_bytes(mebibytes)) for mebibytes in parts[index]]
        else:
            fraction = gpu_options.per_process_gpu_memory_fraction
            limits.append((ordinal, _limit(fraction, *memory(ordinal))))
    return [Split(ordinal, limit, number) for number, (ordinal, limit) in enumerate(limits)]


def _check(options: GPUOptions) -> None:
    fraction = options.per_process_gpu_memory_fraction
    if not 0 <= fraction <= 1:
        raise invalid_argument(
            f"GPUOptions.per_process_gpu_memory_fraction is {fraction}; it is the part of a GPU's "
            "memory that may be used, from 0 (the default: nearly all that is free) to 1"
        )
    if options.allocator_type not in ("", "BFC"):
        raise invalid_argument(
            f"GPUOptions.allocator_type is {options.allocator_type!r}; GPUs have 'BFC' only"
        )


def _visible(text: str, ordinals: Sequence[int]) -> list[int]:
    """Return the ordinals in `visible_device_list`, in the order of the list. If the list is empty,
    return the ordinals of all usable GPUs.
    """
    if not text:
        return list(ordinals)
    chosen: list[int] = []
    for entry in text.split(","):
        try:
            ordinal = int(entry)
        except ValueError:
            raise _bad_list(text, f"could not parse entry {entry!r}: it is not a number") from None
        if ordinal not in ordinals:
            usable = ", ".join(map(str, ordinals)) or "none"
            raise _bad_list(text, f"there is no GPU {ordinal} that can be used, only: {usable}")
        if ordinal in chosen:
            raise _bad_list(text, f"GPU {ordinal} is in it twice")
        chosen.append(ordinal)
    return chosen


def _bad_list(text: str, reason: str) -> InvalidArgumentError:
    return invalid_argument(f"GPUOptions.visible_device_list is {text!r}: {reason}")


def _check_parts(options: GPUOptions, divided: int, used: int, visible: int) -> None:
    """Raise an error if GPUs can't be divided as requested.

    Args:
      divided: the number of GPUs for which `virtual_devices` has entries.
      used: the number of GPUs that `device_count` permits.
      visible: the GPUs that `visible_device_list` selects.
    """
    what = f"GPUOptions.experimental.virtual_devices splits {divided} GPUs"
    if options.per_process_gpu_memory_fraction > 0:
        raise invalid_argument(
            f"{what} and sets the memory of each part; it can't be combined with "
            f"per_process_gpu_memory_fraction ({options.per_process_gpu_memory_fraction})"
        )
    if used < divided:
        raise UnknownError.of_no_node(f"{what}, but only {used} can be used")
    if options.visible_device_list and visible != divided:
        raise invalid_argument(
            f"{what}, but visible_device_list ({options.visible_device_list!r}) has {visible}"
        )
    if visible != divided:
        raise UnknownError.of_no_node(
            f"{what}, but there are {visible}: select them with visible_device_list"
        )


def _part_bytes(mebibytes: float) -> int:
    if not 1 <= mebibytes < 1 << 43:  # the limit is 2**63 bytes
        raise invalid_argument(
            f"GPUOptions.experimental.virtual_devices has a memory_limit_mb of {mebibytes}; a part "
            "of a GPU has 1 MiB or more, and less than 2**43"
        )
    return int(mebibytes) << 20


def _limit(fraction: float, free: int, total: int) -> int:
    """Return the memory limit in bytes of a device that is an undivided GPU.

    Args:
      fraction: the limit as a fraction of the GPU's total memory. 0 means that the limit is the
        free memory minus a reserve.
    """
    if fraction > 0:
        return int(total * fraction)
    reserve = _SMALL_RESERVE if free < _SMALL_GPU else max(_MIN_RESERVE, int(free * _RESERVED_PART))
    return free - reserve if reserve < free else free
