"""`rnn`, against the same steps in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend

INPUTS = np.random.RandomState(0).randn(3, 5, 4).astype(np.float32)
MASK = np.array([[1, 1, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 1, 1]], bool)


def step(x, states):
    """Decay the state and add the input."""
    state = 0.5 * states[0] + x
    return 2.0 * state + (states[1] if len(states) > 1 else 0.0), [state]


def expected(mask, go_backwards, zero_output, constant):
    """Last output, outputs and last state, of three sequences one after the other."""
    inputs = INPUTS[:, ::-1] if go_backwards else INPUTS
    masks = np.ones([3, 5], bool) if mask is None else mask[:, ::-1] if go_backwards else mask
    outputs, states = np.zeros_like(INPUTS), np.zeros([3, 4], np.float32)
    for row, time in itertools.product(range(3), range(5)):
        if masks[row, time]:
            states[row] = 0.5 * states[row] + inputs[row, time]
            outputs[row, time] = 2 * states[row] + constant
        elif time and not zero_output:
            outputs[row, time] = outputs[row, time - 1]
    return outputs[:, -1], outputs, states


OPTIONS = [*itertools.product((None, MASK), (False, True), (False, True), (False, True))]


@pytest.mark.parametrize(("mask", "go_backwards", "zero_output", "unroll"), OPTIONS)
def test_all_options(mask, go_backwards, zero_output, unroll):
    for sizes, constants in (((3, 5, 4), None), ((None, None, 4), [tf.constant(0.25)])):
        if unroll:
            sizes = (None, 5, 4)
        x = tf.placeholder(tf.float32, sizes)
        masked = None if mask is None else tf.placeholder(tf.float32, [None, sizes[1]])
        last, outputs, states = K.rnn(
            step,
            x,
            [tf.zeros([3, 4])],
            go_backwards,
            masked,
            constants,
            unroll,
            zero_output_for_mask=zero_output,
        )
        assert outputs.shape.as_list()[1:] == list(sizes)[1:]
        feed = {x: INPUTS} if mask is None else {x: INPUTS, masked: mask}
        with tf.Session() as session:
            values = session.run([last, outputs, states[0]], feed)
        wanted = expected(mask, go_backwards, zero_output, 0.25 if constants else 0.0)
        for value, want in zip(values, wanted):
            np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", [None, MASK])
def test_the_gradient_goes_through_the_loop(mask):
    x = tf.constant(INPUTS)
    gradients = []
    for unroll in (False, True):
        masked = None if mask is None else tf.constant(mask)
        _, outputs, _ = K.rnn(step, x, [tf.zeros([3, 4])], mask=masked, unroll=unroll)
        gradients += tf.gradients(tf.reduce_sum(outputs * outputs), x)
    looped, unrolled = tf.Session().run(gradients)
    assert np.abs(looped).max() > 0.1
    np.testing.assert_allclose(looped, unrolled, rtol=1e-5)


def test_structures_and_time_first():
    def nested(x, states):
        state = states[0]["sum"] + x["a"] * x["b"]
        return {"same": state, "double": 2.0 * state}, [{"sum": state}]

    x = tf.constant(INPUTS)
    last, outputs, states = K.rnn(
        nested, {"a": x, "b": x}, [{"sum": tf.zeros([5, 4])}], time_major=True
    )
    sums = np.cumsum(INPUTS**2, 0)
    values = tf.Session().run([last["double"], outputs["same"], states[0]["sum"]])
    for value, want in zip(values, (2 * sums[-1], sums, sums[-1])):
        np.testing.assert_allclose(value, want, rtol=1e-5)


def test_an_image_for_each_step_and_a_state_of_it():
    images = np.random.RandomState(1).randn(2, 3, 4, 4, 1).astype(np.float32)
    mask = np.array([[1, 0, 1], [1, 1, 0]], bool)
    _, outputs, _ = K.rnn(
        lambda x, states: (x + states[0], [x + states[0]]),
        tf.constant(images),
        [tf.zeros([2, 4, 4, 1])],
        mask=tf.constant(mask),
    )
    wanted = np.cumsum(images * mask[:, :, None, None, None], 1)
    np.testing.assert_allclose(tf.Session().run(outputs), wanted, rtol=1e-5, atol=1e-6)


def test_steps_that_can_not_be_done_are_refused():
    x = tf.placeholder(tf.float32, [3, None, 4])
    with pytest.raises(ValueError, match="Unrolling requires a fixed number of timesteps"):
        K.rnn(step, x, [tf.zeros([3, 4])], unroll=True)
    with pytest.raises(ValueError, match="should be at least 3D"):
        K.rnn(step, tf.zeros([3, 4]), [tf.zeros([3, 4])])
