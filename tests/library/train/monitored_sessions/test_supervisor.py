"""A Supervisor makes a session ready, and leaves neither threads nor an open file."""

from __future__ import annotations

import threading

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_a_managed_session_writes_and_ends(tmp_path):
    train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    tf.summary.scalar("s", 2.0)
    threads = threading.active_count()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=1000, saver=None)
    with supervisor.managed_session() as session:
        assert tf.get_default_graph().finalized
        while not supervisor.should_stop():
            if session.run(train) == 3:
                supervisor.request_stop()
        supervisor.summary_computed(session, session.run(supervisor.summary_op))
    assert threading.active_count() == threads
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(train)
    assert any("tfevents" in path.name for path in tmp_path.iterdir())


def test_an_error_is_raised_at_the_end():
    tf.Variable(1.0)
    supervisor = tf.train.Supervisor(saver=None)
    with pytest.raises(ValueError, match="mine"):
        with supervisor.managed_session():
            raise ValueError("mine")
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the end")
    assert supervisor.should_stop()
    with supervisor.managed_session() as session:
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            supervisor.SummaryComputed(session, b"")
        assert not supervisor.ShouldStop()


def test_only_chiefs_have_services():
    with tf.device("/cpu:0"):
        tf.Variable(1.0)
    worker = tf.train.Supervisor(is_chief=False, saver=None, recovery_wait_secs=0.01)
    with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
        worker.start_standard_services(None)
    with pytest.raises(tf.errors.DeadlineExceededError):
        worker.prepare_or_wait_for_session(max_wait_secs=0.02)


def test_workers_need_devices():
    tf.Variable(1.0, name="nowhere")
    with pytest.raises(ValueError, match="all Variables must have their device set: nowhere"):
        tf.train.Supervisor(is_chief=False)
