"""Grid, time-frequency and group LSTMs beside TensorFlow 1.15.5: outputs, states and variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

RNN = tf.contrib.rnn
BANDS: dict[str, Any] = {"feature_size": 4, "frequency_skip": 2}

time_frequency = partial(RNN.TimeFreqLSTMCell, 2, **BANDS)
grid = partial(RNN.GridLSTMCell, 2, num_frequency_blocks=[3], **BANDS)
both = partial(RNN.BidirectionalGridLSTMCell, 2, num_frequency_blocks=[3], **BANDS)

CASES: list[tuple[Callable[[], Any], list[float], list[float], int]] = [
    (lambda: time_frequency(), [0.54003, -0.06121, -0.21101, -0.12982], [0.82911, -0.52998], 2),
    (
        lambda: time_frequency(use_peepholes=True, cell_clip=0.3),
        [0.22913, -0.03294, -0.24462, -0.12639],
        [0.3, -0.3],
        5,
    ),
    (
        lambda: time_frequency(num_unit_shards=2),
        [0.54003, -0.06121, -0.21101, -0.12982],
        [0.82911, -0.52998],
        3,
    ),
    (lambda: grid(), [0.02491, -0.21774, -0.04393, 0.08347], [0.02491, -0.21774], 4),
    (lambda: both(), [-0.30468, -0.01858, 0.04443, -0.08003], [-0.30468, -0.01858], 8),
    (
        lambda: grid(use_peepholes=True, cell_clip=0.3),
        [0.0416, -0.11875, -0.23628, 0.12805],
        [0.0416, -0.11875],
        16,
    ),
    (
        lambda: both(couple_input_forget_gates=True, use_peepholes=True),
        [-0.10561, 0.07263, 0.15104, 0.39231],
        [-0.10561, 0.07263],
        24,
    ),
    (
        lambda: grid(share_time_frequency_weights=True, use_peepholes=True),
        [0.4502, 0.06308, 0.27893, 0.02537],
        [0.4502, 0.06308],
        8,
    ),
    (
        lambda: grid(couple_input_forget_gates=True, share_time_frequency_weights=True),
        [-0.46338, -0.00198, -0.45134, 0.00376],
        [-0.46338, -0.00198],
        2,
    ),
    (
        lambda: grid(state_is_tuple=False),
        [0.02491, -0.21774, -0.04393, 0.08347],
        [0.06856, -0.53858],
        4,
    ),
    (
        lambda: RNN.GridLSTMCell(
            2,
            feature_size=2,
            frequency_skip=1,
            num_frequency_blocks=[3, 2],
            start_freqindex_list=[0, 4],
            end_freqindex_list=[4, 7],
        ),
        [-0.05807, -0.10936, -0.22266, -0.08133],
        [-0.05807, -0.10936],
        8,
    ),
    (
        lambda: both(backward_slice_offset=1),
        [-0.30468, -0.01858, 0.04443, -0.08003],
        [-0.30468, -0.01858],
        8,
    ),
    (
        lambda: both(backward_slice_offset=-1),
        [-0.30468, -0.01858, 0.04443, -0.08003],
        [-0.30468, -0.01858],
        8,
    ),
    (
        lambda: RNN.GLSTMCell(4, number_of_groups=2),
        [-0.10899, 0.09137, 0.36449, -0.16162],
        [-0.10899, 0.09137],
        6,
    ),
    (
        lambda: RNN.GLSTMCell(4, number_of_groups=2, num_proj=6),
        [0.01435, -0.24361, 0.197, -0.00761],
        [0.01435, -0.24361],
        7,
    ),
]
"""A cell, and by TensorFlow 1.15.5: the first outputs, the first numbers of the second part of the
state, and the number of variables.
"""


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_outputs_and_states_are_those_of_tensorflow(case: Any) -> None:
    make, outputs, second, count = case
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        cell = make()
        inputs = [tf.constant(random.randn(3, 8).astype(np.float32)) for _ in range(2)]
        state = cell.zero_state(3, tf.float32)
        if isinstance(cell, RNN.TimeFreqLSTMCell):
            state = tf.zeros([3, 12])  # of all three bands
        with tf.variable_scope("net"):
            for read in inputs:
                output, state = cell(read, state)
        variables = sorted(tf.trainable_variables(), key=lambda variable: variable.name)
        session.run(tf.global_variables_initializer())
        values = np.random.RandomState(1)
        for variable in variables:
            shape = variable.shape.as_list()
            variable.load(values.randn(*shape).astype(np.float32) * 0.5, session)
        parts = list(state) if isinstance(state, tuple) else [state, state]
        found, part = session.run([output, parts[1]])
    assert len(variables) == count
    np.testing.assert_allclose(np.ravel(found)[:4], outputs, atol=2e-5)
    np.testing.assert_allclose(np.ravel(part)[:2], second, atol=2e-5)


def test_a_grid_runs_over_time_and_trains() -> None:
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        inputs = tf.constant(random.randn(4, 5, 8).astype(np.float32))
        outputs, state = tf.nn.dynamic_rnn(both(), inputs, dtype=tf.float32)
        assert outputs.shape.as_list() == [4, 5, 24]
        assert state._fields[0] == "fwd_state_f00_b00_c"
        loss = tf.reduce_mean(tf.square(outputs - 0.1))
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(train)
        assert session.run(loss) < 0.3 * before


def test_rejected_inputs() -> None:
    with tf.Graph().as_default():
        inputs = tf.zeros([3, 8])
        with pytest.raises(ValueError, match="Must specify num_frequency_blocks"):
            RNN.GridLSTMCell(2, **BANDS)
        cell = RNN.GridLSTMCell(2, num_frequency_blocks=[2], **BANDS)
        with pytest.raises(ValueError, match="requires 2 but gets 3"):
            cell(inputs, cell.zero_state(3, tf.float32))
        unknown = tf.placeholder(tf.float32, [3, None])
        with pytest.raises(ValueError, match="Cannot infer input_size"):
            time_frequency()(unknown, tf.zeros([3, 12]))
        with pytest.raises(ValueError, match="num_units must be divisible"):
            RNN.GLSTMCell(3, number_of_groups=2)
        group = RNN.GLSTMCell(4, number_of_groups=2)
        with pytest.raises(ValueError, match=r"input size \(7\) must be divisible"):
            group(tf.zeros([3, 7]), group.zero_state(3, tf.float32))
