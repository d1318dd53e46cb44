"""Lengths, shapes and finished sequences of `dynamic_decode`, for all decoders and helpers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gpugraph as tf

s2s = tf.contrib.seq2seq
UNITS, IDS, END = 4, 6, 5


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


class Count(tf.nn.rnn_cell.RNNCell):
    """A cell whose state counts its steps, and whose output is the state."""

    state_size = output_size = UNITS

    def call(self, inputs, state):
        return state + 1.0, state + 1.0


def given(lengths):
    """Return a helper whose sequence i ends after lengths[i] steps."""
    return s2s.CustomHelper(
        lambda: (tf.equal(lengths, 0), tf.zeros([len(lengths), 1])),
        lambda time, outputs, state: tf.cast(outputs[:, 0], tf.int32),
        lambda time, outputs, state, sample_ids: (
            time + 1 >= lengths,
            tf.zeros([len(lengths), 1]),
            state,
        ),
    )


def training(helper, **options):
    def make(lengths):
        return helper(tf.zeros([len(lengths), 9, UNITS]), lengths, **options)

    return make


def inference(lengths):
    return s2s.InferenceHelper(
        lambda outputs: outputs,
        [UNITS],
        tf.float32,
        tf.zeros([len(lengths), UNITS]),
        lambda ids: ids[:, 0] >= tf.cast(tf.maximum(lengths, 1), tf.float32),
    )


def embedding(helper):
    """Sequence i ends with the id END after lengths[i] steps: the cell counts from 0."""

    def make(lengths):
        return helper(lambda ids: tf.zeros([len(lengths), 1]), [0] * len(lengths), END)

    return make


class Logits(tf.layers.Layer):
    """Logits that are END's where the counter has reached the sequence's length."""

    def __init__(self, lengths):
        super().__init__()
        self.lengths = tf.cast(tf.maximum(lengths, 1), tf.float32)

    def call(self, outputs):
        ids = tf.where(outputs[:, 0] >= self.lengths, END + 0 * self.lengths, 0 * self.lengths)
        return 100.0 * tf.one_hot(tf.cast(ids, tf.int32), IDS)

    def compute_output_shape(self, shape):
        return tf.TensorShape(shape)[:-1].concatenate(IDS)


HELPERS = {
    "custom": given,
    "training": training(s2s.TrainingHelper),
    "scheduled embedding": training(
        s2s.ScheduledEmbeddingTrainingHelper,
        embedding=np.zeros((IDS, UNITS), np.float32),
        sampling_probability=0.5,
    ),
    "scheduled output": training(s2s.ScheduledOutputTrainingHelper, sampling_probability=0.5),
    "inference": inference,
    "greedy": embedding(s2s.GreedyEmbeddingHelper),
    "sample": embedding(s2s.SampleEmbeddingHelper),
}
STARTS_EMPTY = ("custom", "training", "scheduled embedding", "scheduled output")


@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.parametrize("impute", [False, True])
@pytest.mark.parametrize("limit", [None, 1, 3, 5, 9])
def test_outputs_are_as_long_as_the_longest_sequence(name, impute, limit):
    lengths = np.array([2, 5, 0], np.int32)
    helper = HELPERS[name](lengths)
    layer = Logits(lengths) if name in ("greedy", "sample") else None
    decoder = s2s.BasicDecoder(Count(), helper, tf.zeros([3, UNITS]), layer)
    results = []
    for time_major, swap in ((True, False), (False, True)):
        results += s2s.dynamic_decode(
            decoder,
            output_time_major=time_major,
            impute_finished=impute,
            maximum_iterations=limit,
            swap_memory=swap,
        )
    major, state, ends, minor, _, _ = run(results)
    ended = lengths if name in STARTS_EMPTY else np.maximum(lengths, 1)
    steps = min(5, limit or 5)
    assert ends.dtype == np.int32 and ends.tolist() == np.minimum(ended, steps).tolist()
    assert results[0].rnn_output.shape.as_list() == [None, 3, IDS if layer else UNITS]
    assert results[3].rnn_output.shape.as_list() == [3, None, IDS if layer else UNITS]
    if name != "scheduled output":  # the number of its draws depends on a scalar of the loop
        assert results[0].sample_id.shape.as_list()[:2] == [None, 3]
    assert results[2].shape.as_list() == [3]
    assert major.rnn_output.shape[0] == minor.rnn_output.shape[1] == steps
    np.testing.assert_array_equal(major.rnn_output, minor.rnn_output.swapaxes(0, 1))
    inside = np.arange(steps)[:, None] < ended
    if layer is None:
        counted = np.broadcast_to(np.arange(1, steps + 1)[:, None], (steps, 3))
        counted = np.where(inside, counted, 0) if impute else counted
        np.testing.assert_array_equal(major.rnn_output[..., 0], counted)
    elif impute:
        assert not major.rnn_output[~inside].any() and not major.sample_id[~inside].any()
    last = np.minimum(ended, steps) if impute else [steps] * 3
    np.testing.assert_array_equal(state[:, 0], last)


@pytest.mark.parametrize("limit", [0, -1])
def test_no_step_at_all(limit):
    decoder = s2s.BasicDecoder(Count(), given(np.array([2, 3])), tf.zeros([2, UNITS]))
    outputs, state, ends = run(s2s.dynamic_decode(decoder, maximum_iterations=limit))
    assert outputs.rnn_output.shape == (2, 0, UNITS) and outputs.sample_id.shape == (2, 0)
    assert not state.any() and ends.tolist() == [0, 0]


def test_a_loss_of_decoded_steps_takes_targets_as_long():
    lengths = [2, 4]
    decoder = s2s.BasicDecoder(Count(), given(np.array(lengths)), tf.zeros([2, UNITS]))
    outputs, _, ends = s2s.dynamic_decode(decoder, maximum_iterations=10)
    weights = tf.sequence_mask(ends, dtype=tf.float32)
    targets = tf.zeros([2, 4], tf.int32)
    loss = run(s2s.sequence_loss(outputs.rnn_output, targets, weights))
    assert loss == pytest.approx(np.log(UNITS), rel=1e-5)


def test_the_batch_may_be_open():
    batch = tf.placeholder(tf.float32, [None, None, UNITS])
    lengths = tf.placeholder(tf.int32, [None])
    cell = Count()
    state = cell.zero_state(tf.shape(lengths)[0], tf.float32)
    decoder = s2s.BasicDecoder(cell, s2s.TrainingHelper(batch, lengths), state)
    outputs, last, ends = s2s.dynamic_decode(decoder, impute_finished=True, maximum_iterations=8)
    assert outputs.rnn_output.shape.as_list() == [None, None, UNITS]
    assert outputs.sample_id.shape.as_list() == [None, None]
    feeds = {batch: np.zeros((2, 6, UNITS)), lengths: [6, 1]}
    value, state, read = run([outputs, last, ends], feeds)
    assert value.rnn_output.shape == (2, 6, UNITS) and read.tolist() == [6, 1]
    np.testing.assert_array_equal(state[:, 0], [6, 1])


def test_a_cell_may_declare_another_size_than_it_has():
    """An `output_size` that is a number does not bind outputs: only shapes do."""

    class Wide(Count):
        def call(self, inputs, state):
            return tf.concat([state, state], 1), state + 1.0

    decoder = s2s.BasicDecoder(Wide(), given(np.array([2])), tf.zeros([1, UNITS]))
    outputs, _, _ = s2s.dynamic_decode(decoder)
    assert run(outputs.rnn_output).shape == (1, 2, 2 * UNITS)


def test_each_decoding_without_a_scope_has_its_own():
    memory = tf.zeros([2, 3, UNITS])
    for _ in range(2):
        cell = s2s.AttentionWrapper(Count(), s2s.LuongAttention(UNITS, memory), UNITS)
        state = cell.zero_state(2, tf.float32)
        s2s.dynamic_decode(s2s.BasicDecoder(cell, given(np.array([1, 1])), state))
    names = {variable.op.name for variable in tf.global_variables()}
    layers = {name for name in names if "attention_layer" in name}
    wrapper = "attention_wrapper/attention_layer/kernel"
    assert layers == {f"decoder/{wrapper}", f"decoder_1/{wrapper}"}


def test_what_finalize_raises_as_not_implemented_is_ignored():
    class Own(s2s.BasicDecoder):
        def finalize(self, outputs, final_state, sequence_lengths):
            return super().finalize(outputs, final_state, sequence_lengths)

    decoder = Own(Count(), given(np.array([2])), tf.zeros([1, UNITS]))
    assert run(s2s.dynamic_decode(decoder)[2]).tolist() == [2]


def test_inputs_of_scheduled_outputs_have_what_goes_with_them():
    rng = np.random.RandomState(0)
    inputs, auxiliary = rng.rand(2, 3, UNITS), rng.rand(2, 3, 2)
    read = []

    class Reader(Count):
        def call(self, inputs, state):
            read.append(inputs.shape.as_list())
            return inputs[:, :UNITS] + 1.0, tf.concat([state[:, 2:], inputs[:, UNITS:]], 1)

    for probability, time_major in itertools.product([0.0, 1.0], [False, True]):
        given_inputs, added = inputs, auxiliary
        if time_major:
            given_inputs, added = inputs.swapaxes(0, 1), auxiliary.swapaxes(0, 1)
        helper = s2s.ScheduledOutputTrainingHelper(
            given_inputs.astype(np.float32),
            [3, 3],
            probability,
            time_major=time_major,
            auxiliary_inputs=added.astype(np.float32),
        )
        decoder = s2s.BasicDecoder(Reader(), helper, tf.zeros([2, UNITS]))
        outputs, state, _ = run(s2s.dynamic_decode(decoder))
        expected = inputs + 1.0
        if probability:
            expected = inputs[:, :1] + np.arange(1.0, 4.0)[:, None]
        np.testing.assert_allclose(outputs.rnn_output, expected, rtol=1e-5)
        np.testing.assert_allclose(state, auxiliary[:, 1:].reshape(2, 4), rtol=1e-5)
    assert set(map(tuple, read)) == {(2, UNITS + 2)}


@pytest.mark.parametrize("limit", [None, 6, 20])
@pytest.mark.parametrize("time_major", [False, True])
def test_a_beam_search_is_as_long_as_its_longest_beam(limit, time_major):
    """All beams end by themselves: the only id that is likely after four steps is END."""
    width, starts = 3, [1, 2]

    class Ending(Count):
        output_size = IDS

        def call(self, inputs, state):
            ends = 100.0 * tf.one_hot(tf.fill([tf.shape(state)[0]], END), IDS)
            open_ = tf.random.stateless_uniform(tf.shape(ends), [1, 2])
            return tf.where(state[:, 0] >= 3, ends, open_ - ends), state + 1.0

    decoder = s2s.BeamSearchDecoder(
        Ending(), np.zeros((IDS, 1), np.float32), starts, END, tf.zeros([6, UNITS]), width
    )
    outputs, state, ends = s2s.dynamic_decode(
        decoder, output_time_major=time_major, maximum_iterations=limit
    )
    assert outputs.predicted_ids.shape.as_list() == (
        [None, 2, width] if time_major else [2, None, width]
    )
    assert state.cell_state.shape.as_list() == [2, width, UNITS]
    value, final, ends = run([outputs, state, ends])
    steps = value.beam_search_decoder_output.scores
    assert value.predicted_ids.shape == steps.shape == ((4, 2, 3) if time_major else (2, 4, 3))
    assert final.lengths.tolist() == [[4] * width] * 2 and ends.shape == (2, width)


def test_alignments_of_beams_come_in_their_order():
    """A history of an open size is a tensor of the stacked array's shape; of a known, an array."""
    width, batch = 2, 3
    for steps in (None, 5):
        memory = tf.placeholder_with_default(tf.ones([batch, 5, UNITS]), [batch, steps, UNITS])
        memory = s2s.tile_batch(memory, width)
        mechanism = s2s.LuongAttention(UNITS, memory, s2s.tile_batch(tf.constant([5, 3, 1]), width))
        cell = s2s.AttentionWrapper(Count(), mechanism, alignment_history=True)
        state = cell.zero_state(batch * width, tf.float32)
        decoder = s2s.BeamSearchDecoder(
            cell,
            np.eye(IDS, 1, dtype=np.float32),
            [0] * batch,
            END,
            state,
            width,
            output_layer=tf.layers.Dense(IDS),
            length_penalty_weight=0.3,
            coverage_penalty_weight=0.2,
        )
        outputs, final, _ = s2s.dynamic_decode(decoder, maximum_iterations=4)
        history = final.cell_state.alignment_history
        if steps is not None:
            assert isinstance(history, tf.TensorArray)
            history = history.stack()
        value, ids, attended, lengths = run(
            [history, outputs.predicted_ids, final.accumulated_attention_probs, final.lengths]
        )
        assert value.shape == (ids.shape[1], batch * width, 5)
        np.testing.assert_allclose(value.sum(-1), 1.0, rtol=1e-5)
        assert attended.shape == (batch, width, 5)
        np.testing.assert_allclose(attended.sum(-1), lengths, rtol=1e-5)


