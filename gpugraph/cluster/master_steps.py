"""Steps in progress, as the master of a session manages them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.errors import AbortedError, OpError
from gpugraph.cluster.part_specs import PartStep
from gpugraph.cluster.worker_links import PartRun, WorkerLink


class MasterStep:
    """A step in progress on all of its tasks.

    The step is a context manager. If one part fails, the master ends all parts, and the step raises
    the first error at the end of the `with` block.
    """

    def __init__(
        self, links: Mapping[str, WorkerLink], step: int, tasks: Mapping[str, Any]
    ) -> None:
        self._links, self._step, self._tasks = links, step, tasks
        self._failure: OpError | None = None
        self.part_runs: list[tuple[PartRun, Sequence[int]]] = []
        self.num_ended = 0

    def begin(
        self,
        part_step: PartStep,
        task: str,
        fetched: Sequence[int],
        keys: Sequence[str] = (),
        tensors: Sequence[Any] = (),
    ) -> None:
        """Start the part of a task.

        Args:
          fetched: the indices of the run's fetches that the part computes.
          keys, tensors: the first tensors that the part receives from another task, and their
            rendezvous keys.
        """
        part_run = self._links[task].run_part(part_step._replace(first=(keys, tensors)))
        self.part_runs.append((part_run, fetched))
        if len(self._tasks) > 1:
            part_run.when_done(self.fail)

    def fail(self, error: OpError | None) -> None:
        """End the step on all tasks. Do nothing if `error` is None or the step has already
        failed.
        """
        if error is None or self._failure is not None:
            return
        self._failure = error
        for task in self._tasks:
            self._links[task].abort(self._step, error)

    def __enter__(self) -> MasterStep:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        try:
            self._end(error)
        finally:
            self._failure = None  # it refers to this object through the frames of the step

    def _end(self, error: BaseException) -> None:
        """End the parts that are still in progress. If the step has already failed with an earlier
        error, raise the earlier error.
        """
        for part_run, _ in self.part_runs[self.num_ended :]:
            part_run.cancel()
        first = self._failure
        if first is None:
            self.fail(
                error
                if isinstance(error, OpError)
                else AbortedError.of_no_node(f"The step ended with {type(error).__name__}")
            )
        elif isinstance(error, OpError) and error is not first:
            try:
                raise first from None
            finally:
                first = None
