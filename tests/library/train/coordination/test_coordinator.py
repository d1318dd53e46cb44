"""Coordinators stop threads together and re-raise the exception of one of them."""

from __future__ import annotations

import threading

import pytest

import gpugraph as tf


def test_join_waits_for_threads_and_raises_the_first_exception():
    coord = tf.train.Coordinator()
    ends = threading.Event()

    def fail():
        ends.wait()
        coord.request_stop(tf.errors.AbortedError(None, None, "the first"))
        coord.request_stop(ValueError("the second"))

    def wait():
        coord.wait_for_stop()

    threads = [threading.Thread(target=target) for target in (fail, wait)]
    for thread in threads:
        thread.start()
    coord.register_thread(threads[1])
    assert not coord.should_stop() and not coord.joined
    ends.set()
    with pytest.raises(tf.errors.AbortedError, match="the first"):
        coord.join(threads[:1])
    assert coord.joined and not any(thread.is_alive() for thread in threads)
    with pytest.raises(tf.errors.AbortedError):
        coord.raise_requested_exception()
    with pytest.raises(KeyError):  # nobody would see it
        coord.request_stop(KeyError("late"))
    coord.clear_stop()
    coord.raise_requested_exception()
    assert not coord.should_stop() and not coord.joined


def test_threads_may_end_without_a_stop():
    coord = tf.train.Coordinator()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    coord.join([thread])
    assert coord.joined and not coord.should_stop()


def test_clean_stops_are_not_raised():
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "the input is over")
    assert coord.should_stop()
    coord.join([])
    coord = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    with coord.stop_on_exception():
        raise KeyError("clean")
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "over"))
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join()


def test_a_thread_that_goes_on_is_named():
    for ignores in (False, True):
        coord, ends = tf.train.Coordinator(), threading.Event()
        thread = threading.Thread(target=ends.wait, name="straggler")
        thread.start()
        coord.request_stop()
        try:
            if ignores:
                coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
            else:
                with pytest.raises(RuntimeError, match="threads still running: straggler"):
                    coord.join([thread], stop_grace_period_secs=0.01)
        finally:
            ends.set()
            thread.join()


def test_what_is_no_exception_is_an_error_of_join():
    coord = tf.train.Coordinator()
    coord.request_stop("an exception")
    with pytest.raises(ValueError, match="ex must be a tuple"):
        coord.join()


def test_join_waits_for_threads_that_are_about_to_start() -> None:
    coordinator = tf.train.Coordinator()
    ended: list[int] = []
    late = threading.Thread(target=ended.append, args=(1,))
    starter = threading.Timer(0.05, late.start)
    starter.start()
    coordinator.join([late])
    assert ended == [1]
    starter.join()
