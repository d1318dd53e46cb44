"""A launch of a CUDA function, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gpugraph.base.dtypes import DType

SIZES = "sizes"
"""The name of the scratch memory to which the launches of `Sized.measure` write their counts."""


class Arg(int):
    """An array argument of a launch. Its value is an index into a sequence that consists of the
    inputs (without host inputs) and then the outputs.
    """


class Scratch(NamedTuple):
    """A launch argument: scratch memory of `size` elements.

    Arguments of one kernel that have equal names use the same memory.
    """

    name: str
    size: int
    dtype: DType


class ErrorFlag(str):
    """A launch argument of type `int *`. On bad input the kernel sets the int to 1, and the run
    then raises an InvalidArgumentError whose message is this string.
    """


class DeviceState(Protocol):
    """Numbers in a device's memory that kernels change, such as the state of a random generator."""

    @property
    def array(self) -> Any:
        """Return the numbers as an array of the device."""

    def read(self) -> Any:
        """Wait for all work that is enqueued on the device, and return the numbers on the host."""

    def write(self, value: Any) -> None:
        """Overwrite the numbers."""


class MovableState(Protocol):
    """A state of numbers that is initially on the host, and can be moved to a device's memory."""

    def move(self, device: str, put: Callable[[Any], DeviceState]) -> DeviceState:
        """Return the numbers on `device`. If the numbers are on the host, call `put` to move them
        to the device.

        Raises NotImplementedError, with the reason, if the numbers are on a different device.
        """


class State(NamedTuple):
    """A launch argument: the state that the session keeps for the op (`KernelContext.state`).

    All plans that run the op use and change this state.

    Args:
      make: a function that creates the state.
    """

    make: Callable[[], MovableState]


class WindowSums(NamedTuple):
    """A convolution or one of its gradients, in the form that convolution libraries need.

    Args:
      kind: `forward` (arrays: images, filter, results), `input` (arrays: filter, gradient of the
        results, gradient of the images) or `filter` (arrays: images, gradient of the results,
        gradient of the filter).
      is_last: whether the channels are the last axis of images. A filter has the axes (window,
        channels, outputs).
      strides, dilations: one number for each spatial axis.
      before, after: the padding on either end of each spatial axis.
      has_bias: whether the third array is a bias.
      relu: whether negative results become 0.
    """

    kind: str
    is_last: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    has_bias: bool = False
    relu: bool = False


class Launch(NamedTuple):
    """One launch of a CUDA function: `grid` blocks of `block` threads each.

    Args:
      arguments: arrays (`Arg`, `Scratch`, `State`), `ErrorFlag`, 64-bit integers, doubles.
      types: dtypes by macro name. A macro name `T` defines T (the type in memory), T_VALUE (the
        type of the computation), T_LOAD(x) and T_STORE(x).
      defines: other macros.
      file: the CUDA file, if it is not the file of the kernel.
      aligned: maps a macro to an array and a number of bytes. The macro is 1 if the address of the
        array is a multiple of this number, else 0.
    """

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[Arg | Scratch | State | ErrorFlag | int | float]
    types: Mapping[str, DType] = MappingProxyType({})
    defines: Mapping[str, str | int] = MappingProxyType({})
    shared_bytes: int = 0
    file: str = ""
    aligned: Mapping[str, tuple[Arg | Scratch, int]] = MappingProxyType({})
