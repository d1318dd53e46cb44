"""Session resources: variables, kernel states and constants on devices, which outlive a run.

A `VariableState` is a named array on one device. It also records whether the variable is
initialized. Plans are bound to its memory. If the variable gets memory of another shape, plans that
are bound to the old memory become stale.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import FailedPreconditionError, InternalError
from gpugraph.base.fork_safe_locks import new_lock, new_rlock
from gpugraph.base.interruptions.signal_handlers import uninterrupted, uninterrupted_finalizer
from gpugraph.devices.device import Block, Device
from gpugraph.devices.kept_tensors import KeptTensors
from gpugraph.devices.variable_access import AccessTable
from gpugraph.devices.variable_copies import Copies, Separation, VariableCopies


class BoundPlan(Protocol):
    """A plan that is bound to a variable's memory. If `stale` is set, the plan must not run
    again.
    """

    stale: bool


class VariableState:
    """A variable of a session: its device, its memory, and whether it is initialized.

    Attributes:
      watchers: the plans that are bound to the memory.
      separation: the separation of this copy from copies with which it shared memory, or None.
    """

    __slots__ = (
        "block", "by_handle", "device", "dtype", "initialized", "lock", "name", "resizing",
        "separation", "watchers",
    )  # fmt: skip

    def __init__(self, name: str, device: Device, dtype: DType) -> None:
        self.name = name
        self.device = device
        self.dtype = dtype
        self.by_handle = False  # True for a resource variable
        self.block: Block | None = None
        self.initialized = False
        self.separation: Separation | None = None
        self.watchers: dict[int, BoundPlan] = {}
        self.lock = new_rlock()  # held by writes with `use_locking`
        self.resizing = new_lock()

    @property
    def value(self) -> Any:
        """The array. Raises FailedPreconditionError if the variable is not initialized."""
        if not self.initialized or self.block is None:
            raise uninitialized(self.name, self.by_handle)
        return self.block.array

    def reserve(self, shape: tuple[int, ...]) -> Block:
        """Return memory of this shape for the variable. If the variable's memory has another shape,
        new memory is allocated, and plans that are bound to the old memory become stale.

        The old memory is freed when the last of these plans is released.
        """
        with self.resizing:
            block = self.block
            if block is None or tuple(block.array.shape) != shape:
                block = self.block = self.device.allocate(shape, self.dtype, self.name)
                for watcher in list(self.watchers.values()):
                    watcher.stale = True
            return block

    def copy_to(self, other: VariableState) -> None:
        """Copy the value to another variable, whose device can read the memory of this variable's
        device.
        """
        other.by_handle, other.initialized = self.by_handle, self.initialized
        if self.block is not None:
            source = self.block.array
            other.device.write(other.reserve(tuple(source.shape)).array, source)

    def equals(self, other: VariableState) -> bool:
        """Return whether the values of two variables are equal bit by bit. Both variables must be
        on devices that use the same memory.
        """
        if self.initialized is not other.initialized:
            return False
        if not self.initialized or self.block is None or other.block is None:
            return True
        mine, others = self.block.array, other.block.array
        return mine.shape == others.shape and bool(mine.tobytes() == others.tobytes())

    def release(self) -> None:
        """Drop the memory. The variable is then uninitialized."""
        self.initialized = False
        self.block = None


def uninitialized(name: str, by_handle: bool) -> FailedPreconditionError:
    """Return the error for a variable that is read before it is initialized.

    Args:
      by_handle: whether the variable is a resource variable.
    """
    advice = (
        "Run its initializer first, for example session.run(tf.global_variables_initializer()), or"
        " tf.local_variables_initializer() for local variables such as those of tf.metrics."
    )
    if by_handle:
        return FailedPreconditionError.of_no_node(
            f"Error while reading resource variable {name} from Container: localhost. This could "
            f"mean that the variable was uninitialized. {advice} Not found: Resource "
            f"localhost/{name}/Var does not exist."
        )
    return FailedPreconditionError.of_no_node(
        f"Attempting to use uninitialized value {name}. {advice}"
    )


class Resources:
    """The variables, kernel states, kept tensors and constants of a session."""

    def __init__(self) -> None:
        self.lock = new_rlock()
        self.access = AccessTable()
        self.kept = KeptTensors()
        self.variables: dict[tuple[str, str], VariableState] = {}
        self.copies = VariableCopies()
        self.states: dict[str, Any] = {}
        self.positions: dict[str, Any] = {}  # of states that do not exist yet
        self.shared: dict[tuple[str, str], Any] = {}
        self.constants: dict[tuple[str, int], tuple[weakref.ref[Any], Block]] = {}
        self._unused: deque[tuple[str, int]] = deque()
        self.functions: Any = None  # `session.graph_functions.GraphFunctions`, of one session

    def for_session(self) -> Resources:
        """Return the resources for another session on the same devices.

        The two sessions share variables, constants, and objects with a container and a name, such
        as queues. Kernel states and kept tensors are separate. The other session uses the functions
        of this session until it defines functions itself.
        """
        other = Resources()
        other.lock, other.access = self.lock, self.access
        other.variables, other.shared = self.variables, self.shared
        other.copies = self.copies
        other.constants, other._unused = self.constants, self._unused
        other.functions = self.functions
        return other

    def end_session(self) -> None:
        """Drop the resources that other sessions do not share: kept tensors, kernel states and
        unused constants.
        """
        with self.lock:
            self.kept.clear()
            self.states.clear()
            self.release_unused()

    def variable(
        self, container: str, name: str, device: Device, dtype: DType, is_copy: bool = False
    ) -> VariableState:
        """Return the variable with this container and name. If the variable does not exist, create
        it on `device`.

        Raises InternalError if the variable exists on another device, since variables do not move.

        Args:
          is_copy: whether the variable is used as the common memory of copies on several devices.
        """
        with self.lock:
            copies = self.copies.of((container, name))
            if copies is not None and copies.first != (container, name):
                self.separate(copies)
            state = self.variables.get((container, name))
            if state is None:
                state = self.variables[container, name] = VariableState(name, device, dtype)
            if state.device is not device and not is_copy:
                raise InternalError.of_no_node(
                    f"Variable {name} lives on {state.device.name}; it can't be used on "
                    f"{device.name}"
                )
            return state

    def share(self, copies: Copies, dtype: DType) -> bool:
        """Store the value of these equal copies in the memory of the first copy. Return False if
        they can't share the value, because another copy already has memory, or because the copies
        were separated earlier.
        """
        with self.lock:
            if copies.first in self.copies.separated:
                return False
            if self.copies.of(copies.first) is None:
                if any(key in self.variables for key in copies.keys[1:]):
                    return False
                self.variable(*copies.first, copies.devices[0], dtype)
                self.copies.add(copies)
            return True

    def separate(self, copies: Copies) -> None:
        """Give each of the copies separate memory. Plans that are bound to the common memory become
        stale.

        The first run of a plan that is bound to the separate memory completes the separation.
        """
        with self.lock:
            is_shared = self.copies.of(copies.first) is not None
            self.copies.separate(copies)
            first = self.variables.get(copies.first)
            if not is_shared or first is None:
                return
            states = [first]
            for key, device in zip(copies.keys[1:], copies.devices[1:]):
                state = self.variables[key] = VariableState(key[1], device, first.dtype)
                states.append(state)
            Separation(states)
            for watcher in list(first.watchers.values()):
                watcher.stale = True

    def home(self, container: str, name: str) -> str | None:
        """Return the name of the device that holds the variable's memory, or None if there is no
        such variable.
        """
        state = self.variables.get((container, name))
        return state.device.name if state is not None else None

    def state(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the state of a kernel, by the name of its node. The first call creates the state
        with `make`.
        """
        with self.lock:
            if key not in self.states:
                state = self.states[key] = make()
                if key in self.positions:
                    state.go_to(self.positions.pop(key))
            return self.states[key]

    def go_to(self, key: str, position: Any) -> None:
        """Make the state of a kernel continue at a position. If the state does not exist yet, it
        will start at this position.
        """
        with self.lock:
            if key in self.states:
                self.states[key].go_to(position)
            else:
                self.positions[key] = position

    def shared_object(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Return the object, such as a queue, that all nodes with this container and name share.
        The first call creates the object with `make`.
        """
        with self.lock:
            key = (container or "localhost", name)
            if key not in self.shared:
                self.shared[key] = make()
            return self.shared[key]

    def constant(self, device: Device, value: Any, dtype: DType, owner: str) -> Any:
        """Return a copy of `value` in the device's memory. All plans share the copy.

        The copy is freed when the object `value` no longer exists, which is when no graph and no
        plan refers to it.

        Args:
          owner: the owner's name, for messages.
        """
        key = (device.name, id(value))
        with self.lock:
            self.release_unused()
            if key not in self.constants:
                block = device.allocate(value.shape, dtype, owner)
                device.write(block.array, value)
                unused = self._unused
                is_gone = uninterrupted_finalizer(lambda _: unused.append(key))
                self.constants[key] = (weakref.ref(value, is_gone), block)
            return self.constants[key][1].array

    def release_unused(self) -> None:
        """Free the copies of constants that no longer exist. Callbacks of weak references only
        record these copies, because a callback must not free memory.
        """
        with self.lock:
            while self._unused:
                _, block = self.constants.pop(self._unused.popleft(), (None, None))
                if block is not None:
                    block.release()

    @uninterrupted
    def clear(self, containers: Sequence[str] | None = None) -> None:
        """Drop the variables and shared objects of these containers. If `containers` is None, drop
        all resources.

        `"localhost"` is TensorFlow's name for the default container.
        """
        with self.lock:
            for key in list(self.variables):
                if containers is None or (key[0] or "localhost") in containers:
                    self.variables.pop(key).release()
                    self.copies.forget(key)
            for key in list(self.shared):
                if containers is None or key[0] in containers:
                    _end(self.shared.pop(key))
            if containers is None:
                self.kept.clear()
                for state in self.states.values():
                    _end(state)
                self.states.clear()
                self.release_unused()
                for _, block in self.constants.values():
                    block.release()
                self.constants.clear()


def _end(held: Any) -> None:
    """Stop the threads of an object that the session has dropped, and close its files."""
    end = getattr(held, "end_of_session", None)
    if end is not None:
        end()
