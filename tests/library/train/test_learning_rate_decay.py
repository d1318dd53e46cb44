"""Learning rates that decay: against their formulas, at many steps, and their errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

STEPS = [0, 1, 4, 5, 9, 10, 11, 15, 20, 34, 100]


def cosine(part: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * part))


def restarted(step: int, longer: float, factor: float, least: float) -> float:
    length, height, start = 5.0, 1.0, 0.0
    while step >= start + length:
        start, length, height = start + length, length * longer, height * factor
    return 0.1 * ((1 - least) * height * cosine((step - start) / length) + least)


def linear_cosine(step: int, periods: float, alpha: float, beta: float) -> float:
    done = min(step, 10) / 10
    return 0.1 * ((alpha + 1 - done) * cosine(2 * periods * done) + beta)


CASES: dict[str, tuple[Any, Any]] = {
    "exponential": (
        lambda step: tf.train.exponential_decay(0.1, step, 10, 0.9),
        lambda step: 0.1 * 0.9 ** (step / 10),
    ),
    "exponential, staircase": (
        lambda step: tf.train.exponential_decay(0.1, step, 10, 0.9, staircase=True),
        lambda step: 0.1 * 0.9 ** (step // 10),
    ),
    "natural": (
        lambda step: tf.train.natural_exp_decay(0.1, step, 10, 0.9),
        lambda step: 0.1 * math.exp(-0.9 * step / 10),
    ),
    "natural, staircase": (
        lambda step: tf.train.natural_exp_decay(0.1, step, 10, 0.9, staircase=True),
        lambda step: 0.1 * math.exp(-0.9 * (step // 10)),
    ),
    "inverse": (
        lambda step: tf.train.inverse_time_decay(0.1, step, 10, 0.9),
        lambda step: 0.1 / (1 + 0.9 * step / 10),
    ),
    "inverse, staircase": (
        lambda step: tf.train.inverse_time_decay(0.1, step, 10, 0.9, staircase=True),
        lambda step: 0.1 / (1 + 0.9 * (step // 10)),
    ),
    "piecewise": (
        lambda step: tf.train.piecewise_constant(step, [10, 20], [1.0, 0.5, 0.1]),
        lambda step: 1.0 if step <= 10 else 0.5 if step <= 20 else 0.1,
    ),
    "piecewise of one": (lambda step: tf.train.piecewise_constant(step, [], [0.5]), lambda _: 0.5),
    "polynomial": (
        lambda step: tf.train.polynomial_decay(0.1, step, 10, 0.01, power=2.0),
        lambda step: 0.09 * (1 - min(step, 10) / 10) ** 2 + 0.01,
    ),
    "polynomial, cycle": (
        lambda step: tf.train.polynomial_decay(0.1, step, 10, 0.01, cycle=True),
        lambda step: 0.09 * (1 - step / (10 * max(1, math.ceil(step / 10)))) + 0.01,
    ),
    "cosine": (
        lambda step: tf.train.cosine_decay(0.1, step, 10, alpha=0.2),
        lambda step: 0.1 * (0.8 * cosine(min(step, 10) / 10) + 0.2),
    ),
    "restarts": (
        lambda step: tf.train.cosine_decay_restarts(0.1, step, 5, m_mul=0.9, alpha=0.1),
        lambda step: restarted(step, 2.0, 0.9, 0.1),
    ),
    "restarts of one length": (
        lambda step: tf.train.cosine_decay_restarts(0.1, step, 5, t_mul=1.0),
        lambda step: restarted(step, 1.0, 1.0, 0.0),
    ),
    "linear cosine": (
        lambda step: tf.train.linear_cosine_decay(0.1, step, 10, 2.0, 0.1, 0.01),
        lambda step: linear_cosine(step, 2.0, 0.1, 0.01),
    ),
    "noisy linear cosine without noise": (
        lambda step: tf.train.noisy_linear_cosine_decay(0.1, step, 10, initial_variance=0.0),
        lambda step: linear_cosine(step, 0.5, 0.0, 0.001),
    ),
}


@pytest.mark.parametrize(("build", "formula"), CASES.values(), ids=CASES.keys())
def test_against_the_formula(build, formula):
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rate = build(step)
        assert rate.dtype is tf.float32
        assert rate.shape.as_list() == []
        for number in STEPS:
            actual = session.run(rate, {step: number})
            assert actual == pytest.approx(formula(number), rel=1e-4, abs=1e-6), number


def test_the_noise_falls():
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rate = tf.train.noisy_linear_cosine_decay(1.0, step, 1000, 1.0, 1.0, 0.0)
        spread = [
            np.std([session.run(rate, {step: number}) for _ in range(300)]) for number in (0, 99)
        ]
    assert spread[0] == pytest.approx(1.0, rel=0.2)
    assert spread[1] == pytest.approx(0.1, rel=0.2)


def test_names_and_dtypes():
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        assert tf.train.exponential_decay(0.1, step, 10, 0.9).name == "ExponentialDecay:0"
        assert tf.train.exponential_decay(0.1, step, 10, 0.9, name="mine").name == "mine:0"
        assert tf.train.cosine_decay(0.1, step, 10).name == "CosineDecay/Mul_3:0"
        wide = tf.constant(0.1, tf.float64)
        assert tf.train.polynomial_decay(wide, step, 10).dtype is tf.float64
        assert tf.train.piecewise_constant_decay is tf.train.piecewise_constant


def test_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="global_step is required"):
            tf.train.exponential_decay(0.1, None, 10, 0.9)
        x = tf.constant(1)
        with pytest.raises(ValueError, match="1 less than the length of values"):
            tf.train.piecewise_constant(x, [1, 2], [1.0])
        with pytest.raises(ValueError, match="same dtype as x"):
            tf.train.piecewise_constant(x, [1.0, 2.0], [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="elements all with the same dtype"):
            tf.train.piecewise_constant(x, [1, 2], [1.0, 2.0, 3])


def test_in_an_optimizer():
    with tf.Graph().as_default(), tf.Session() as session:
        v, step = tf.Variable(0.0), tf.train.get_or_create_global_step()
        rate = tf.train.piecewise_constant(step, [0, 1], [1.0, 0.5, 0.25])
        train = tf.train.GradientDescentOptimizer(rate).minimize(-v, step)
        session.run(tf.global_variables_initializer())
        seen = []
        for _ in range(4):
            session.run(train)
            seen.append(float(session.run(v)))
    assert seen == [1.0, 1.5, 1.75, 2.0]
