"""The interfaces that kernels use: the signature of a node, and the context of its binding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gpugraph.base.dtypes import DType


class Signature(Protocol):
    """The properties of a node before it has arrays: shapes, dtypes, attrs, host inputs' values."""

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
        """Return the array of host input `index`."""


class CompiledFile(Protocol):
    """A compiled C file of `kernels/`."""

    def bind(
        self, function: str, parameters: Sequence[int], arrays: Sequence[Any], *, dtype: str = ""
    ) -> Callable[[], int]:
        """Return a call of one of its functions with these integers and arrays. dtype: that of the
        function, if arrays have several."""


class KernelContext(Signature, Protocol):
    """The signature, and the services for a kernel that is bound to arrays."""

    @property
    def on_host(self) -> frozenset[int]:
        """The arrays that are in host memory on every device (those of `late` kernels)."""

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return an array in the device's memory for the time that the step runs: steps share it.

        Its contents are undefined at the start of each run of the step.
        """

    def lasting(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return an array in the device's memory that only this step uses, as long as the plan
        lives.
        """

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return array `slot` of this step, valid while the step runs: steps share the memory."""

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the node's state in the session, which `make` creates and plans share."""

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Return the session's object of this container and name, which `make` creates."""

    def variable(self, index: int) -> Any:
        """Return the record of the variable that reference input `index` names."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Allocate a block of device memory during a run, with its `array` and `release()`."""

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], CompiledFile | None]:
        """Return a function of a timeout in seconds that returns a C file of `kernels/` once it is
        compiled. It returns None when the time is up, and where there is no native code. For
        kernels with a part in C that computes bitwise the same numbers. dtype: the dtype to compile
        the file for."""

    def own(self, container: Any) -> None:
        """Call `container.release()` when the plan is released."""

    def new_handle(self, block: Any) -> Any:
        """Return a handle for a block from `allocate`, whose tensor a session may keep after the
        run.
        """

    @property
    def kept_tensors(self) -> Any:
        """The tensors that the session keeps between runs: `read(handle)`, `delete(handle)`."""

    def keep(self, container: Any) -> None:
        """Call `container.release()` when the current run is over."""
