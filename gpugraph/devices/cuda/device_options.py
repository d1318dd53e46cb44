"""From a session's options to its GPU devices: which GPUs, cut up how, with how much memory each.

Read as TensorFlow reads them (`gpu_device.cc`): `visible_device_list` chooses and orders the GPUs,
`device_count["GPU"]` says how many of these are used, `experimental.virtual_devices` divides them,
and `per_process_gpu_memory_fraction` limits those that are not divided; without it a device may
take what is free, but for a reserve. Devices are numbered through, over all GPUs.

Two things differ. A fraction above 1 asks TensorFlow for memory that moves between GPU and host;
here it is refused. And memory is taken as it is needed, `allow_growth` or not: the sessions of
TensorFlow share what the first of them took at once, sessions here have memory of their own, and
the first would leave nothing to the others.
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
_LEAST_RESERVE = 300 << 20
_RESERVED_PART = 0.05


class Split(NamedTuple):
    """One device of a session: a GPU, or a part of it. number: among the GPUs of the session."""

    ordinal: int
    memory_limit: int
    number: int


def create_cuda_devices(options: SessionOptions, name_prefix: str) -> list[CudaDevice]:
    """The CUDA devices of a session; none where there are none (`detect` knows why).

    Each has a driver of its own, so that each can be closed by itself. InternalError for a GPU
    that was detected and yet can't be used; what was opened before it is closed.
    """
    if options.config.device_count.get("GPU", 1) <= 0:
        return []
    ordinals = [gpu.ordinal for gpu in detect().gpus]
    if not ordinals:
        return []
    opened: list[Driver] = []
    made: list[CudaDevice] = []

    def opened_driver(ordinal: int) -> Driver:
        opened.append(open_driver(ordinal))
        return opened[-1]

    spare: dict[int, Driver] = {}

    def memory(ordinal: int) -> tuple[int, int]:
        if ordinal not in spare:
            spare[ordinal] = opened_driver(ordinal)
        about = spare[ordinal].properties
        return about.free_bytes, about.total_bytes

    try:
        for ordinal, limit, number in splits(options, ordinals, memory):
            driver = spare.pop(ordinal, None) or opened_driver(ordinal)
            name = f"{name_prefix}/device:GPU:{number}"
            made.append(CudaDevice(name, number, driver, limit, allow_growth=True))
    except BaseException as error:
        _close(made, opened)
        if isinstance(error, DriverError):
            raise InternalError(None, None, f"A GPU can't be used: {error}") from error
        raise
    return made


def _close(devices: Sequence[CudaDevice], drivers: Sequence[Driver]) -> None:
    for device in devices:
        device.close()
    for driver in drivers:
        driver.close()  # twice for a device's: nothing is left to do


def splits(
    options: SessionOptions, ordinals: Sequence[int], memory: Callable[[int], tuple[int, int]]
) -> list[Split]:
    """The devices of these options. `memory` tells the free and all bytes of a GPU.

    InvalidArgumentError for options that mean nothing or contradict each other, UnknownError where
    more GPUs are to be divided than there are, or other ones: TensorFlow's classes.
    """
    gpu_options = options.config.gpu_options
    most = options.config.device_count.get("GPU", len(ordinals))
    if most <= 0:
        return []
    _check(gpu_options)
    visible = _visible(gpu_options.visible_device_list, ordinals)
    parts = [list(each.memory_limit_mb) for each in gpu_options.experimental.virtual_devices]
    if parts:
        _check_parts(gpu_options, len(parts), min(most, len(visible)), len(visible))
        most = len(parts)
    limits: list[tuple[int, int]] = []
    for place, ordinal in enumerate(visible[:most]):
        if parts and parts[place]:
            limits += [(ordinal, _part_bytes(mebibytes)) for mebibytes in parts[place]]
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
    """The GPUs that `visible_device_list` names, in its order; all of them if it names none."""
    if not text:
        return list(ordinals)
    chosen: list[int] = []
    for entry in text.split(","):
        try:
            ordinal = int(entry)
        except ValueError:
            raise _bad_list(text, f"could not parse entry {entry!r}: it is no number") from None
        if ordinal not in ordinals:
            there = ", ".join(map(str, ordinals)) or "none"
            raise _bad_list(text, f"there is no GPU {ordinal} that can be used, only: {there}")
        if ordinal in chosen:
            raise _bad_list(text, f"GPU {ordinal} is in it twice")
        chosen.append(ordinal)
    return chosen


def _bad_list(text: str, why: str) -> InvalidArgumentError:
    return invalid_argument(f"GPUOptions.visible_device_list is {text!r}: {why}")


def _check_parts(options: GPUOptions, divided: int, used: int, visible: int) -> None:
    """`divided` GPUs are to be divided, `used` may be used by their count, of all `visible`."""
    what = f"GPUOptions.experimental.virtual_devices divides {divided} GPUs"
    if options.per_process_gpu_memory_fraction > 0:
        raise invalid_argument(
            f"{what} and says how much memory each part has; per_process_gpu_memory_fraction "
            f"({options.per_process_gpu_memory_fraction}) has no meaning beside it"
        )
    if used < divided:
        raise UnknownError(None, None, f"{what}, but only {used} can be used")
    if options.visible_device_list and visible != divided:
        raise invalid_argument(
            f"{what}, but visible_device_list ({options.visible_device_list!r}) names {visible}"
        )
    if visible != divided:
        raise UnknownError(
            None,
            None,
            f"{what}, but {visible} are there: name those that are meant in visible_device_list",
        )


def _part_bytes(mebibytes: float) -> int:
    if not mebibytes >= 1:
        raise invalid_argument(
            f"GPUOptions.experimental.virtual_devices has a memory_limit_mb of {mebibytes}; a part "
            "of a GPU has 1 MiB or more"
        )
    return int(mebibytes) << 20


def _limit(fraction: float, free: int, total: int) -> int:
    """The bytes of a device that has a GPU to itself."""
    if fraction > 0:
        return int(total * fraction)
    reserve = (
        _SMALL_RESERVE if free < _SMALL_GPU else max(_LEAST_RESERVE, int(free * _RESERVED_PART))
    )
    return free - reserve if reserve < free else free
