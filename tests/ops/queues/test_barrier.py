"""Barriers: components that come one by one, closed ones, and waits."""

from __future__ import annotations

import threading

import pytest

import gpugraph as tf
from gpugraph.ops.queues.barrier import Barrier


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def test_elements_leave_when_they_are_whole(session):
    barrier = Barrier((tf.float32, tf.int32), shapes=((), (2,)), name="bar")
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    indices, keys, values = barrier.take_many(2)
    assert [tensor.shape.as_list() for tensor in (indices, *values)] == [[2], [2], [2, 2]]
    session.run(barrier.insert_many(0, ["b", "a"], [1.0, 2.0]))
    session.run(barrier.insert_many(0, ["c"], [3.0]))
    assert session.run(sizes) == [0, 3]
    session.run(barrier.insert_many(1, ["c", "a"], [[1, 2], [3, 4]]))
    assert session.run(sizes) == [2, 1]
    taken = session.run([indices, keys, *values])
    assert taken[0].tolist() == [-(2**63), 1 - 2**63]  # of the first and the second insert
    assert taken[1].tolist() == [b"a", b"c"]
    assert taken[2].tolist() == [2, 3] and taken[3].tolist() == [[3, 4], [1, 2]]


def test_what_is_refused(session):
    barrier = Barrier((tf.float32, tf.int32), shapes=((), (2,)))
    session.run(barrier.insert_many(0, ["a"], [1.0]))
    for component, keys, values, words in (
        (0, ["b", "a"], [5.0, 6.0], "Key a already has a value for component 0"),
        (1, ["a"], [[1, 2, 3]], r"Expected \[2\], got \[3\]"),
        (2, ["a"], [[1, 2]], "component ID is out of range 2"),
        (1, ["a"], [[1.0, 2.0]], "Signature mismatch"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(barrier.insert_many(component, keys, values))
    assert session.run(barrier.incomplete_size()) == 1
    with pytest.raises(ValueError, match="must have the same length as types"):
        Barrier((tf.float32,), shapes=((), ()))
    with pytest.raises(ValueError, match="must be fully defined"):
        Barrier((tf.float32,), shapes=((None,),))


def test_closed(session):
    barrier = Barrier((tf.int32, tf.int32), shapes=((), ()))
    session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
    session.run(barrier.close())
    with pytest.raises(tf.errors.CancelledError, match="is already closed"):
        session.run(barrier.close())
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        session.run(barrier.insert_many(0, ["c"], [3]))
    session.run(barrier.insert_many(1, ["a", "b"], [10, 20]))
    with pytest.raises(tf.errors.OutOfRangeError, match="closed and has insufficient elements"):
        session.run(barrier.take_many(3))
    few = barrier.take_many(3, allow_small_batch=True)
    assert session.run(few)[2][1].tolist() == [10, 20]
    with pytest.raises(tf.errors.OutOfRangeError, match="closed and has insufficient elements"):
        session.run(few)


def test_cancelled(session):
    barrier = Barrier((tf.int32, tf.int32), shapes=((), ()))
    session.run(barrier.insert_many(0, ["a"], [1]))
    session.run(barrier.close(cancel_pending_enqueues=True))
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        session.run(barrier.insert_many(1, ["a"], [2]))


def test_a_take_waits(session):
    barrier = Barrier((tf.int32,), shapes=((),))
    take = barrier.take_many(2)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(take, options=tf.RunOptions(timeout_in_ms=100))
    taken = []
    thread = threading.Thread(target=lambda: taken.append(session.run(take)))
    thread.start()
    session.run(barrier.insert_many(0, ["a"], [1]))
    session.run(barrier.insert_many(0, ["b"], [2]))
    thread.join(30)
    assert taken[0][1].tolist() == [b"a", b"b"]
