"""`WorkerContext`, which describes the task that a monitored session belongs to, in a strategy over
several processes.

A worker with its own copies of the variables initializes them itself. It also takes part in saving,
because reads of some variables are collective operations. A worker that keeps no checkpoints writes
its files to a separate folder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpugraph.building.replication import get_strategy
from gpugraph.config import ConfigProto


class WorkerContext(NamedTuple):
    """A strategy, the target of its sessions, and the name of this task, such as "worker_1"."""

    strategy: Any
    master: str
    task: str

    @property
    def is_chief(self) -> bool:
        """Whether this task keeps checkpoints."""
        return bool(self.strategy.extended.should_checkpoint)

    @property
    def initializes(self) -> bool:
        """Whether this task initializes variables."""
        return bool(self.strategy.extended.experimental_should_init)

    @property
    def has_copies(self) -> bool:
        """Whether this task has its own copies of the variables."""
        return is_over_copies(self.strategy)

    def config(self, config: ConfigProto | None) -> ConfigProto:
        """Return the configuration of a session."""
        updated: ConfigProto = self.strategy.update_config_proto(config or ConfigProto())
        return updated

    def folder(self, folder: Any, is_kept: bool) -> Any:
        """Return the folder to which this task writes files. If the task must not write files,
        return None.

        Args:
          is_kept: whether this task writes to `folder` instead of a separate folder.
        """
        if not folder or is_kept:
            return folder
        return os.path.join(folder, f"tmp_{self.task}") if self.has_copies else None


def is_over_copies(strategy: Any) -> bool:
    """Return whether there are several processes, each with its own copies of the strategy's
    variables.
    """
    extended = strategy.extended
    is_several = extended.experimental_between_graph and extended.experimental_should_init
    return bool(
        is_several and strategy.num_replicas_in_sync > len(extended.worker_devices)
    )  # fmt: skip


class _Entered(threading.local):
    """The contexts that a thread has entered. The innermost context is the last one."""

    def __init__(self) -> None:
        self.contexts: list[WorkerContext] = []


_ENTERED = _Entered()


@contextmanager
def entered_worker(context: WorkerContext) -> Iterator[None]:
    """Enter a context. Monitored sessions that are created inside the block belong to this
    worker.
    """
    _ENTERED.contexts.append(context)
    try:
        yield
    finally:
        _ENTERED.contexts.pop()


def worker_context(master: str) -> WorkerContext | None:
    """Return the context that this thread has entered. If there is no such context, but the workers
    of the current strategy have copies of the variables, return the strategy's context.

    Args:
      master: the target of sessions. It has no effect if a context was entered.
    """
    if _ENTERED.contexts:
        return _ENTERED.contexts[-1]
    strategy = get_strategy()
    if not is_over_copies(strategy):
        return None
    task = strategy.extended._task
    return WorkerContext(strategy, master, f"{task.type}_{task.id}")
