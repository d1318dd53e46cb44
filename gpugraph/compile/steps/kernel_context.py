"""What a kernel learns when it is bound, and the cells of tensors sized at run time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import InternalError
from gpugraph.devices import Block, Device, Resources, VariableState


class Cell:
    """A tensor of the plan that is allocated when it is made and freed after its last use."""

    __slots__ = ("block", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.block: Block | None = None

    @property
    def array(self) -> Any:
        """The tensor's array; InternalError when it hasn't been made or was freed."""
        if self.block is None:
            raise InternalError(None, None, f"The tensor '{self.name}' holds no value")
        return self.block.array

    def fill(self, block: Block) -> None:
        """Takes a new array, giving up the old."""
        self.release()
        self.block = block

    def release(self) -> None:
        block, self.block = self.block, None
        if block is not None:
            block.release()


class Bound:
    """The `KernelContext` of one step."""

    __slots__ = (
        "_device",
        "_kept",
        "_owned",
        "_resources",
        "_shared",
        "_values",
        "_variables",
        "attrs",
        "input_shapes",
        "input_types",
        "name",
        "on_host",
        "output_shapes",
        "output_types",
    )

    def __init__(
        self,
        name: str,
        attrs: Mapping[str, Any],
        types: tuple[Sequence[DType], Sequence[DType]],
        shapes: tuple[Sequence[tuple[int, ...]], Sequence[tuple[int, ...]]],
        values: Mapping[int, Any],
        variables: Mapping[int, VariableState],
        device: Device,
        resources: Resources,
        owned: list[Any],
        kept: list[Any],
        on_host: frozenset[int] = frozenset(),
        shared: dict[Any, Any] | None = None,
    ) -> None:
        self.name = name
        self.attrs = attrs
        self.input_types, self.output_types = types
        self.input_shapes, self.output_shapes = shapes
        self._values = values
        self._variables = variables
        self._device = device
        self._resources = resources
        self._owned = owned
        self._kept = kept
        self.on_host = on_host
        self._shared = {} if shared is None else shared

    def value(self, index: int) -> Any:
        """Host input `index`; InternalError for an input that isn't one."""
        if index not in self._values:
            raise InternalError(
                None, None, f"The kernel of '{self.name}' asks for input {index} on the host"
            )
        return self._values[index]

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array of the device that lives as long as the plan, or a step sized at run time."""
        block = self._device.allocate(shape, dtype, self.name)
        self._owned.append(block)
        return block.array

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """Array `slot` of the device that is the step's own while it runs: steps share memory."""
        count = prod(shape)
        room = 1 << (max(count, 1) - 1).bit_length()
        key = self._device.name, slot, room, dtype
        if key not in self._shared:
            self._shared[key] = self.scratch((room,), dtype)
        return self._shared[key][:count].reshape(shape)

    def owning(self, owned: list[Any]) -> Bound:
        """The same for a step bound elsewhere, whose scratch goes into `owned`."""
        made = copy.copy(self)
        made._owned, made._shared = owned, {}
        return made

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Block:
        """A block of the device's memory, which the caller releases."""
        return self._device.allocate(shape, dtype, self.name)

    def own(self, container: Any) -> None:
        """Has `container.release()` called when the plan goes."""
        self._owned.append(container)

    def keep(self, container: Any) -> None:
        """Has `container.release()` called when the run is over."""
        self._kept.append(container)

    def state(self, make: Callable[[], Any]) -> Any:
        """The node's own state in the session."""
        return self._resources.state(self.name, make)

    def variable(self, index: int) -> VariableState:
        """The variable behind ref input `index`."""
        return self._variables[index]
