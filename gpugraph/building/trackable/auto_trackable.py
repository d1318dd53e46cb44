"""Objects that are followed through their attributes, as they are when a checkpoint is made."""

from __future__ import annotations

from typing import Any

from gpugraph.building.trackable.trackable import NoDependency, Trackable, TrackableReference
from gpugraph.building.trackable.tracked_containers import followed


class AutoTrackable(Trackable):
    """An object that depends on what its attributes hold: trackable objects, lists and dicts.

    `_track_trackable` adds others. An attribute that is assigned a `NoDependency` has its value,
    and is not followed.
    """

    _untracked: frozenset[str] = frozenset({"_tracked"})
    """The attributes that are not followed."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, NoDependency):
            value = value.value
            super().__setattr__("_untracked", self._untracked | {name})
        elif name in self._untracked and name not in type(self)._untracked:
            super().__setattr__("_untracked", self._untracked - {name})
        super().__setattr__(name, value)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        references = dict(super()._checkpoint_dependencies)
        for name, value in vars(self).items():
            if name not in self._untracked and name not in references:
                dependency = followed(value)
                if dependency is not None:
                    references[name] = dependency
        return [TrackableReference(*item) for item in references.items()]

    def _no_dependency(self, value: Any) -> Any:
        """The value wrapped, so that its attribute is not followed."""
        return NoDependency(value)
