"""Objects that a checkpoint tracks, and their dependencies on each other, which have names.

trackable              the base of all such objects
auto_trackable         objects that are tracked through their attributes
tracked_containers     lists and dicts
"""

from gpugraph.building.trackable.auto_trackable import AutoTrackable as AutoTrackable
from gpugraph.building.trackable.trackable import (
    NoDependency as NoDependency,
    Trackable as Trackable,
    TrackableReference as TrackableReference,
)
from gpugraph.building.trackable.tracked_containers import (
    List as List,
    Mapping as Mapping,
    UniqueNameTracker as UniqueNameTracker,
)
