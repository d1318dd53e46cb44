"""Containers of trackable objects: plain lists, tuples and dicts, and the classes `List` and
`Mapping`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as AnyMapping
from typing import Any

from gpugraph.building.trackable.trackable import NoDependency, Trackable, TrackableReference


class PlainContainer(Trackable):
    """A trackable wrapper for a list, tuple or dict that is the value of an object's attribute.

    The content is read when a checkpoint is saved or restored. The name of an item is its position
    in a list, or its key in a dict. Saving or restoring raises ValueError if the key of a trackable
    object is not a string.
    """

    def __init__(self, container: Any) -> None:
        self.container = container

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        references = []
        for key, item in _items(self.container):
            if (value := followed(item)) is not None:
                references.append(TrackableReference(_name(key, self.container), value))
        return references


def _name(key: Any, container: Any) -> str:
    """Return the name of a key. Raises ValueError if the key is not a string."""
    if isinstance(key, str):
        return key
    text = f"The dictionary contains a non-string key, {key!r}, which maps to a trackable object"
    raise ValueError(
        f"Unable to save the object {container!r} (a dictionary that an attribute holds). {text} "
        "or mutable data structure.\n\nIf you don't need this dictionary checkpointed, wrap it in "
        "a tf.contrib.checkpoint.NoDependency object; it will be subsequently ignored."
    )


def _items(container: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(container, AnyMapping):
        yield from container.items()
    else:
        for index, item in enumerate(container):
            yield str(index), item


def followed(value: Any) -> Trackable | None:
    """Return `value` if it is trackable. If `value` is a list, tuple or dict that contains
    trackable objects, return a PlainContainer of it. Otherwise return None.
    """
    if isinstance(value, Trackable):
        return value
    return PlainContainer(value) if _has_trackables(value, ()) else None


def _has_trackables(value: Any, around: tuple[int, ...]) -> bool:
    if isinstance(value, Trackable):
        return True
    if not isinstance(value, (list, tuple, dict)) or id(value) in around:
        return False
    items = value.values() if isinstance(value, dict) else value
    return any(_has_trackables(item, (*around, id(value))) for item in items)


def identity_of(item: Any) -> int:
    """Return the `id` of an object or, for a PlainContainer, the `id` of the wrapped container."""
    return id(item.container) if isinstance(item, PlainContainer) else id(item)


def _checked(value: Any, kind: str) -> Any:
    """Return `value`, or the value in a NoDependency. Raises ValueError if the value is not
    trackable.

    Args:
      kind: the name of the class that stores the value, for the error.
    """
    if isinstance(value, NoDependency):
        return value.value
    if not isinstance(value, (Trackable, list, tuple, dict)):
        raise ValueError(
            "Only trackable objects (such as Layers or Optimizers) may be stored in a "
            f"{kind} object. Got {value}, which does not inherit from Trackable."
        )
    return value


class List(Trackable, list):  # type: ignore[type-arg]
    """An append-only list of trackable objects.

    The constructor raises ValueError for an item that is not trackable.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self.extend(list(*args))

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return PlainContainer(list(self))._checkpoint_dependencies

    def append(self, value: Any) -> None:
        """Add an object at the end."""
        super().append(_checked(value, "List"))

    def extend(self, values: Iterable[Any]) -> None:
        """Add several objects at the end."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("List only supports append and extend: items keep their positions")

    __setitem__ = __delitem__ = insert = remove = pop = clear = sort = reverse = __imul__ = _refuse

    def __repr__(self) -> str:
        return f"List({list(self)!r})"


class Mapping(Trackable, AnyMapping):  # type: ignore[type-arg]
    """A dict from strings to trackable objects. Its entries can't be changed or removed.

    The constructor raises TypeError if a key is not a string. The constructor raises ValueError if
    a value is not trackable, or if a key already has another value.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._storage: dict[str, Any] = {}
        self.update(*args, **kwargs)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return PlainContainer(self._storage)._checkpoint_dependencies

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        value = _checked(value, "Mapping")
        current = self._storage.setdefault(key, value)
        if current is not value:
            raise ValueError(
                "Mappings are an append-only data structure. Tried to overwrite the key "
                f"'{key}' with value {value}, but it already contains {current}"
            )

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add objects under their keys."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


class UniqueNameTracker(Trackable):
    """Dependencies whose names are made unique by numbers: `x`, `x_1`, `x_2`."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return [TrackableReference(*item) for item in self._names.items()]

    def track(self, trackable: Any, base_name: str) -> Any:
        """Track an object and return it. Raises ValueError if the object is not trackable."""
        if not isinstance(trackable, Trackable):
            raise ValueError(f"Expected a trackable value, got {trackable} which does not inherit "
                             "from tf.track.Trackable.")  # fmt: skip
        name, count = base_name, 1
        while name in self._names:
            name, count = f"{base_name}_{count}", count + 1
        self._names[name] = trackable
        return trackable
