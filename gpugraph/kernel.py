"""Kernels as data: what computes an op, said without saying where or how it is launched.

    Call         a Python function over arrays that writes its outputs
    Elementwise  a C expression of x, y, z (inputs) that gives one output element
    Reduction    a C expression that combines two elements, with its start and its finish
    Source       a function in one of the CUDA files of `kernels/`

A device turns a kernel into a callable when a plan is bound. Every kernel that is text carries
the `Call` that says the same in NumPy: host devices (virtual GPUs too) run that one, and tests
hold the text against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from gpugraph.dtypes import DType

__all__ = ["Call", "Elementwise", "Kernel", "KernelContext", "Reduction", "Source", "reference"]


class KernelContext(Protocol):
    """What a kernel may know when it is bound: all sizes, attrs, and the host inputs' values."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def attrs(self) -> Mapping[str, Any]: ...

    @property
    def input_shapes(self) -> Sequence[tuple[int, ...]]: ...

    @property
    def output_shapes(self) -> Sequence[tuple[int, ...]]: ...

    @property
    def input_types(self) -> Sequence[DType]: ...

    @property
    def output_types(self) -> Sequence[DType]: ...

    @property
    def on_host(self) -> frozenset[int]:
        """Which of the arrays lie in host memory whatever the device (those of `late` kernels)."""

    def value(self, index: int) -> Any:
        """The array of host input `index`."""

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array of the device that is this step's own."""

    def state(self, make: Callable[[], Any]) -> Any:
        """This node's state in the session, made at first use; plans of a session share it."""

    def variable(self, index: int) -> Any:
        """The record of the variable that ref input `index` names."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """A block of the device's memory, taken during a run: its `array`, and `release()`."""

    def keep(self, container: Any) -> None:
        """Says, during a run, that `container.release()` is to be called when the run is over."""


class Call(NamedTuple):
    """A Python function that writes the outputs, given as one of two forms.

    `function(*inputs, *outputs)` is called at each run. `make(context, *inputs, *outputs)` is
    called when the arrays are bound, and returns what is called, with nothing, at each run: all
    that follows from sizes and attrs is done once. Host inputs are in neither: they are read by
    `context.value`. With `late`, host inputs are given as arrays too (in host memory), since
    their values come during a run: the index of an element, the handle of a TensorArray. With
    `dynamic`, the outputs' sizes depend on the inputs' values: no outputs are given, the call
    returns them.
    """

    function: Callable[..., Any] | None = None
    make: Callable[..., Callable[[], Any]] | None = None
    dynamic: bool = False
    late: bool = False

    def bind(self, context: KernelContext, arrays: Sequence[Any]) -> Callable[[], Any]:
        """What to call at each run, for these inputs and outputs."""
        if self.make is not None:
            return self.make(context, *arrays)
        assert self.function is not None
        return partial(self.function, *arrays)


class Elementwise(NamedTuple):
    """One output element as a C expression: inputs are `x`, `y`, `z`, their type is `T`."""

    text: str
    host: Call


class Reduction(NamedTuple):
    """`combine` of `a` and `b` from `start`, each element first mapped, the result finished.

    `map` is an expression of `x`, `finish` one of `a` and the count `n`.
    """

    start: str
    combine: str
    host: Call
    map: str = "x"
    finish: str = "a"


class Source(NamedTuple):
    """The function `function` of the file `kernels/<file>`."""

    file: str
    function: str
    host: Call


Kernel = Call | Elementwise | Reduction | Source


def reference(kernel: Kernel) -> Call:
    """The NumPy `Call` that says the same."""
    return kernel if isinstance(kernel, Call) else kernel.host
