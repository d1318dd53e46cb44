"""Models over lists of steps against plain loops, and their variables' names."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

legacy = tf.contrib.legacy_seq2seq
BATCH, UNITS, SYMBOLS = 2, 3, 5


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def random():
    return np.random.RandomState(1)


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def names():
    return sorted(v.op.name for v in tf.global_variables())


class Walk(tf.nn.rnn_cell.RNNCell):
    """A cell without variables: tanh(inputs + state)."""

    state_size = output_size = UNITS

    def call(self, inputs, state):
        new = tf.tanh(inputs + state)
        return new, new


def steps(random, count, *shape):
    return [random.randn(*shape).astype(np.float32) for _ in range(count)]


def test_a_decoder_reads_inputs_or_its_own_outputs(random):
    inputs = steps(random, 3, BATCH, UNITS)
    state = np.zeros((BATCH, UNITS), np.float32)
    for loop in (None, lambda output, number: output * number):
        outputs, last = legacy.rnn_decoder(
            [tf.constant(value) for value in inputs], tf.constant(state), Walk(), loop
        )
        values, final = run([outputs, last])
        expected, read = state, inputs[0]
        for number in range(3):
            if number:
                read = inputs[number] if loop is None else expected * number
            expected = np.tanh(read + expected)
            np.testing.assert_allclose(values[number], expected, rtol=1e-5)
        np.testing.assert_allclose(final, expected, rtol=1e-5)


def test_encoder_and_decoder_have_their_own_or_the_same_variables(random):
    inputs = [tf.constant(value) for value in steps(random, 2, BATCH, UNITS)]
    cell = tf.nn.rnn_cell.GRUCell(UNITS)
    outputs, _ = legacy.basic_rnn_seq2seq(inputs, inputs, cell)
    assert len(outputs) == 2 and len(names()) == 8
    assert "basic_rnn_seq2seq/rnn/gru_cell/gates/kernel" in names()
    assert "basic_rnn_seq2seq/rnn_decoder/gru_cell/gates/kernel" in names()
    with tf.Graph().as_default():
        inputs = [tf.ones([BATCH, UNITS])] * 2
        cell = tf.nn.rnn_cell.GRUCell(UNITS)
        outputs, _ = legacy.tied_rnn_seq2seq(inputs, inputs, cell)
        assert len(names()) == 4
        assert "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/gru_cell/gates/kernel" in names()


@pytest.mark.parametrize("attention", [False, True])
def test_ids_are_fed_back_by_a_tensor_as_by_a_bool(random, attention):
    encoder = [tf.constant(random.randint(0, SYMBOLS, BATCH)) for _ in range(3)]
    decoder = [tf.constant(random.randint(0, SYMBOLS, BATCH)) for _ in range(4)]
    model = legacy.embedding_attention_seq2seq if attention else legacy.embedding_rnn_seq2seq

    def build(feeds, reuse):
        with tf.variable_scope("model", reuse=reuse):
            cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
            return model(encoder, decoder, cell, SYMBOLS, SYMBOLS, 2, feed_previous=feeds)

    feeds = tf.placeholder(tf.bool, [])
    chosen, chosen_state = build(feeds, None)
    fixed = {value: build(value, True)[0] for value in (True, False)}
    assert isinstance(chosen_state, tf.nn.rnn_cell.LSTMStateTuple)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = {}
        for value in (True, False):
            actual, expected = session.run([chosen, fixed[value]], {feeds: value})
            np.testing.assert_allclose(actual, expected, rtol=1e-5)
            assert actual[0].shape == (BATCH, SYMBOLS)
            results[value] = np.array(actual)
    np.testing.assert_allclose(results[True][0], results[False][0])  # the first input is read
    assert not np.allclose(results[True], results[False])
    gradients = tf.gradients(tf.add_n(fixed[False]), tf.trainable_variables())
    assert all(gradient is not None for gradient in gradients)


def test_attention_is_over_all_states(random):
    states = random.randn(BATCH, 4, 2).astype(np.float32)
    inputs = steps(random, 2, BATCH, UNITS)
    outputs, _ = legacy.attention_decoder(
        [tf.constant(value) for value in inputs],
        tf.zeros([BATCH, UNITS]),
        tf.constant(states),
        Walk(),
        output_size=2,
    )
    values, v = run([outputs, {v.op.name: v for v in tf.global_variables()}])
    v = {name.removeprefix("attention_decoder/"): value for name, value in v.items()}
    assert set(v) == {
        "AttnV_0", "AttnW_0", "kernel", "bias", "Attention_0/kernel", "Attention_0/bias",
        "AttnOutputProjection/kernel", "AttnOutputProjection/bias",
    }  # fmt: skip
    features = states @ v["AttnW_0"][0, 0]
    state = np.zeros((BATCH, UNITS), np.float32)
    attended = np.zeros((BATCH, 2), np.float32)
    for number in range(2):
        read = np.concatenate([inputs[number], attended], 1) @ v["kernel"] + v["bias"]
        state = np.tanh(read + state)
        query = state @ v["Attention_0/kernel"] + v["Attention_0/bias"]
        score = np.tanh(features + query[:, None]) @ v["AttnV_0"]
        weights = np.exp(score) / np.exp(score).sum(1, keepdims=True)
        attended = np.einsum("bt,btu->bu", weights, states)
        joined = np.concatenate([state, attended], 1)
        expected = joined @ v["AttnOutputProjection/kernel"] + v["AttnOutputProjection/bias"]
        np.testing.assert_allclose(values[number], expected, rtol=1e-4, atol=1e-6)


def test_losses_of_steps(random):
    logits = steps(random, 3, BATCH, SYMBOLS)
    targets = [random.randint(0, SYMBOLS, BATCH) for _ in range(3)]
    weights = [np.array(w, np.float32) for w in ([1, 1], [1, 0], [0.5, 0])]
    losses = []
    for logit, target, weight in zip(logits, targets, weights):
        log_probs = logit - np.log(np.exp(logit).sum(1, keepdims=True))
        losses.append(-log_probs[np.arange(BATCH), target] * weight)
    total = np.sum(losses, 0)
    average = total / np.sum(weights, 0)
    cases = [
        (legacy.sequence_loss_by_example(logits, targets, weights), average),
        (legacy.sequence_loss_by_example(logits, targets, weights, False), total),
        (legacy.sequence_loss(logits, targets, weights), average.mean()),
        (legacy.sequence_loss(logits, targets, weights, average_across_batch=False), average.sum()),
    ]
    for loss, expected in cases:
        np.testing.assert_allclose(run(loss), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Lengths of logits, weights, and targets must be"):
        legacy.sequence_loss_by_example(logits, targets[:2], weights)


def test_buckets_share_one_model(random):
    inputs = [tf.constant(random.randint(0, SYMBOLS, BATCH)) for _ in range(4)]
    weights = [tf.ones([BATCH])] * 4

    def model(encoder, decoder):
        cell = tf.nn.rnn_cell.GRUCell(UNITS)
        return legacy.embedding_rnn_seq2seq(encoder, decoder, cell, SYMBOLS, SYMBOLS, 2)

    outputs, losses = legacy.model_with_buckets(
        inputs, inputs, inputs, weights, [(2, 2), (3, 4)], model
    )
    assert [len(steps) for steps in outputs] == [2, 4]
    count = len(names())
    with tf.Graph().as_default():
        ones = [tf.zeros([BATCH], tf.int32)] * 4
        model(ones, ones)
        assert len(names()) == count
    assert all(np.isfinite(run(losses)))
    with pytest.raises(ValueError, match="must be at least that of last bucket"):
        legacy.model_with_buckets(inputs, inputs, inputs, weights, [(5, 2)], model)


def test_refusals():
    states = tf.zeros([BATCH, 2, 2])
    with pytest.raises(ValueError, match="Must provide at least 1 input"):
        legacy.attention_decoder([], tf.zeros([BATCH, UNITS]), states, Walk())
    with pytest.raises(ValueError, match="With less than 1 heads"):
        legacy.attention_decoder([1], tf.zeros([BATCH, UNITS]), states, Walk(), num_heads=0)
