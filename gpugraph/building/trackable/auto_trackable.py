"""Objects whose dependencies are the values of their attributes when a checkpoint is saved or
restored.
"""

from __future__ import annotations

from typing import Any

from gpugraph.building.trackable.trackable import NoDependency, Trackable, TrackableReference
from gpugraph.building.trackable.tracked_containers import followed


class AutoTrackable(Trackable):
    """An object whose dependencies are those attributes that are trackable objects, lists or dicts.

    `_track_trackable` adds dependencies that are not attributes. If a `NoDependency` is assigned to
    an attribute, the attribute gets the wrapped value and is not tracked.
    """

    _untracked: frozenset[str] = frozenset({"_tracked"})
    """The attributes that are not tracked."""

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
        """Return `value` in a wrapper. If the wrapper is assigned to an attribute, the attribute is
        not tracked.
        """
        return NoDependency(value)
