"""The interfaces that kernels use: the signature of a node, and the context in which its kernel is
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gpugraph.base.dtypes import DType


class Signature(Protocol):
    """The properties of a node before it has arrays: shapes, dtypes, attrs, values of host inputs.

    A host input is an input whose value is known when the kernel is bound.
    """

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
        """Return the value of host input `index`, an array."""


class CompiledFile(Protocol):
    """A compiled C file of `kernels/`."""

    def bind(
        self, function: str, parameters: Sequence[int], arrays: Sequence[Any], *, dtype: str = ""
    ) -> Callable[[], int]:
        """Return a callable that calls the C function `function` with these integers and arrays.

        Args:
          dtype: the dtype for which the function is compiled, if the arrays have different dtypes.
        """


class KernelContext(Signature, Protocol):
    """A node's signature, and the services that its kernel can use when the kernel is bound to
    arrays.
    """

    @property
    def on_host(self) -> frozenset[int]:
        """The indices of the arrays that are in host memory even on a GPU: the host inputs of a
        `late` kernel.
        """

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return an array in the device's memory that is valid while the step runs.

        Other steps use the same memory. The contents of this memory are undefined at the start of
        each run of the step.
        """

    def lasting(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return a new array on the device for this step only. The array exists as long as the
        plan.
        """

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Return the temporary array of this step with number `slot`. The array is valid while the
        step runs.

        Other steps use the same memory at other times.
        """

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the node's state in the session, which is the same for all plans.

        If the state does not exist yet, create it by a call of `make`.
        """

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Return the object that the session keeps under this container and name.

        If the object does not exist yet, create it by a call of `make`.
        """

    def variable(self, index: int) -> Any:
        """Return the state of the variable to which reference input `index` refers."""

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Allocate device memory during a run. Return a block with an `array` and `release()`."""

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], CompiledFile | None]:
        """Return a function that waits for a compiled C file of `kernels/`.

        The function receives the maximum number of seconds to wait. The function returns None if
        the file is not compiled by then, or if native code is disabled. This method is for kernels
        that are partly written in C and whose results are bitwise equal to NumPy's.

        Args:
          dtype: the dtype for which the file is compiled.
        """

    def own(self, container: Any) -> None:
        """Arrange for `container.release()` to be called when the plan is released."""

    def new_handle(self, block: Any) -> Any:
        """Return a handle for a block from `allocate`, with which the session can keep the block's
        tensor.
        """

    @property
    def kept_tensors(self) -> Any:
        """The tensors that the session keeps for later runs, with methods `read(handle)` and
        `delete(handle)`.
        """

    def keep(self, container: Any) -> None:
        """Arrange for `container.release()` to be called when the current run is over."""

    def function(self, function: Any) -> Any:
        """Return a new callable for a `GraphFunction`, which is the value of an attr. The callable
        receives and returns arrays.
        """
