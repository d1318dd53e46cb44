"""SyncReplicasOptimizer: one worker trains as its optimizer does, two are averaged."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gpugraph as tf


def train(optimizer_of, steps=3):
    """Return the weights after `steps` steps of a monitored session."""
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("w", initializer=[1.0, 2.0])
        rows = tf.get_variable("r", initializer=[[1.0], [2.0], [3.0]])
        loss = tf.reduce_sum(weights**2) + tf.reduce_sum(tf.gather(rows, [2, 0]) ** 2)
        optimizer, hooks = optimizer_of()
        train_op = optimizer.minimize(loss, global_step=step)
        hooks = [hook(optimizer) for hook in hooks]
        with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
            for _ in range(steps):
                session.run(train_op)
            values = session.run([weights, rows, step])
    return values


def test_one_worker_trains_as_its_optimizer():
    def plain():
        return tf.train.GradientDescentOptimizer(0.1), []

    def synced():
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        return optimizer, [lambda made: made.make_session_run_hook(True)]

    def with_tokens_of_none():
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
        return optimizer, [lambda made: made.make_session_run_hook(True, num_tokens=0)]

    expected = train(plain)
    for synchronized in (with_tokens_of_none,):
        for value, wanted in zip(train(synchronized), expected):
            np.testing.assert_allclose(value, wanted, rtol=1e-6)
    assert train(synced)[2] >= 2  # the first token allows a worker to be a step ahead


def test_gradients_of_two_workers_are_averaged():
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("w", initializer=1.0)
        gradient = tf.placeholder(tf.float32, [])
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
        train_op = optimizer.apply_gradients([(gradient, weight)], global_step=step)
        hook = optimizer.make_session_run_hook(True, num_tokens=0)
        with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
            workers = [
                threading.Thread(target=lambda size=size: session.run(train_op, {gradient: size}))
                for size in (1.0, 3.0)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(60)
            assert session.run([weight, step], {gradient: 0.0}) == [-1.0, 1]


def test_what_is_refused():
    with tf.Graph().as_default():
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.AdamOptimizer(), 3, 2)
        weight = tf.get_variable("w", initializer=1.0)
        with pytest.raises(ValueError, match="Must supply at least one variable"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="Global step is required"):
            optimizer.apply_gradients([(tf.constant(1.0), weight)])
        with pytest.raises(ValueError, match=r"called after apply_gradients"):
            optimizer.get_chief_queue_runner()
        with pytest.raises(ValueError, match=r"called after apply_gradients"):
            optimizer.get_init_tokens_op()
        with pytest.raises(ValueError, match="before using the hook"):
            optimizer.make_session_run_hook(True).begin()
        step = tf.train.get_or_create_global_step()
        optimizer.apply_gradients([(tf.constant(1.0), weight)], step)
        with pytest.raises(ValueError, match=r"Too few tokens.*0 \(given\) vs 1 \(needed\)"):
            optimizer.get_init_tokens_op(0)
        assert optimizer.get_slot_names() == ["m", "v"]
