"""Accumulators of gradients: averages and sums, gradients that come too late, and waits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def test_averages_and_steps(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2], name="acc")
    step, gradient = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [2])
    apply, count = accumulator.apply_grad(gradient, step), accumulator.num_accumulated()
    take = accumulator.take_grad(1)
    assert take.shape.as_list() == [2] and accumulator.name == "acc"
    for values in ([1, 2], [1, 2], [3, 4]):
        session.run(apply, {step: 0, gradient: values})
    assert session.run(count) == 3
    np.testing.assert_allclose(session.run(take), [5 / 3, 8 / 3])
    session.run(apply, {step: 0, gradient: [1, 1]})  # the accumulator's step is 1 by now
    assert session.run(count) == 0
    session.run(apply, {step: 1, gradient: [1, 1]})
    session.run(accumulator.set_global_step(7))
    session.run(apply, {step: 6, gradient: [1, 1]})
    assert session.run(count) == 1


def test_sums_and_open_shapes(session):
    total = tf.ConditionalAccumulator(tf.float64, shape=(), reduction_type="SUM")
    session.run(total.apply_grad(1.0))
    session.run(total.apply_grad(2.0))
    assert session.run(total.take_grad(2)) == 3
    fed = tf.placeholder(tf.float32)
    opened = tf.ConditionalAccumulator(tf.float32)
    session.run(opened.apply_grad(fed), {fed: [1, 2, 3]})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[3\], got \[2\]"
    ):
        session.run(opened.apply_grad(fed), {fed: [1, 2]})
    assert session.run(opened.take_grad(1)).tolist() == [1, 2, 3]
    session.run(opened.apply_grad(fed), {fed: [[1]]})  # of an earlier step: left out
    assert session.run(opened.num_accumulated()) == 0


def test_what_is_refused(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2])
    with pytest.raises(ValueError, match="incompatible"):
        accumulator.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="dtype float32"):
        accumulator.apply_grad(tf.constant([1, 2]))
    with pytest.raises(ValueError, match="'X' not in"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="X")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive, but was 0"):
        session.run(accumulator.take_grad(0))
    tf_shared = [
        tf.ConditionalAccumulator(tf.float32, shape=size, shared_name="s") for size in ((), [2])
    ]
    session.run(tf_shared[0].apply_grad(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shared conditional accumulator"):
        session.run(tf_shared[1].num_accumulated())


def test_a_take_waits(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=())
    take, apply = accumulator.take_grad(3), accumulator.apply_grad(2.0)
    taken = []
    thread = threading.Thread(target=lambda: taken.append(session.run(take)))
    thread.start()
    for _ in range(3):
        session.run(apply)
    thread.join(30)
    assert taken == [2.0]
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(take, options=tf.RunOptions(timeout_in_ms=100))


@pytest.mark.parametrize(
    ("reduction", "rows"),
    [("MEAN", [[1, 1], [6, 6], [20, 20]]), ("SUM", [[1, 1], [12, 12], [20, 20]])],
)
def test_sparse_gradients(session, reduction, rows):
    accumulator = tf.SparseConditionalAccumulator(
        tf.float32, shape=[5, 2], reduction_type=reduction
    )
    session.run(accumulator.apply_grad([0, 2], [[1.0, 1.0], [2.0, 2.0]], [5, 2]))
    slices = tf.IndexedSlices(tf.constant([[20.0, 20.0], [10.0, 10.0]]), tf.constant([3, 2]))
    session.run(accumulator.apply_indexed_slices_grad(slices))
    taken = session.run(accumulator.take_grad(2))
    assert taken.indices.tolist() == [0, 2, 3]
    assert taken.values.tolist() == rows
    assert taken.shape.tolist() == [5, 2]
    session.run(accumulator.apply_grad([1], [[1.0, 1.0]], local_step=1))
    value = session.run(accumulator.take_indexed_slices_grad(1))
    assert value.indices.tolist() == [1] and value.dense_shape.tolist() == [5, 2]


@pytest.mark.parametrize(
    ("indices", "values", "shape", "words"),
    [
        ([[0]], [[1.0, 1.0]], None, r"Input indices should be vector but received shape: \[1,1\]"),
        ([0], 1.0, None, "Values cannot be 0-dimensional."),
        ([0, 1], [[1.0, 1.0]], None, "Expected 2 non-empty input values, got 1"),
        ([0], [[1.0, 1.0, 1.0]], None, "mismatch: expected values dim 1 to be 2, got 3"),
        ([0], [[1.0, 1.0]], [6, 2], "mismatch: expected shape dim 0 to be 5, got 6"),
        ([0], [[1.0, 1.0]], [5], "mismatch: expected shape rank at least 2, got 1"),
        ([-1], [[1.0, 1.0]], None, "index of slice 0 exceeded limits of shape; index is -1"),
        ([0, 5], [[1.0, 1.0]] * 2, None, "index of slice 1 exceeded .* index is 5 exceeded 5"),
    ],
)
def test_sparse_gradients_that_do_not_fit(session, indices, values, shape, words):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(accumulator.apply_grad(indices, values, shape))
    session.run(accumulator.set_global_step(1))
    session.run(accumulator.apply_grad(indices, values, shape))  # of an earlier step: left out
    assert session.run(accumulator.num_accumulated()) == 0
