"""Copies of one variable that are always equal and share one memory.

A strategy gives each replica's device a copy of a variable, and makes the same changes to all
copies. If the devices share memory, the first copy holds the value of all copies, and a plan makes
each change only once (`compile/rewriting/shared_copies.py`). If a plan changes the copies in
different ways, the copies are separated for the rest of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpugraph.devices.device import Device

Key = tuple[str, str]
"""The container and the name of a variable."""


class Copies(NamedTuple):
    """The keys of all copies of a variable, and their devices."""

    keys: Sequence[Key]
    devices: Sequence[Device]

    @property
    def first(self) -> Key:
        """The key of the copy whose memory all other copies share."""
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
        """Return the set of copies that contains the variable `key` and shares memory, or None."""
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
