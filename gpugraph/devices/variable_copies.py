"""Copies of one variable that are always equal and share one memory.

A strategy gives each replica's device a copy of a variable, and changes all copies in the same way.
On devices that share memory, the first copy holds the value of all copies, and a plan changes it
once (`compile/rewriting/shared_copies.py`). If a plan changes only one of the copies, the copies
are separated for the rest of the session. All plans that are compiled from then on are bound to
separate memory. Older plans, which are bound to the common memory, may still run until the first
run of a new plan. This run copies the common value to the memory of each copy
(`variable_access.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from gpugraph.devices.device import Device

Key = tuple[str, str]
"""The container and the name of a variable."""


class Copies(NamedTuple):
    """The keys of all copies of a variable, and their devices."""

    keys: Sequence[Key]
    devices: Sequence[Device]

    @property
    def first(self) -> Key:
        """The key of the first copy, whose memory all copies share."""
        return self.keys[0]


class VariableCopies:
    """The copies of a session that share memory, by the key of each copy.

    Attributes:
      separated: the keys of first copies that must not share their memory any more.
    """

    def __init__(self) -> None:
        self._shared: dict[Key, Copies] = {}
        self.separated: set[Key] = set()

    def of(self, key: Key) -> Copies | None:
        """Return the copies that share memory with the variable `key`, including the variable
        itself, or None if there are none.
        """
        return self._shared.get(key)

    def add(self, copies: Copies) -> None:
        """Record copies that share memory."""
        self._shared.update(dict.fromkeys(copies.keys, copies))

    def separate(self, copies: Copies) -> None:
        """Record that these copies must not share memory."""
        for key in copies.keys:
            self._shared.pop(key, None)
        self.separated.add(copies.first)

    def forget(self, key: Key) -> None:
        """Remove the set of copies of a variable that no longer exists."""
        copies = self._shared.get(key)
        for other in () if copies is None else copies.keys:
            self._shared.pop(other, None)
        self.separated.discard(key)


class CopyState(Protocol):
    """The variable of one copy, as `VariableState` implements it."""

    block: Any
    separation: Any

    def copy_to(self, other: Any) -> None:
        """Give another copy the same value."""

    def equals(self, other: Any) -> bool:
        """Return whether another copy has the same value."""


class Separation:
    """The separation of the copies of one variable.

    Args:
      states: the variables of all copies. The first variable has the value.

    Attributes:
      is_done: whether the separation is complete, so that each copy has its own value.
      has_moved: whether a copy got new memory in the separation, so that plans that are bound to
        the previous memory are stale.
    """

    def __init__(self, states: Sequence[CopyState]) -> None:
        self.states = tuple(states)
        self.is_done = self.has_moved = False
        for state in states:
            state.separation = self

    def ids(self) -> set[int]:
        """Return the ids of the variables of all copies."""
        return set(map(id, self.states))

    def complete(self) -> None:
        """Copy the value of the first copy to the memory of all other copies. Later calls do
        nothing. No other run may use one of the copies during the call.
        """
        if self.is_done:
            return
        first, *others = self.states
        for state in others:
            block = state.block
            first.copy_to(state)
            self.has_moved = self.has_moved or (block is not None and state.block is not block)
        self.is_done = True

    def equal_copies(self) -> list[Callable[[], None]]:
        """Return, for each copy that is equal to the first one, a function that copies the value
        of the first copy to it.
        """
        first, *others = self.states
        return [partial(first.copy_to, state) for state in others if first.equals(state)]
