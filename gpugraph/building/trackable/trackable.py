"""The base class of objects in object-based checkpoints. Such an object has named dependencies and
values.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Trackable:
    """An object with named dependencies. A checkpoint of the object also saves its dependencies.

    A subclass with values lists them in `_gather_saveables_for_checkpoint`. A subclass overrides
    `_checkpoint_dependencies` if it has dependencies that were not added by `_track_trackable`.
    """

    _tracked: dict[str, Any] | None = None
    _update_uid = -1
    """The number of the restore that last set the object's value; -1 if none has."""

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Make this object depend on `trackable` under `name`, and return `trackable`.

        Raises TypeError if `trackable` is not a Trackable. Raises ValueError if another object
        already has the name, unless `overwrite` is set.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable."
            )
        current = self._lookup_dependency(name)
        if current is not None and current is not trackable and not overwrite:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with "
                "this name is already declared as a dependency. Names must be unique (or "
                "overwrite=True)."
            )
        self._tracked = {**(self._tracked or {}), name: trackable}
        return trackable

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The dependencies, in the order in which they were added."""
        return self._unconditional_checkpoint_dependencies

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        """The dependencies by name. Libraries that look up missing ones add them here."""
        if self._tracked is None:
            self._tracked = {}
        return self._tracked

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        """The same dependencies, as a new list."""
        return [TrackableReference(*item) for item in (self._tracked or {}).items()]

    def _lookup_dependency(self, name: str) -> Any:
        """Return the dependency with this name, or None. A subclass may also return dependencies
        that it does not list.
        """
        return (self._tracked or {}).get(name)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return the values that a checkpoint saves, by name.

        Each is a variable, or a function of a `name` that returns a SaveableObject.
        """
        return {}

    def _no_dependency(self, value: Any) -> Any:
        """Return `value` in a form that is not tracked if it is assigned to an attribute. This
        class returns `value` unchanged.
        """
        return value


class TrackableReference(NamedTuple):
    """A dependency: a name, and the object `ref` that has this name."""

    name: str
    ref: Any


class NoDependency:
    """A value that is assigned to an attribute, or added to a container, without being tracked."""

    def __init__(self, value: Any) -> None:
        self.value = value
