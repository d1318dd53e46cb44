"""`tf.train.CheckpointManager`, which numbers the checkpoints in a folder, and removes old
checkpoints.
"""

from __future__ import annotations

import os
import time
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.library.train.global_step import global_step
from gpugraph.library.train.object_checkpoints.load_status import session_or_default
from gpugraph.library.train.savers.checkpoint_files import (
    get_checkpoint_state,
    remove_checkpoint,
    write_checkpoint_state,
)
from gpugraph.platform import logging


class CheckpointManager:
    """Saves a `tf.train.Checkpoint` in a folder. It also manages the checkpoints that are already
    in the folder.

    The constructor raises ValueError if `max_to_keep` is less than 1.

    Args:
      checkpoint: the Checkpoint.
      directory: the folder.
      max_to_keep: the number of checkpoints to keep. If it is None, all checkpoints are kept.
      keep_checkpoint_every_n_hours: an interval in hours. In each interval, one checkpoint is never
        removed.
      checkpoint_name: the prefix of the file names.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            text = "Expected a positive integer or `None` for `max_to_max_to_keep`"
            raise ValueError(f"{text}, got {max_to_keep}.")
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._latest: str | None = None
        self._kept: dict[str, float] = {}
        self._preserved = time.time() - 1
        self._recover()

    def _recover(self) -> None:
        """Read the list of checkpoints from the folder's state file."""
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        now = time.time()
        self._latest = state.model_checkpoint_path
        self._preserved = state.last_preserved_timestamp
        if now < self._preserved:
            logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint "
                "timestamp.",
                self._preserved - now,
            )
            self._preserved = now
        paths = list(state.all_model_checkpoint_paths)
        stamps = list(state.all_model_checkpoint_timestamps) or [self._preserved] * len(paths)
        for path, stamp in zip(paths, stamps):
            if min(stamp, now) > self._preserved:
                self._kept[path] = min(stamp, now)

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, which can be passed to `Checkpoint.restore`. If there
        is no checkpoint, it is None.
        """
        return self._latest

    def save(self, checkpoint_number: Any = None) -> str:
        """Save a checkpoint in the default session, remove old checkpoints, and return the new
        path.

        Raises RuntimeError if there is no default session.

        Args:
          checkpoint_number: the number of the checkpoint, by default `save_counter`. It is an int,
            a variable or a tensor.
        """
        session = session_or_default(None, f'save checkpoint to "{self._prefix}"')
        number = self._count(session)
        if checkpoint_number is not None:
            number = checkpoint_number
            if not isinstance(number, int):
                number = global_step(session, number)
        path: str = self._checkpoint.write(f"{self._prefix}-{int(number)}")
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._record()
        self._sweep()
        self._record()
        return path

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that later saves may remove. The oldest checkpoint is the
        first.
        """
        return list(self._kept)

    def _count(self, session: Any) -> int:
        """Increment the Checkpoint's `save_counter`, which starts at 0, and return the new
        value.
        """
        is_new = self._checkpoint._save_counter is None
        counter = self._checkpoint.save_counter
        if is_new:
            session.run(counter.initializer)
        if self._checkpoint._count is None:
            with get_default_graph().colocate_with(counter.op):
                self._checkpoint._count = counter.assign_add(1, read_value=True)
        return int(session.run(self._checkpoint._count))

    def _record(self) -> None:
        write_checkpoint_state(
            self._directory,
            self._latest or "",
            list(self._kept),
            save_relative_paths=True,
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._preserved,
        )

    def _sweep(self) -> None:
        """Remove the oldest checkpoints until there are `max_to_keep`. Never remove the checkpoint
        that is kept for an interval of `keep_checkpoint_every_n_hours`.
        """
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            path, written = next(iter(self._kept.items()))
            del self._kept[path]
            if self._hours and written - self._hours * 3600 >= self._preserved:
                self._preserved = written
            else:
                remove_checkpoint(path)