def test_coverage_and_length_penalties_of_finished_beams():
    decoder = s2s.BeamSearchDecoder(
        Count(), np.zeros((IDS, 1), np.float32), [0], END, tf.zeros([2, UNITS]), 2,
        length_penalty_weight=0.5, coverage_penalty_weight=0.7,
    )  # fmt: skip
    attended = np.array([[[0.5, 2.0, 0.0], [0.25, 0.5, 0.125]]], np.float32)
    penalty, length = run(
        [
            decoder._coverage_penalty(tf.constant(attended), tf.constant([[True, False]])),
            decoder._length_penalty(tf.constant([7, 1], tf.int64), tf.float32),
        ]
    )
    np.testing.assert_allclose(penalty, [[[0.7 * np.log(0.5)], [0.0]]], rtol=1e-6)
    np.testing.assert_allclose(length, [2**0.5, 1.0], rtol=1e-6)


def test_an_empty_memory_is_an_error():
    memory = tf.ones([2, 3, UNITS])
    lengths = tf.placeholder(tf.int32, [2])
    mechanism = s2s.BahdanauAttention(UNITS, memory, memory_sequence_length=lengths)
    alignments, _ = mechanism(tf.ones([2, UNITS]), None)
    message = "All values in memory_sequence_length must be greater than zero"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(alignments, {lengths: [2, 0]})
    np.testing.assert_allclose(run(alignments, {lengths: [1, 3]}).sum(1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("kind", [s2s.LuongAttention, s2s.BahdanauAttention])
def test_keys_and_values_of_a_program(kind):
    memory = tf.ones([2, 3, UNITS])
    mechanism = kind(UNITS, memory, custom_key_value_fn=lambda k, v: (2.0 * k, v[:, :, :2]))
    assert mechanism.values.shape == [2, 3, 2] and mechanism.dtype is tf.float32
    cell = s2s.AttentionWrapper(Count(), mechanism)
    assert cell.output_size == 2 and cell.state_size.time == tf.TensorShape([])


def test_states_of_another_batch_are_refused():
    mechanism = s2s.LuongAttention(UNITS, tf.ones([2, 3, UNITS]))
    for batch in (3, 2):
        state = tf.placeholder_with_default(tf.zeros([batch, UNITS]), [None, UNITS])
        cell = s2s.AttentionWrapper(Count(), mechanism, initial_cell_state=state)
        fetched = cell.zero_state(2, tf.float32).cell_state
        if batch == 2:
            assert run(fetched).shape == (2, UNITS)
            continue
        with pytest.raises(tf.errors.InvalidArgumentError, match="When constructing AttentionWrap"):
            run(fetched)
