"""What outlives a run: a session's variables, kernel states and device-resident constants.

A `Variable` is a named array on one device and whether anything was assigned to it. Plans bind
its memory; when it must move to another shape, plans that hold the old memory are told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpugraph.devices.device import Block, Device
from gpugraph.dtypes import DType
from gpugraph.errors import FailedPreconditionError, InternalError

__all__ = ["Resources", "VariableState"]


class VariableState:
    """A variable of a session: its device, its memory, and whether it is initialized."""

    __slots__ = ("block", "device", "dtype", "initialized", "name", "watchers")

    def __init__(self, name: str, device: Device, dtype: DType) -> None:
        self.name = name
        self.device = device
        self.dtype = dtype
        self.block: Block | None = None
        self.initialized = False
        self.watchers: list[Callable[[], None]] = []

    @property
    def value(self) -> Any:
        """The array; FailedPreconditionError before the first assignment."""
        if not self.initialized or self.block is None:
            raise uninitialized(self.name)
        return self.block.array

    def reserve(self, shape: tuple[int, ...]) -> Any:
        """The array, which has `shape` from now on; plans bound to another are dropped."""
        old = self.block
        if old is not None and tuple(old.array.shape) == shape:
            return old.array
        self.block = self.device.allocate(shape, self.dtype, self.name)
        if old is not None:
            for watcher in self.watchers:
                watcher()
            self.watchers.clear()
            old.release()
        return self.block.array

    def release(self) -> None:
        """Gives the memory back; the variable is uninitialized again."""
        self.initialized = False
        if self.block is not None:
            self.block.release()
            self.block = None


def uninitialized(name: str) -> FailedPreconditionError:
    """The error that a variable was read before anything was assigned to it."""
    return FailedPreconditionError(
        None,
        None,
        f"Attempting to use uninitialized value {name}. Run its initializer first, for example "
        "session.run(tf.global_variables_initializer()).",
    )


class Resources:
    """All of a session's lasting state."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.variables: dict[tuple[str, str], VariableState] = {}
        self.states: dict[str, Any] = {}
        self.constants: dict[tuple[str, int], tuple[Any, Block]] = {}

    def variable(
        self, container: str, name: str, device: Device, dtype: DType
    ) -> VariableState:
        """The variable of that name, made on `device` when there is none.

        InternalError when it lives on another device: variables keep their home.
        """
        with self.lock:
            state = self.variables.get((container, name))
            if state is None:
                state = self.variables[container, name] = VariableState(name, device, dtype)
            if state.device is not device:
                raise InternalError(
                    None,
                    None,
                    f"Variable {name} lives on {state.device.name}; it can't be used on "
                    f"{device.name}",
                )
            return state

    def home(self, container: str, name: str) -> str | None:
        """The device on which the variable lives already, or None."""
        state = self.variables.get((container, name))
        return state.device.name if state is not None else None

    def state(self, key: str, make: Callable[[], Any]) -> Any:
        """A kernel's state under its node's name, made at first use."""
        with self.lock:
            if key not in self.states:
                self.states[key] = make()
            return self.states[key]

    def constant(self, device: Device, value: Any, dtype: DType, owner: str) -> Any:
        """`value` in the device's memory, once per device however many plans use it."""
        key = (device.name, id(value))
        with self.lock:
            if key not in self.constants:
                block = device.allocate(value.shape, dtype, owner)
                device.write(block.array, value)
                self.constants[key] = (value, block)
            return self.constants[key][1].array

    def clear(self, containers: list[str] | None = None) -> None:
        """Forgets the variables of these containers; everything when None."""
        with self.lock:
            for key in list(self.variables):
                if containers is None or key[0] in containers:
                    self.variables.pop(key).release()
            if containers is None:
                self.states.clear()
                for _, block in self.constants.values():
                    block.release()
                self.constants.clear()
