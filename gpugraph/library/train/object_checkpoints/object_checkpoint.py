"""`tf.train.Checkpoint`: objects that are saved and restored together, by their references."""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.trackable.auto_trackable import AutoTrackable
from gpugraph.building.trackable.tracked_containers import followed
from gpugraph.building.variables import ResourceVariable
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.library.train.object_checkpoints.load_status import (
    LoadStatus,
    NameBasedSaverStatus,
    session_or_default,
)
from gpugraph.library.train.object_checkpoints.object_saver import ObjectSaver
from gpugraph.library.train.savers.checkpoint_files import write_checkpoint_state


class Checkpoint(AutoTrackable):
    """Objects that are saved and restored together, with all objects that are reachable through
    their attributes.

    In a checkpoint, a value is identified by the names of the attributes that lead to it, such as
    `model/layer/kernel`. The names of variables have no influence. The objects can be variables,
    optimizers with their slots, layers, networks, `tf.Module`s, loss scales, and lists and dicts of
    these.

    Raises ValueError if one of `kwargs` is not trackable.

    Args:
      kwargs: the objects, which become attributes of the checkpoint.
    """

    _untracked = AutoTrackable._untracked | {"_save_counter", "_count", "_saver"}

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            setattr(self, name, value)
            if followed(value) is None and not isinstance(value, (list, tuple, dict)):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`TrackableBase`), got {value}. If you believe this object should be "
                    "trackable (i.e. it is part of the TensorFlow Python API and manages state), "
                    "please open an issue."
                )
        self._save_counter: Any = None
        self._count: Any = None
        self._saver = ObjectSaver(self)

    @property
    def save_counter(self) -> Any:
        """The int64 variable that counts the saves. Its value is appended to the paths of
        checkpoints.
        """
        if self._save_counter is None:
            graph = get_default_graph()
            with graph.control_dependencies(None), device("/cpu:0"):
                self._save_counter = ResourceVariable(
                    0, trainable=False, name="save_counter", dtype=dtypes.int64
                )
            self._track_trackable(self._save_counter, "save_counter")
        return self._save_counter

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Save a checkpoint at exactly this path, and return the path.

        Unlike `save`, this appends no number and writes no state file. Raises RuntimeError if there
        is no session.

        Args:
          session: the session that holds the values, by default the default session.
        """
        return self._saver.save(os.fspath(file_prefix), session)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Save a checkpoint, and return its path: `file_prefix`, a hyphen and a number.

        The number is the new value of `save_counter`, which each save increments. The checkpoint
        becomes the latest checkpoint of its folder.

        Args:
          file_prefix: the start of the path.
          session: the session that holds the values, by default the default session.
        """
        prefix = os.fspath(file_prefix)
        session = session_or_default(session, f'save checkpoint to "{prefix}"')
        if self._save_counter is None:
            session.run(self.save_counter.initializer)
        if self._count is None:
            counter = self.save_counter
            with counter.graph.colocate_with(counter.op):
                self._count = counter.assign_add(1, read_value=True)
        path = self.write(f"{prefix}-{session.run(self._count)}", session)
        write_checkpoint_state(os.path.dirname(prefix), path, [path], save_relative_paths=True)
        return path

    def restore(self, save_path: Any) -> LoadStatus:
        """Match the program's objects with the objects of a checkpoint by their names. This does
        not restore any value yet.

        The returned status has methods that restore the values, `run_restore_ops(session)` and
        `initialize_or_restore(session)`, and methods that check the matches: `assert_consumed()`,
        `assert_existing_objects_matched()`, `assert_nontrivial_match()`. Each of these first
        matches objects that were created after the call of `restore`. Raises the errors of
        `NewCheckpointReader`.

        Args:
          save_path: the path of a checkpoint. If it is None, nothing is restored. In a checkpoint
            that a `tf.train.Saver` wrote, variables are found by their names.
        """
        status = self._saver.restore(save_path)
        counter = self.save_counter
        if isinstance(status, NameBasedSaverStatus):
            status.add_to_optionally_restored(counter)
        return status
