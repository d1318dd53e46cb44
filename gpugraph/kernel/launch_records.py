"""A launch of a CUDA function, and what it takes as arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gpugraph.base.dtypes import DType

SIZES = "sizes"
"""The name of the scratch memory in which the launches of `Sized.measure` leave their counts."""


class Arg(int):
    """An argument that is an array: its number among the inputs (without host inputs), then the
    outputs."""


class Scratch(NamedTuple):
    """An argument that is memory for `size` elements; equal names in a kernel share the memory."""

    name: str
    size: int
    dtype: DType


class ErrorFlag(str):
    """An argument `int *`: a kernel that meets bad input sets it to 1, and the run then ends in
    InvalidArgumentError with this string as its message."""


class DeviceState(Protocol):
    """Numbers in a device's memory that kernels read and change."""

    @property
    def array(self) -> Any:
        """The numbers, as an array of the device."""

    def read(self) -> Any:
        """The numbers on the host, after all that is enqueued on the device."""

    def write(self, value: Any) -> None:
        """Replaces the numbers."""


class MovableState(Protocol):
    """A state of numbers, which may lie in a device's memory instead of the host's."""

    def move(self, device: str, put: Callable[[Any], DeviceState]) -> DeviceState:
        """The numbers on `device`, moved there by `put` if they are on the host.
        NotImplementedError, with the reason, if they are on another device."""


class State(NamedTuple):
    """An argument that is the op's state in the session (`KernelContext.state`): all plans that
    run the op continue with the same numbers."""

    make: Callable[[], MovableState]


class Launch(NamedTuple):
    """One launch of a CUDA function: `grid` blocks of `block` threads each.

    arguments: arrays (`Arg`, `Scratch`, `State`), `ErrorFlag`, 64-bit integers, doubles.
    types: macros that stand for dtypes: `T` defines T (the type in memory), T_VALUE (the type of
    the computation), T_LOAD(x) and T_STORE(x). defines: other macros. file: the CUDA file, if it
    is not the kernel's.
    """

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[Arg | Scratch | State | ErrorFlag | int | float]
    types: Mapping[str, DType] = MappingProxyType({})
    defines: Mapping[str, str | int] = MappingProxyType({})
    shared_bytes: int = 0
    file: str = ""
