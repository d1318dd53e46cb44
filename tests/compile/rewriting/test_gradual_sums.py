"""Gradual sums: less memory, the same bits, and only where terms come in the order of the sum."""

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.rewriting import gradual_sums

STEPS, WIDTH = 12, 192


def gradient_of_shared_weights():
    """Return the gradient of a matrix that each of some time steps uses."""
    weights = tf.constant(np.random.RandomState(0).normal(size=(WIDTH, WIDTH)).astype("float32"))
    state = tf.placeholder(tf.float32, [4, WIDTH])
    y = state
    for _ in range(STEPS):
        y = tf.tanh(tf.matmul(y, weights))
    return tf.gradients(tf.reduce_sum(y), weights)[0], state


def run_and_explain(fetch, feeds):
    with tf.Session() as session:
        explanation = session.explain(fetch, feeds)
        return session.run(fetch, feeds), explanation


@pytest.fixture
def split_nothing(monkeypatch):
    def switch_off():
        monkeypatch.setattr(gradual_sums, "LARGE", 1 << 60)

    return switch_off


def test_a_sum_of_gradients_holds_two_terms_and_keeps_its_bits(split_nothing):
    gradient, state = gradient_of_shared_weights()
    feeds = {state: np.random.RandomState(1).normal(size=(4, WIDTH))}
    value, explanation = run_and_explain(gradient, feeds)
    assert f"{STEPS - 1} sums of terms" in explanation.of_pass("gradual_sums")
    split_nothing()
    expected, whole = run_and_explain(gradient, feeds)
    assert value.tobytes() == expected.tobytes()
    (least,), (most,) = explanation.arena_bytes.values(), whole.arena_bytes.values()
    term = WIDTH * WIDTH * 4
    assert most > STEPS * term > 4 * term > least


@pytest.mark.parametrize(
    "dtype, size, reverse", [("float32", 8, False), ("float32", 192, True), ("float16", 192, False)]
)
def test_small_sums_sums_in_another_order_and_in_fewer_bits_stay(dtype, size, reverse):
    x = y = tf.placeholder(dtype, [size, size])
    terms = []
    for _ in range(12):
        y = tf.matmul(y, x)
        terms.append(y)
    total = tf.add_n(terms[::-1] if reverse else terms)
    value = np.eye(size) / 2
    result, explanation = run_and_explain(total, {x: value})
    assert "0 large sums" in (said := explanation.of_pass("gradual_sums")) or "no large sum" in said
    np.testing.assert_allclose(result, sum(np.eye(size) / 2**n for n in range(2, 14)), rtol=1e-2)


def test_what_waits_for_a_sum_and_a_sum_that_is_fetched_and_run():
    x = tf.placeholder(tf.float32, [192, 192])
    terms = [x]
    for _ in range(10):
        terms.append(tf.matmul(terms[-1], x))
    total = tf.add_n(terms)
    with tf.control_dependencies([total]):
        after = tf.constant(1.0) + 1.0
    with tf.Session() as session:
        value = np.eye(192)
        assert session.run([after, total.op], {x: value})[0] == 2.0
        np.testing.assert_array_equal(session.run([total, after], {x: value})[0], 11 * value)
