"""The cost that hooks add to a step: gpugraph beside TensorFlow's v1 API.

    python benchmarks/monitored_step.py [--rows ROW ...] [--rounds N] [--json FILE] [--check]

A step counts the global step, and does nothing else, so that the time around it shows. A row is
`Session.run` alone, or a MonitoredSession or MonitoredTrainingSession with hooks: the default ones
(checkpoints every 600 seconds, summaries every 100 steps, the rate every 100 steps), or
a part of them. The time of a row less that of "Session.run" is the cost of the hooks. The time is
that of one step, the mean of 100, so that it has its share of the summaries. See
benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

from peers import Rows, Work, main, tensorflow

STEPS = 100
"""The number of steps between two summaries, and in one measurement."""


def own() -> Any:
    return importlib.import_module("gpugraph")


def plain_session(tf: Any, folder: str) -> Any:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def without_hooks(tf: Any, folder: str) -> Any:
    return tf.train.MonitoredSession()


def with_rate_and_summaries(tf: Any, folder: str) -> Any:
    return tf.train.MonitoredTrainingSession(summary_dir=folder)


def with_all(tf: Any, folder: str) -> Any:
    return tf.train.MonitoredTrainingSession(checkpoint_dir=folder)


SESSIONS = {
    "Session.run": plain_session,
    "MonitoredSession without hooks": without_hooks,
    "rate and summaries": with_rate_and_summaries,
    "checkpoints, rate and summaries": with_all,
}


def steps(library: Callable[[], Any], create: Callable[[Any, str], Any]) -> Work:
    """Return work of a hundred steps of a session, with its hooks."""
    tf = library()
    folder = tempfile.mkdtemp()
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1).op
    tf.summary.scalar("loss", 0.5)
    session = create(tf, folder)

    def hundred() -> None:
        for _ in range(STEPS):
            session.run(train)

    return Work(hundred, lambda: [session.run(step)], STEPS)


def rows() -> Rows:
    """Return all rows."""
    return {
        name: {
            "gpugraph": partial(steps, own, create),
            "tensorflow": partial(steps, tensorflow, create),
        }
        for name, create in SESSIONS.items()
    }


if __name__ == "__main__":
    main(rows(), __file__)
