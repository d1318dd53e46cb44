"""The registry of factories of host memory allocators, by name and priority.

The factory with the highest priority is used. If several factories have this priority, the one
registered first is used. `get_allocator` creates the process's allocator on its first call and
returns it on every call. After the first call, no factory can be added, since the new factory might
have a higher priority. `new_allocator` creates another allocator on each call, for a device with
separate memory.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from gpugraph.base.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    invalid_argument,
)
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.memory.allocator import Allocator

AllocatorFactory = Callable[[], Allocator]


@dataclass
class _Entry:
    name: str
    priority: int
    factory: AllocatorFactory
    location: str
    allocator: Allocator | None = None


class AllocatorRegistry:
    """The factories of the process. All methods are class methods and thread-safe."""

    _entries: ClassVar[list[_Entry]] = []
    _lock: ClassVar[threading.RLock] = new_rlock()

    @classmethod
    def register(cls, name: str, priority: int, factory: AllocatorFactory) -> None:
        """Add a factory, which is a callable without arguments that returns a new Allocator.

        Raises InvalidArgumentError if the name is empty or the priority is negative. Raises
        AlreadyExistsError if a factory with this name and priority is registered. Raises
        FailedPreconditionError if `get_allocator` has been called.
        """
        if not name:
            raise invalid_argument("An allocator factory needs a name.")
        if priority < 0:
            raise invalid_argument(f"The priority of {name} must not be negative: {priority}.")
        caller = sys._getframe(1)
        location = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        with cls._lock:
            cls._refuse_if_settled(name, location)
            present = cls._find(name, priority)
            if present is not None:
                raise AlreadyExistsError.of_no_node(
                    f"New registration for AllocatorFactory with name={name} priority={priority} "
                    f"at location {location} conflicts with previous registration at location "
                    f"{present.location}"
                )
            cls._entries.append(_Entry(name, priority, factory, location))

    @classmethod
    def unregister(cls, name: str, priority: int) -> None:
        """Remove a factory, and the allocator that `get_allocator` has created with it, if any.

        If there was such an allocator, factories can be added again. Raises NotFoundError if the
        factory is not registered.
        """
        with cls._lock:
            entry = cls._find(name, priority)
            if entry is None:
                raise NotFoundError.of_no_node(
                    f"No AllocatorFactory with name={name} priority={priority}."
                )
            cls._entries.remove(entry)

    @classmethod
    def get_allocator(cls) -> Allocator:
        """Return the allocator of this process, created on the first call. Raises NotFoundError if
        no factory is registered."""
        with cls._lock:
            entry = cls._best()
            if entry.allocator is None:
                entry.allocator = entry.factory()
            return entry.allocator

    @classmethod
    def new_allocator(cls) -> Allocator:
        """Create and return a new allocator. Raises NotFoundError if no factory is registered."""
        with cls._lock:
            factory = cls._best().factory
        return factory()

    @classmethod
    def _best(cls) -> _Entry:
        if not cls._entries:
            raise NotFoundError.of_no_node("No registered CPU AllocatorFactory")
        return max(cls._entries, key=lambda entry: entry.priority)

    @classmethod
    def _find(cls, name: str, priority: int) -> _Entry | None:
        for entry in cls._entries:
            if (entry.name, entry.priority) == (name, priority):
                return entry
        return None

    @classmethod
    def _refuse_if_settled(cls, name: str, location: str) -> None:
        for entry in cls._entries:
            if entry.allocator is not None:
                raise FailedPreconditionError.of_no_node(
                    "Attempt to register an AllocatorFactory after call to GetAllocator(): "
                    f"{name} at {location} comes too late, {entry.name} has made the allocator."
                )
