"""Gradients of cells and sequences as single ops: those of the same cells as many ops."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

BATCH, INPUTS, STATE, TIME = 2, 3, 4, 3
RANDOM = np.random.default_rng(11)


def values(*shape):
    return tf.constant(RANDOM.normal(size=shape).astype(np.float32))


def split(columns, order):
    parts = dict(zip(order, tf.split(columns, 4, axis=1), strict=True))
    return [parts[name] for name in "icfo"]


def lstm(x, state, output, w, wci, wcf, wco, b, peeps, bias, order):
    i, c, f, o = split(tf.matmul(tf.concat([x, output], 1), w) + b, order)
    peep = 1.0 if peeps else 0.0
    i = tf.sigmoid(i + peep * wci * state)
    f = tf.sigmoid(f + bias + peep * wcf * state)
    state = i * tf.tanh(c) + f * state
    return state, tf.sigmoid(o + peep * wco * state) * tf.tanh(state)


def weights():
    shapes = ((BATCH, STATE), (BATCH, STATE), (INPUTS + STATE, 4 * STATE), (STATE,), (STATE,))
    return [values(*shape) for shape in (*shapes, (STATE,), (4 * STATE,))]


def check(ones, others, sources):
    """Two lists of results have the same values and gradients."""
    slopes = [values(*one.shape.as_list()) for one in ones]
    first, second = (tf.gradients(ys, sources, slopes) for ys in (ones, others))
    with tf.Session() as session:
        for one, other in zip(
            session.run([ones, first]), session.run([others, second]), strict=True
        ):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("peeps", [True, False])
def test_a_step_of_an_lstm(peeps):
    x, others = values(BATCH, INPUTS), weights()
    parts = tf.raw_ops.LSTMBlockCell(x, *others, use_peephole=peeps, cell_clip=0.0)
    sources = [x, *others] if peeps else [x, *others[:3], others[6]]
    check([parts[1], parts[6]], list(lstm(x, *others, peeps, 1.0, "icfo")), sources)


@pytest.mark.parametrize("peeps", [True, False])
@pytest.mark.parametrize(("op_type", "bias", "order"), [
    ("BlockLSTM", 1.0, "icfo"), ("BlockLSTMV2", 0.0, "ifco"),
])  # fmt: skip
def test_a_sequence_of_an_lstm(op_type, bias, order, peeps):
    xs, (state, output, *others) = values(TIME, BATCH, INPUTS), weights()
    length = tf.constant(TIME - 1, tf.int64)
    attrs = {"use_peephole": peeps, "cell_clip": 0.0}
    parts = getattr(tf.raw_ops, op_type)(length, xs, state, output, *others, **attrs)
    sources = [xs, state, output, *(others if peeps else (others[0], others[4]))]
    steps = []
    for time in range(TIME - 1):
        state, output = lstm(xs[time], state, output, *others, peeps, bias, order)
        steps.append((state, output))
    zeros = tf.zeros_like(state)
    check(
        [parts[1], parts[6]],
        [tf.stack([*column, zeros]) for column in zip(*steps, strict=True)],
        sources,
    )


def test_a_step_of_a_gru():
    shapes = ((BATCH, INPUTS), (BATCH, STATE), (INPUTS + STATE, 2 * STATE),
              (INPUTS + STATE, STATE), (2 * STATE,), (STATE,))  # fmt: skip
    inputs = [values(*shape) for shape in shapes]
    x, state, w_ru, w_c, b_ru, b_c = inputs
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, state], 1), w_ru) + b_ru), 2, axis=1)
    c = tf.tanh(tf.matmul(tf.concat([x, r * state], 1), w_c) + b_c)
    check([tf.raw_ops.GRUBlockCell(*inputs)[3]], [u * state + (1.0 - u) * c], inputs)


def test_large_numbers_do_not_overflow():
    x = tf.fill([BATCH, INPUTS], 1e4)
    others = [tf.ones_like(tensor) for tensor in weights()]
    with tf.Session() as session:
        output = session.run(tf.raw_ops.LSTMBlockCell(x, *others)[6])
    np.testing.assert_allclose(output, np.full((BATCH, STATE), np.tanh(2.0)), rtol=1e-6)


def test_weights_of_another_size_are_refused():
    others = weights()
    others[2] = values(INPUTS + STATE, 3 * STATE)
    with pytest.raises(ValueError, match="16"):
        tf.raw_ops.LSTMBlockCell(values(BATCH, INPUTS), *others)


def test_the_number_of_steps_is_a_scalar():
    x = values(2, BATCH, INPUTS)
    others = weights()
    parts = tf.raw_ops.BlockLSTM(np.int64(2), x, *others)
    length = tf.placeholder(tf.int64)
    grad = tf.raw_ops.BlockLSTMGrad(
        length, x, *others, *parts, parts[1], parts[6], use_peephole=True
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="rank 0"):
        session.run(grad, {length: [2]})
