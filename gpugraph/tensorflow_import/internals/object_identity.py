"""`tensorflow.python.util.object_identity`, with containers that compare their items by
identity.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class Reference:
    """A wrapper of an object. Two wrappers are equal if they wrap the same object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    @property
    def unwrapped(self) -> Any:
        """The wrapped object."""
        return self._wrapped

    def deref(self) -> Any:
        """Return the wrapped object."""
        return self.unwrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self.unwrapped is other.unwrapped

    def __hash__(self) -> int:
        return id(self._wrapped)


class _WeakReference(Reference):
    """A wrapper with a weak reference to an object."""

    def __init__(self, wrapped: Any) -> None:
        super().__init__(weakref.ref(wrapped))
        self._id = id(wrapped)

    @property
    def unwrapped(self) -> Any:
        """The wrapped object, or None after the object is deleted."""
        return self._wrapped()

    def __hash__(self) -> int:
        return self._id


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dict whose keys are compared by identity."""

    _wrap: type[Reference] = Reference

    def __init__(self) -> None:
        self._storage: dict[Reference, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._storage[self._wrap(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage[self._wrap(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._storage[self._wrap(key)]

    def __iter__(self) -> Iterator[Any]:
        return (key.unwrapped for key in list(self._storage) if key.unwrapped is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """A dict whose keys are compared by identity and are weak references."""

    _wrap = _WeakReference


class ObjectIdentitySet(MutableSet[Any]):
    """A set whose items are compared by identity."""

    _wrap: type[Reference] = Reference

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._storage = {self._wrap(item) for item in items}

    def __contains__(self, item: object) -> bool:
        return self._wrap(item) in self._storage

    def add(self, value: Any) -> None:
        """Add an item."""
        self._storage.add(self._wrap(value))

    def discard(self, value: Any) -> None:
        """Remove an item if it is in the set."""
        self._storage.discard(self._wrap(value))

    def update(self, items: Iterable[Any]) -> None:
        """Add items."""
        self._storage.update(self._wrap(item) for item in items)

    def intersection(self, items: Iterable[Any]) -> set[Any]:
        """Return the items that are also in this set."""
        return {item for item in items if item in self}

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """Return the items of this set except `items`."""
        without = type(self)(items)
        return type(self)(item for item in self if item not in without)

    def __iter__(self) -> Iterator[Any]:
        return (item.unwrapped for item in list(self._storage) if item.unwrapped is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """A set whose items are compared by identity and are weak references."""

    _wrap = _WeakReference
