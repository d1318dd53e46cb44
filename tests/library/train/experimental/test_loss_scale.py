"""Scales of losses: fixed ones, and scales that follow the gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

experimental = tf.train.experimental


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_fixed_scale_does_not_change():
    scale = experimental.FixedLossScale(8)
    update, should_apply = scale.update([tf.constant(np.inf)])
    assert should_apply is True
    with tf.Session() as session:
        value = scale()
        assert value.dtype == tf.float32
        assert session.run([value, update]) == [8.0, None]
    assert scale.get_config() == {"loss_scale_value": 8.0}
    assert experimental.FixedLossScale.from_config({"loss_scale_value": 2}).get_config() == {
        "loss_scale_value": 2.0
    }
    assert repr(scale) == "FixedLossScale(loss_scale_value=8.0)"


@pytest.mark.parametrize(
    ("value", "words"), [(0.5, "must be at least 1"), ("8", "must be a Python int or float")]
)
def test_other_fixed_scales_are_refused(value, words):
    with pytest.raises(ValueError, match=f"loss_scale_value {words}"):
        experimental.FixedLossScale(value)


def test_a_dynamic_scale_follows_the_gradients():
    """Scales and good steps of TensorFlow 2.21 for these steps."""
    scale = experimental.DynamicLossScale(4, increment_period=3, multiplier=2)
    grad = tf.placeholder(tf.float32, [2])
    rows = tf.IndexedSlices(grad, tf.constant([0, 1]))
    update, should_apply = scale.update([rows, None, (tf.constant(1.0),)])
    steps = [0, 0, 0, 0, 0, np.inf, 0, 0, 0, np.nan, -np.inf, np.inf, np.inf]
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in steps:
            ok, _ = session.run([should_apply, update], {grad: [0, step]})
            assert ok == np.isfinite(step)
            seen.append(tuple(session.run([scale(), *tf.global_variables()[1:]])))
    assert seen == [
        *((4, 1), (4, 2), (8, 0), (8, 1), (8, 2), (4, 0), (4, 1), (4, 2), (8, 0)),
        *((4, 0), (2, 0), (1, 0), (1, 0)),
    ]
    assert (scale.initial_loss_scale, scale.increment_period, scale.multiplier) == (4.0, 3, 2.0)
    assert [v.op.name for v in tf.global_variables()] == ["current_loss_scale", "good_steps"]
    assert tf.trainable_variables() == []


def test_a_dynamic_scale_stays_finite():
    scale = experimental.DynamicLossScale(3e38, increment_period=1)
    update, _ = scale.update([tf.constant(1.0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run(scale()) == np.float32(3e38)


def test_a_scale_of_a_program():
    class Halved(experimental.LossScale):
        def __call__(self):
            return tf.constant(0.5)

        def update(self, grads):
            return tf.no_op(), True

        def get_config(self):
            return {}

    assert repr(Halved()) == "Halved()"
    with pytest.raises(TypeError, match="abstract"):
        experimental.LossScale()
