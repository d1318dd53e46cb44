"""Linear chains beside all their tag sequences, counted one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

crf = tf.contrib.crf
TAGS = 3


def scores_of(unary: Any, params: Any, steps: int) -> dict[tuple[int, ...], float]:
    """Return the score of each tag sequence of a row."""
    return {
        tags: sum(unary[i, tag] for i, tag in enumerate(tags))
        + sum(params[pair] for pair in itertools.pairwise(tags))
        for tags in itertools.product(range(TAGS), repeat=steps)
    }


def log_sum(values: Any) -> float:
    return float(np.log(np.sum(np.exp(list(values)))))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("time", [1, 4])
def test_scores_and_best_sequences(time: int, is_known: bool) -> None:
    rng = np.random.default_rng(time)
    unary, params = rng.normal(size=(3, time, TAGS)), rng.normal(size=(TAGS, TAGS))
    tags = rng.integers(0, TAGS, (3, time))
    lengths = np.array([time, max(time - 2, 1), 1], np.int32)
    allowed = rng.uniform(size=unary.shape) > 0.3
    allowed[..., 0] = True
    inputs = tf.constant(unary)
    if not is_known:
        inputs = tf.placeholder_with_default(unary, [None, None, TAGS])
    likelihood, _ = crf.crf_log_likelihood(inputs, tags, lengths, params)
    fetches = [
        likelihood,
        crf.crf_log_norm(inputs, lengths, params),
        crf.crf_multitag_sequence_score(inputs, allowed, lengths, params),
        *crf.crf_decode(inputs, params, lengths),
    ]
    with tf.Session() as session:
        likelihoods, norms, several, best, best_scores = session.run(fetches)
    for row, steps in enumerate(lengths):
        scores = scores_of(unary[row], params, steps)
        norm = log_sum(scores.values())
        np.testing.assert_allclose(norms[row], norm)
        np.testing.assert_allclose(likelihoods[row], scores[tuple(tags[row, :steps])] - norm)
        good = [
            score
            for way, score in scores.items()
            if all(allowed[row, i, tag] for i, tag in enumerate(way))
        ]
        np.testing.assert_allclose(several[row], log_sum(good))
        expected = max(scores, key=lambda way: scores[way])
        assert tuple(best[row, :steps]) == expected and not best[row, steps:].any()
        np.testing.assert_allclose(best_scores[row], scores[expected])
        way, score = crf.viterbi_decode(unary[row, :steps], params)
        assert tuple(way) == expected and np.isclose(score, scores[expected])


def test_rows_without_steps_have_no_score() -> None:
    zeros = tf.zeros([2, 3, TAGS])
    with tf.Session() as session:
        norms = session.run(crf.crf_log_norm(zeros, [0, 3], tf.zeros([TAGS, TAGS])))
    np.testing.assert_allclose(norms, [0.0, 3 * np.log(TAGS)], rtol=1e-6)


def test_transitions_are_a_variable_that_trains() -> None:
    inputs = tf.get_variable("unary", [2, 3, TAGS])
    likelihood, params = crf.crf_log_likelihood(inputs, [[0, 1, 2], [2, 1, 0]], [3, 2])
    assert params.op.name == "transitions" and params.shape.as_list() == [TAGS, TAGS]
    loss = -tf.reduce_mean(likelihood)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(train)
        assert session.run(loss) < before / 2


def test_cells_say_their_sizes() -> None:
    params = tf.zeros([TAGS, TAGS])
    for cell in (crf.CrfForwardRnnCell(params), crf.CrfDecodeForwardRnnCell(params)):
        assert (cell.state_size, cell.output_size) == (TAGS, TAGS)
    cell = crf.CrfDecodeBackwardRnnCell(TAGS)
    assert (cell.state_size, cell.output_size) == (1, 1)
