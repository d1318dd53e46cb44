"""Runners of queues: threads that run enqueue operations until the queue is closed."""

from __future__ import annotations

import pytest

import gpugraph as tf


class Source:
    """Stands for a queue: an operation that ends with `error` after some runs."""

    name = "source"

    def __init__(self, runs, error=tf.errors.OutOfRangeError) -> None:
        self.runs, self.error, self.closed = runs, error, []
        self.operation = tf.py_func(self._enqueue, [], [], name="enqueue")

    def _enqueue(self):
        self.runs -= 1
        if self.runs < 0:
            raise self.error(None, None, "over") if self.error else StopIteration

    def close(self, cancel_pending_enqueues=False):
        return tf.py_func(lambda: self.closed.append(cancel_pending_enqueues), [], [], name="close")


def raising(error):
    """Return an operation that fails with an error of the runtime in each run."""
    message = "the source is over"
    return tf.Assert(tf.constant(False), [message]) if error else tf.no_op()


def test_a_runner_ends_with_its_queue_and_closes_it():
    with tf.Graph().as_default(), tf.Session() as session:
        source = Source(5, error=None)  # StopIteration becomes OutOfRangeError
        runner = tf.train.QueueRunner(source, [source.operation] * 2)
        tf.train.add_queue_runner(runner)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert len(threads) == 3 and all(thread.daemon for thread in threads)
        assert threads[0].name == "QueueRunnerThread-source-enqueue"
        assert threads[2].name == "QueueRunnerThread-source-close_on_stop"
        for thread in threads[:2]:
            thread.join()
        assert source.closed == [False] and source.runs < 0
        coord.request_stop()
        coord.join()
        assert source.closed == [False, True]
        assert runner.exceptions_raised == []


def test_an_error_stops_the_coordinator():
    with tf.Graph().as_default(), tf.Session() as session:
        source = Source(0)
        runner = tf.train.QueueRunner(source, [raising(tf.errors.InvalidArgumentError)])
        coord = tf.train.Coordinator()
        runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            coord.join()
        assert source.closed == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_a_coordinator_errors_are_kept():
    with tf.Graph().as_default(), tf.Session() as session:
        source = Source(0)
        runner = tf.train.QueueRunner(source, [raising(tf.errors.InvalidArgumentError)])
        (thread,) = runner.create_threads(session, start=True)
        thread.join()
        (error,) = runner.exceptions_raised
        assert isinstance(error, tf.errors.InvalidArgumentError)
        (thread,) = runner.create_threads(session)  # may be started again
        assert runner.create_threads(session) == []  # but not twice
        assert runner.exceptions_raised == [] and not thread.daemon


def test_wrong_arguments_are_refused():
    with tf.Graph().as_default():
        source = Source(0)
        with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
            tf.train.QueueRunner(source, [])
        with pytest.raises(TypeError, match=r"must be a tuple of tf\.error types"):
            tf.train.QueueRunner(
                source, [source.operation], queue_closed_exception_types=(KeyError,)
            )
        with pytest.raises(ValueError, match=r"No default session"):
            tf.train.start_queue_runners()
        with pytest.raises(TypeError, match=r"sess must be a `tf\.Session` object"):
            tf.train.start_queue_runners("session")
