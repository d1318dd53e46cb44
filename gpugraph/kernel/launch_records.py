"""A launch of a CUDA function, and the kinds of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gpugraph.base.dtypes import DType

SIZES = "sizes"
"""The name of the scratch memory in which the launches of `Sized.measure` leave their counts."""


class Arg(int):
    """An array argument. Its value is its number among the inputs (without host inputs), then the
    outputs."""


class Scratch(NamedTuple):
    """A scratch memory argument of `size` elements; equal names in a kernel share the memory."""

    name: str
    size: int
    dtype: DType


class ErrorFlag(str):
    """An argument `int *`. A kernel sets it to 1 on bad input, and the run then ends in an
    InvalidArgumentError with this string as its message."""


class DeviceState(Protocol):
    """Numbers in a device's memory that kernels read and change."""

    @property
    def array(self) -> Any:
        """Return the numbers as an array of the device."""

    def read(self) -> Any:
        """Return the numbers on the host, after all work that is enqueued on the device."""

    def write(self, value: Any) -> None:
        """Replace the numbers."""


class MovableState(Protocol):
    """A state of numbers, which may be in a device's memory instead of the host's."""

    def move(self, device: str, put: Callable[[Any], DeviceState]) -> DeviceState:
        """Return the numbers on `device`, after moving them there by `put` if they are on the host.
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
