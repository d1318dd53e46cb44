"""What a kernel may ask for: the signature of its node, and the context in which it is bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gpugraph.base.dtypes import DType


class Signature(Protocol):
    """What is known of a node before it has arrays: shapes, dtypes, attrs, host inputs' values."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The node's attrs."""

    @property
    def input_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of all inputs."""

    @property
    def output_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of all outputs."""

    @property
    def input_types(self) -> Sequence[DType]:
        """The dtypes of all inputs."""

    @property
    def output_types(self) -> Sequence[DType]:
        """The dtypes of all outputs."""

    def value(self, index: int) -> Any:
        """The array of host input `index`."""


class CompiledFile(Protocol):
    """A compiled C file of `kernels/`."""

    def bind(
        self, function: str, parameters: Sequence[int], arrays: Sequence[Any], *, dtype: str = ""
    ) -> Callable[[], int]:
        """A call of one of its functions, with these integers and arrays. dtype: that of the
        function, where arrays have several."""


class KernelContext(Signature, Protocol):
    """The signature, and what a kernel may ask for when it is bound to arrays."""

    @property
    def on_host(self) -> frozenset[int]:
        """Which of the arrays lie in host memory on every device (those of `late` kernels)."""

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array in the device's memory for the time that the step runs: steps share it.

        Its contents are anything at the start of each run of the step.
        """

    def lasting(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array in the device's memory that only this step uses, as long as the plan lives."""

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Array `slot` of this step, valid while the step runs: steps share the memory."""

    def state(self, make: Callable[[], Any]) -> Any:
        """The node's state in the session, created by `make` at first use; plans share it."""

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """What the session keeps in a container under a name, created by `make` at first use."""

    def variable(self, index: int) -> Any:
        """The record of the variable that reference input `index` names."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """A block of the device's memory, allocated during a run: its `array`, and `release()`."""

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], CompiledFile | None]:
        """What returns a C file of `kernels/` once it is compiled, waiting so many seconds for it
        at most, and None before, or where there is no native code: for a kernel with a part in C
        that gives the very numbers of the rest. dtype: what the file is compiled for."""

    def own(self, container: Any) -> None:
        """Calls `container.release()` when the plan is released."""

    def new_handle(self, block: Any) -> Any:
        """A handle for a block from `allocate`, whose tensor a session may keep after the run."""

    @property
    def kept_tensors(self) -> Any:
        """The tensors that the session keeps between runs: `read(handle)`, `delete(handle)`."""

    def keep(self, container: Any) -> None:
        """Calls `container.release()` when the current run is over."""
