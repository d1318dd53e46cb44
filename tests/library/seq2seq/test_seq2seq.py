"""Decoders, attention and beam search against plain loops over NumPy arrays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gpugraph as tf

s2s = tf.contrib.seq2seq
BATCH, TIME, UNITS, CLASSES = 3, 5, 4, 6


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def random():
    return np.random.RandomState(0)


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Walk(tf.nn.rnn_cell.RNNCell):
    """A cell without variables: tanh(inputs + state)."""

    state_size = output_size = UNITS

    def call(self, inputs, state):
        new = tf.tanh(inputs + state)
        return new, new


def test_training_reads_the_inputs_up_to_each_length(random):
    inputs = random.randn(BATCH, TIME, UNITS).astype(np.float32)
    lengths = [5, 2, 0]
    helper = s2s.TrainingHelper(inputs, lengths)
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([BATCH, UNITS]))
    outputs, state, read = s2s.dynamic_decode(decoder, impute_finished=True)
    value, last, ends = run([outputs, state, read])
    expected = np.zeros((BATCH, TIME, UNITS), np.float32)
    states = np.zeros((BATCH, UNITS), np.float32)
    for entry, time in itertools.product(range(BATCH), range(TIME)):
        if time < lengths[entry]:
            states[entry] = np.tanh(inputs[entry, time] + states[entry])
            expected[entry, time] = states[entry]
    np.testing.assert_allclose(value.rnn_output, expected, rtol=1e-5)
    np.testing.assert_allclose(last, states, rtol=1e-5)
    assert value.sample_id.dtype == np.int32
    assert ends.tolist() == lengths
    assert np.array_equal(value.sample_id[0], expected[0].argmax(-1))


def test_time_major_and_a_limit(random):
    inputs = random.randn(TIME, BATCH, UNITS).astype(np.float32)
    helper = s2s.TrainingHelper(inputs, [TIME] * BATCH, time_major=True)
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([BATCH, UNITS]))
    outputs, _, lengths = s2s.dynamic_decode(decoder, output_time_major=True, maximum_iterations=3)
    value, ends = run([outputs.rnn_output, lengths])
    assert value.shape == (3, BATCH, UNITS) and ends.tolist() == [3] * BATCH


def test_gradients_flow_through_a_decoder(random):
    inputs = tf.constant(random.randn(BATCH, TIME, UNITS).astype(np.float32))
    helper = s2s.TrainingHelper(inputs, [TIME] * BATCH)
    layer = tf.layers.Dense(CLASSES)
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([BATCH, UNITS]), output_layer=layer)
    outputs, _, _ = s2s.dynamic_decode(decoder)
    assert outputs.rnn_output.shape.as_list()[-1] == CLASSES
    direct, _ = tf.nn.dynamic_rnn(Walk(), inputs, dtype=tf.float32)
    slopes = [tf.gradients(layer(values), inputs)[0] for values in (direct,)]
    slopes.append(tf.gradients(outputs.rnn_output, inputs)[0])
    expected, actual = run(slopes)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("embedding", ["table", "function"])
def test_greedy_decoding_ends_at_the_end_token(random, embedding):
    table = random.randn(CLASSES, UNITS).astype(np.float32) * 2
    kernel = random.randn(UNITS, CLASSES).astype(np.float32)
    read = table if embedding == "table" else lambda ids: tf.gather(table, ids)
    layer = tf.layers.Dense(
        CLASSES, use_bias=False, kernel_initializer=tf.constant_initializer(kernel)
    )
    helper = s2s.GreedyEmbeddingHelper(read, [0, 1, 2], end_token=3)
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([3, UNITS]), layer)
    outputs, _, lengths = s2s.dynamic_decode(decoder, maximum_iterations=8)
    ids, ends = run([outputs.sample_id, lengths])
    for entry in range(3):
        state, token, expected = np.zeros(UNITS, np.float32), entry, []
        for _ in range(8):
            state = np.tanh(table[token] + state)
            token = int((state @ kernel).argmax())
            expected.append(token)
            if token == 3:
                break
        assert ids[entry, : len(expected)].tolist() == expected
        assert ends[entry] == len(expected)


def test_sampling_draws_by_the_probabilities():
    logits = np.log([[0.1, 0.2, 0.7]] * 2000).astype(np.float32)
    helper = s2s.SampleEmbeddingHelper(np.zeros((3, 1), np.float32), [0] * 2000, 5, seed=1)
    ids = run(helper.sample(0, tf.constant(logits), None))
    np.testing.assert_allclose(np.bincount(ids) / 2000, [0.1, 0.2, 0.7], atol=0.04)
    cold = s2s.SampleEmbeddingHelper(
        np.zeros((3, 1), np.float32), [0] * 2000, 5, softmax_temperature=0.01, seed=1
    )
    assert set(run(cold.sample(0, tf.constant(logits), None))) == {2}
    with pytest.raises(TypeError, match="Expected outputs to be a single Tensor"):
        helper.sample(0, [1], None)


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_sampling_reads_inputs_or_samples(random, probability):
    inputs = random.randn(BATCH, TIME, UNITS).astype(np.float32)
    table = random.randn(UNITS, UNITS).astype(np.float32)
    helper = s2s.ScheduledEmbeddingTrainingHelper(inputs, [TIME] * BATCH, table, probability)
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([BATCH, UNITS]))
    outputs, _, _ = s2s.dynamic_decode(decoder)
    value = run(outputs)
    read, state = inputs[:, 0], np.zeros((BATCH, UNITS), np.float32)
    for time in range(TIME):
        state = np.tanh(read + state)
        np.testing.assert_allclose(value.rnn_output[:, time], state, rtol=1e-4, atol=1e-6)
        ids = value.sample_id[:, time]
        assert np.all(ids >= 0) if probability else np.all(ids == -1)
        if time + 1 < TIME:
            read = table[ids] if probability else inputs[:, time + 1]


def test_custom_and_inference_helpers():
    helper = s2s.InferenceHelper(
        lambda outputs: outputs, [UNITS], tf.float32, tf.ones([2, UNITS]),
        lambda ids: tf.reduce_all(ids > 0.99, axis=1),
    )  # fmt: skip
    decoder = s2s.BasicDecoder(Walk(), helper, tf.zeros([2, UNITS]))
    value = run(s2s.dynamic_decode(decoder, maximum_iterations=6)[0].rnn_output)
    np.testing.assert_allclose(value[0, :2, 0], np.tanh([1, 2 * np.tanh(1)]), rtol=1e-5)
    custom = s2s.CustomHelper(
        lambda: (tf.zeros([2], tf.bool), tf.ones([2, UNITS])),
        lambda time, outputs, state: tf.zeros([2], tf.int32),
        lambda time, outputs, state, sample_ids: (tf.fill([2], time >= 1), outputs, state),
    )
    with pytest.raises(ValueError, match="before initialize"):
        _ = custom.batch_size
    _, _, lengths = s2s.dynamic_decode(s2s.BasicDecoder(Walk(), custom, tf.zeros([2, UNITS])))
    assert run(lengths).tolist() == [2, 2]


@pytest.mark.parametrize("kind", ["bahdanau", "normed", "luong", "scaled"])
def test_alignments(random, kind):
    memory = random.randn(BATCH, TIME, 3).astype(np.float32)
    query = random.randn(BATCH, UNITS).astype(np.float32)
    inside = np.arange(TIME) < np.array([5, 3, 1])[:, None]
    if kind in ("bahdanau", "normed"):
        mechanism = s2s.BahdanauAttention(UNITS, memory, [5, 3, 1], normalize=kind == "normed")
    else:
        mechanism = s2s.LuongAttention(UNITS, memory, [5, 3, 1], scale=kind == "scaled")
    alignments, state = mechanism(tf.constant(query), mechanism.initial_state(BATCH, tf.float32))
    variables = {v.op.name: v for v in tf.global_variables()}
    weights, following, v = run([alignments, state, variables])
    keys = (memory * inside[..., None]) @ v["memory_layer/kernel"]
    if kind == "bahdanau":
        added = np.tanh(keys + (query @ v["bahdanau_attention/query_layer/kernel"])[:, None])
        score = added @ v["bahdanau_attention/attention_v"]
    elif kind == "normed":
        unit = v["bahdanau_attention/attention_v"]
        unit = v["bahdanau_attention/attention_g"] * unit / np.linalg.norm(unit)
        bias = v["bahdanau_attention/attention_b"]
        score = (
            np.tanh(keys + (query @ v["bahdanau_attention/query_layer/kernel"])[:, None] + bias)
            @ unit
        )
        assert v["bahdanau_attention/attention_g"] == np.float32(0.5)
    else:
        score = np.einsum("btu,bu->bt", keys, query)
    expected = softmax(np.where(inside, score, -np.inf))
    np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-6)
    assert np.array_equal(weights, following)
    assert ("luong_attention/attention_g" in v) == (kind == "scaled")


def test_a_wrapped_cell_reads_what_it_attended_to(random):
    memory = random.randn(BATCH, TIME, UNITS).astype(np.float32)
    inputs = random.randn(BATCH, 2, UNITS).astype(np.float32)
    mechanism = s2s.LuongAttention(UNITS, memory)
    cell = s2s.AttentionWrapper(
        Walk(),
        mechanism,
        attention_layer_size=UNITS,
        alignment_history=True,
        cell_input_fn=lambda inputs, attention: inputs + attention,
    )
    assert cell.output_size == UNITS
    helper = s2s.TrainingHelper(inputs, [2] * BATCH)
    decoder = s2s.BasicDecoder(cell, helper, cell.zero_state(BATCH, tf.float32))
    outputs, state, _ = s2s.dynamic_decode(decoder)
    variables = {v.op.name: v for v in tf.global_variables()}
    history = state.alignment_history.stack()
    value, weights, time, v = run([outputs.rnn_output, history, state.time, variables])
    keys = memory @ v["memory_layer/kernel"]
    layer = v["decoder/attention_wrapper/attention_layer/kernel"]
    attention = cell_state = np.zeros((BATCH, UNITS), np.float32)
    for step in range(2):
        cell_state = np.tanh(inputs[:, step] + attention + cell_state)
        alignments = softmax(np.einsum("btu,bu->bt", keys, cell_state))
        context = np.einsum("bt,btu->bu", alignments, memory)
        attention = np.concatenate([cell_state, context], 1) @ layer
        np.testing.assert_allclose(weights[step], alignments, rtol=1e-4)
        np.testing.assert_allclose(value[:, step], attention, rtol=1e-4, atol=1e-6)
    assert time == 2


def test_several_mechanisms_join_their_attentions(random):
    memory = tf.constant(random.randn(BATCH, TIME, UNITS).astype(np.float32))
    mechanisms = [s2s.LuongAttention(UNITS, memory), s2s.BahdanauAttention(UNITS, memory)]
    cell = s2s.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), mechanisms, output_attention=False)
    state = cell.zero_state(BATCH, tf.float32)
    output, following = cell(tf.zeros([BATCH, 1]), state)
    shapes = [value.shape.as_list() for value in (output, following.attention)]
    assert shapes == [[BATCH, UNITS], [BATCH, 2 * UNITS]]
    assert len(following.alignments) == 2
    assert np.all(np.isfinite(run(following.attention)))


def test_refusals_of_attention(random):
    memory = np.zeros((BATCH, TIME, UNITS), np.float32)
    mechanism = s2s.LuongAttention(3, memory)
    with pytest.raises(ValueError, match="Incompatible or unknown inner dimensions"):
        mechanism(tf.zeros([BATCH, UNITS]), None)
    with pytest.raises(TypeError, match="must be an AttentionMechanism or list of multiple"):
        s2s.AttentionWrapper(Walk(), "attention")
    with pytest.raises(TypeError, match="must contain only instances of AttentionMechanism"):
        s2s.AttentionWrapper(Walk(), ["attention"])
    with pytest.raises(ValueError, match="exactly one integer per attention_mechanism"):
        s2s.AttentionWrapper(Walk(), [mechanism, mechanism], attention_layer_size=[3])
    cell = s2s.AttentionWrapper(Walk(), mechanism)
    with pytest.raises(TypeError, match="Expected state to be instance of AttentionWrapperState"):
        cell(tf.zeros([BATCH, UNITS]), tf.zeros([BATCH, UNITS]))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="Non-matching batch"):
        run(cell.zero_state(2 * BATCH, tf.float32).cell_state)


class Table(tf.nn.rnn_cell.RNNCell):
    """A cell with a table of the log probabilities of the next id by the last two."""

    state_size, output_size = 1, CLASSES

    def __init__(self, log_probs):
        super().__init__()
        self.log_probs = tf.constant(log_probs)

    def call(self, inputs, state):
        last = tf.cast(inputs[:, 0], tf.int32)
        before = tf.cast(state[:, 0], tf.int32)
        return tf.gather_nd(self.log_probs, tf.stack([before, last], 1)), inputs


def searched(log_probs, start, end, width, steps, weight=0.0):
    """Return the best sequences by plain Python: a beam of (scores, sequences)."""
    beams = [(0.0, [start])]
    for _ in range(steps):
        candidates = []
        for total, ids in beams:
            if ids[-1] == end and len(ids) > 1:
                candidates.append((total, ids))
                continue
            before = ids[-2] if len(ids) > 1 else 0
            for token, value in enumerate(log_probs[before, ids[-1]]):
                candidates.append((total + value, [*ids, token]))

        def score(candidate):
            length = sum(token != end for token in candidate[1][1:])
            return candidate[0] / ((5 + length) / 6) ** weight

        beams = sorted(candidates, key=score, reverse=True)[:width]
    return [ids[1:] for _, ids in beams]


@pytest.mark.parametrize("width, weight", [(1, 0.0), (3, 0.0), (4, 0.7)])
def test_beam_search_finds_what_plain_python_finds(random, width, weight):
    end, steps, starts = 5, 4, [0, 2, 3]
    log_probs = np.log(softmax(2 * random.randn(CLASSES, CLASSES, CLASSES))).astype(np.float32)
    state = s2s.tile_batch(tf.zeros([3, 1]), width)
    decoder = s2s.BeamSearchDecoder(
        Table(log_probs),
        lambda ids: tf.cast(tf.expand_dims(ids, -1), tf.float32),
        starts,
        end,
        state,
        width,
        length_penalty_weight=weight,
    )
    outputs, final, _ = s2s.dynamic_decode(decoder, maximum_iterations=steps)
    ids, finished = run([outputs.predicted_ids, final.finished])
    assert ids.shape[0] == 3 and ids.shape[2] == width and finished.shape == (3, width)
    for entry, start in enumerate(starts):
        expected = searched(log_probs.astype(np.float64), start, end, width, steps, weight)
        for beam, sequence in enumerate(expected):
            assert ids[entry, : len(sequence), beam].tolist() == sequence, (entry, beam)


def test_gather_tree_follows_the_parents():
    steps = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]]
    beams = run(s2s.gather_tree(steps, parents, max_sequence_lengths=[3], end_token=10))
    assert beams[:, 0].tolist() == [[2, 2, 2], [6, 5, 6], [7, 8, 9], [10, 10, 10]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid parent id"):
        run(s2s.gather_tree(steps, [[[0, 0, 0]], [[0, 7, 1]], *parents[2:]], [3], 10))


def test_tile_batch_repeats_each_entry():
    tiled = s2s.tile_batch((tf.constant([[1], [2]]), tf.constant([3])), 2)
    first, second = run(tiled)
    assert first.tolist() == [[1], [1], [2], [2]] and second.tolist() == [3, 3]
    assert tiled[0].shape == [4, 1]
    for tensor in (tf.constant(3), tf.placeholder(tf.int32)):
        with pytest.raises(ValueError, match="t must have statically known rank"):
            s2s.tile_batch(tensor, 2)


@pytest.mark.parametrize(
    "options, reduce",
    [
        ({}, lambda x, w: x.sum() / w.sum()),
        ({"average_across_batch": False}, lambda x, w: x.sum(1) / w.sum(1)),
        ({"average_across_timesteps": False}, lambda x, w: x.sum(0) / w.sum(0)),
        ({"average_across_timesteps": False, "average_across_batch": False}, lambda x, w: x),
        (
            {
                "average_across_timesteps": False,
                "average_across_batch": False,
                "sum_over_timesteps": True,
                "sum_over_batch": True,
            },
            lambda x, w: x.sum() / (w != 0).sum(),
        ),
    ],
)
def test_sequence_loss(random, options, reduce):
    logits = random.randn(2, TIME, CLASSES).astype(np.float32)
    targets = random.randint(0, CLASSES, (2, TIME))
    weights = random.rand(2, TIME).astype(np.float32)
    weights[1, 3:] = 0
    picked = np.take_along_axis(np.log(softmax(logits)), targets[..., None], 2)[..., 0]
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(reduce(-picked * weights, weights))
    loss = s2s.sequence_loss(logits, targets, weights, **options)
    np.testing.assert_allclose(run(loss), expected, rtol=1e-4, atol=1e-6)


def test_refusals_of_the_loss():
    with pytest.raises(ValueError, match="Logits must be a"):
        s2s.sequence_loss(tf.zeros([2, 3]), tf.zeros([2, 3], tf.int32), tf.ones([2, 3]))
    with pytest.raises(ValueError, match="cannot be set to True at same time"):
        values = tf.zeros([2, 3, 4]), tf.zeros([2, 3], tf.int32), tf.ones([2, 3])
        s2s.sequence_loss(*values, sum_over_batch=True)


def test_refusals_of_decoders():
    with pytest.raises(TypeError, match="Expected decoder to be type Decoder"):
        s2s.dynamic_decode(None)
    with pytest.raises(TypeError, match="helper must be a Helper"):
        s2s.BasicDecoder(Walk(), None, None)
    with pytest.raises(ValueError, match="Expected sequence_length to be a vector"):
        s2s.TrainingHelper(tf.zeros([2, 3, 4]), 3)
    with pytest.raises(ValueError, match="start_tokens must be a vector"):
        s2s.GreedyEmbeddingHelper(tf.zeros([2, 3]), 1, 1)
    state, table = tf.zeros([2, UNITS]), tf.zeros([3, UNITS])
    with pytest.raises(TypeError, match="output_layer must be a Layer"):
        s2s.BeamSearchDecoder(Walk(), table, [1], 1, state, 2, output_layer=tf.identity)
    decoder = s2s.BeamSearchDecoder(Walk(), table, [1], 1, state, 2, coverage_penalty_weight=0.1)
    with pytest.raises(ValueError, match=r"coverage_penalty_weight must be 0.0 if no cell is"):
        s2s.dynamic_decode(decoder)
    with pytest.raises(ValueError, match="Unexpected behavior when reshaping between beam width"):
        s2s.BeamSearchDecoder(Walk(), table, [1], 1, tf.zeros([2, UNITS + 1]), 2)


def test_steps_are_put_into_the_order_of_the_final_beams():
    values = np.arange(12, dtype=np.float32).reshape(3, 1, 2, 2)
    parents = np.array([[[0, 0]], [[1, 0]], [[1, 0]]], np.int32)
    ordered = tf.contrib.seq2seq.gather_tree_from_array(values, parents, [[3, 2]])
    with tf.Session() as session:
        result = session.run(ordered)
    expected = values.copy()
    for beam, length in ((0, 3), (1, 2)):
        parent = beam
        for time in (2, 1, 0):
            expected[time, 0, beam] = values[time, 0, parent if time < length else beam]
            parent = parents[time, 0, parent]
    np.testing.assert_array_equal(result, expected)
