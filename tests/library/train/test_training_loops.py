"""Loops around training steps, and descriptions of vocabularies."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import gpugraph as tf


class Supervisor:
    """A supervisor that stops after a number of steps."""

    def __init__(self, steps: int) -> None:
        self.steps, self.masters = steps, []

    def should_stop(self):
        return self.steps <= 0

    @contextmanager
    def managed_session(self, master):
        self.masters.append(master)
        yield f"session {len(self.masters)}"


def test_steps_are_taken_until_the_supervisor_stops():
    supervisor, calls = Supervisor(3), []

    def step(*args, **kwargs):
        calls.append((args, kwargs))
        supervisor.steps -= 1

    tf.train.basic_train_loop(supervisor, step, [1], {"rate": 2}, master="local")
    assert calls == [(("session 1", 1), {"rate": 2})] * 3
    assert supervisor.masters == ["local"]
    tf.train.basic_train_loop(supervisor, step)
    assert supervisor.masters == ["local", ""]


def test_an_aborted_step_begins_with_a_new_session():
    supervisor, sessions = Supervisor(2), []

    def step(session):
        sessions.append(session)
        supervisor.steps -= 1
        if len(sessions) == 1:
            raise tf.errors.AbortedError(None, None, "a server restarts")

    tf.train.basic_train_loop(supervisor, step)
    assert sessions == ["session 1", "session 2"]

    def fail(session):
        raise tf.errors.CancelledError(None, None, "over")

    with pytest.raises(tf.errors.CancelledError):
        tf.train.basic_train_loop(Supervisor(1), fail)


def test_a_vocabulary_has_its_defaults():
    vocabulary = tf.train.VocabInfo("new.txt", 5, 2, "old.txt")
    assert vocabulary == ("new.txt", 5, 2, "old.txt", -1, None, 0)
    assert vocabulary.num_oov_buckets == 2
    with pytest.raises(ValueError, match=r"supported values for the axis argument.*axis: 2"):
        tf.train.VocabInfo("new.txt", 5, 2, "old.txt", axis=2)
