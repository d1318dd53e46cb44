"""`tf.contrib.checkpoint`: trackable objects, and the contents of checkpoints."""

from gpugraph.building import trackable as _trackable
from gpugraph.building.trackable import (
    List as List, Mapping as Mapping, NoDependency as NoDependency,
    UniqueNameTracker as UniqueNameTracker,
)
from gpugraph.library.train.object_checkpoints.object_graph import list_objects as list_objects
from gpugraph.library.train.savers.object_graph_keys import object_metadata as object_metadata

Checkpointable = _trackable.AutoTrackable
CheckpointableBase = _trackable.Trackable
