"""`InputContext`, the argument of an input function, and `InputReplicationMode`."""

from __future__ import annotations

import enum


class InputReplicationMode(enum.Enum):
    """The options for the number of calls of an input function. The only option is one call for
    each worker.
    """

    PER_WORKER = "PER_WORKER"


class InputContext:
    """The argument of an input function. The context gives the position of this worker among all
    workers.
    """

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which gradients are aggregated."""
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        """The index of this worker's input pipeline, counted from 0."""
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        """The number of workers that read input."""
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the batch size of one replica. Raises ValueError if the global batch can't be
        divided equally.
        """
        if global_batch_size % self._num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self._num_replicas_in_sync!r} "
            )
        return global_batch_size // self._num_replicas_in_sync
