"""Distributions: moments, and Kolmogorov and Smirnov's distance from the exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf

COUNT = 200_000


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor).astype(np.float64)


def distance(numbers, distribution):
    """Return the largest distance between the numbers' empirical distribution function and the
    given one.
    """
    ordered = np.sort(numbers)
    wanted = np.array([distribution(value) for value in ordered[::50]])
    shares = np.arange(0, ordered.size, 50) / ordered.size
    return abs(shares - wanted).max()


def normal(x):
    return 0.5 * (1 + math.erf(x / 2**0.5))


def truncated(x):
    return (normal(x) - normal(-2)) / (normal(2) - normal(-2))


def gamma(shape):
    """Return the distribution of a whole shape: the sum of `shape` exponential numbers."""
    return lambda x: 1 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(shape))


# A true sample of COUNT numbers is further away once in a thousand times.
FAR = 1.95 / COUNT**0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (tf.random_uniform, lambda x: x),
        (tf.random_normal, normal),
        (tf.truncated_normal, truncated),
    ],
    ids=["uniform", "normal", "truncated"],
)
def test_distances(draw, distribution, dtype):
    assert distance(value(draw([COUNT], dtype=dtype, seed=8)), distribution) < FAR


@pytest.mark.parametrize("alpha", [1, 2, 9])
def test_gamma_distances(alpha):
    assert distance(value(tf.random_gamma([COUNT], float(alpha), seed=8)), gamma(alpha)) < FAR


def test_the_distance_tells_others_apart():
    numbers = value(tf.random_normal([COUNT], 0.02, seed=8))
    assert distance(numbers, normal) > FAR
    assert distance(value(tf.random_gamma([COUNT], 2.1, seed=8)), gamma(2)) > FAR


@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0, 3.5, 200.0])
def test_gamma_moments(alpha):
    tensor = tf.random_gamma([COUNT], alpha, beta=2.0, dtype=tf.float64, seed=8)
    numbers = value(tensor)
    assert numbers.mean() == pytest.approx(alpha / 2, rel=0.02)
    assert numbers.var() == pytest.approx(alpha / 4, rel=0.05)
    assert numbers.min() > 0


@pytest.mark.parametrize("rate", [0.0, 0.2, 3.0, 9.9, 10.0, 25.0, 4000.0])
def test_poisson_moments(rate):
    numbers = value(tf.random_poisson(rate, [COUNT], tf.int64, seed=8))
    assert numbers.mean() == pytest.approx(rate, rel=0.01)
    assert numbers.var() == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("rate", [2.0, 12.0])
def test_poisson_shares(rate):
    numbers = value(tf.random_poisson(rate, [COUNT], tf.int32, seed=8))
    for k in range(20):
        wanted = math.exp(-rate) * rate**k / math.factorial(k)
        assert (numbers == k).mean() == pytest.approx(wanted, abs=4 * (wanted / COUNT) ** 0.5)


def test_no_numbers_of_impossible_parameters():
    assert np.isnan(value(tf.random_poisson([-1.0, np.nan, np.inf], [2]))).all()
    assert np.isnan(value(tf.random_gamma([2], [-1.0, 0.0, np.nan]))).all()


def test_shares_of_classes():
    logits = np.log([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]).astype(np.float32) + 5
    for count in (COUNT, 20):
        rows = np.repeat(logits, COUNT // count, axis=0)
        numbers = value(tf.multinomial(rows, count, seed=8)).reshape(2, -1)
        for row, shares in zip(numbers, np.exp(logits - 5)):
            result = [(row == k).mean() for k in range(3)]
            np.testing.assert_allclose(result, shares, atol=0.005)


def test_classes_without_a_probability():
    logits = [[-np.inf, 0.0, np.nan], [np.inf, 0.0, -np.inf], [-np.inf] * 3]
    assert value(tf.multinomial(logits, 9)).tolist() == [[1] * 9, [1] * 9, [3] * 9]


def test_classes_misuse():
    for logits, count, match in (([1.0], 2, "rank 2"), ([[1.0]], -1, "non-negative")):
        with pytest.raises(ValueError, match=match):
            tf.multinomial(logits, count)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_classes should be positive"):
        value(tf.multinomial(np.zeros((2, 0)), 3))
    assert value(tf.multinomial(np.zeros((2, 0)), 0)).shape == (2, 0)
    assert value(tf.multinomial(np.zeros((0, 2)), 3)).shape == (0, 3)


def test_orders_are_equally_likely():
    rows = tf.map_fn(lambda _: tf.random_shuffle([0, 1, 2]), tf.zeros([3000]), dtype=tf.int32)
    orders, counts = np.unique(value(rows), axis=0, return_counts=True)
    assert len(orders) == 6
    assert abs(counts - 500).max() < 100


def test_orders_keep_rows():
    rows = np.arange(12).reshape(4, 3)
    result = value(tf.random_shuffle(rows, seed=1))
    assert sorted(result.tolist()) == rows.tolist() and result.tolist() != rows.tolist()
    assert value(tf.random_shuffle(7)) == 7
    assert value(tf.random_shuffle(np.zeros((3, 0)))).shape == (3, 0)
    with tf.Session() as session:
        words = session.run(tf.random_shuffle([b"a", b"b", b"c"]))
    assert sorted(words.tolist()) == [b"a", b"b", b"c"]


def test_parts_are_within(graph):
    image = tf.placeholder(tf.int32, [None, None, 3], name="image")
    part = tf.random_crop(image, [2, 3, 3], seed=1)
    assert part.shape == (2, 3, 3)
    whole = np.arange(4 * 5 * 3).reshape(4, 5, 3)
    corners = set()
    with tf.Session() as session:
        for _ in range(60):
            result = session.run(part, {image: whole})
            row, column = divmod(int(result[0, 0, 0]) // 3, 5)
            np.testing.assert_array_equal(result, whole[row : row + 2, column : column + 3])
            corners.add((row, column))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Need value\.shape >= size, got"):
            session.run(part, {image: whole[:1]})
    assert corners == {(row, column) for row in range(3) for column in range(3)}
    assert [op.name for op in graph.get_operations()][1:] == [
        f"random_crop{rest}"
        for rest in (
            "/size", "/Shape", "/GreaterEqual", "/Const", "/All", "/Assert/Const",
            "/Assert/Assert/data_0", "/Assert/Assert", "/control_dependency", "/sub", "/add/y",
            "/add", "/Shape_1", "/random_uniform/min", "/random_uniform/max", "/random_uniform",
            "/mod", "",
        )
    ]  # fmt: skip


def test_gradients_of_gamma():
    """By alpha numbers move so that the probability of less stays."""
    alpha = tf.constant([2.0, 0.7], tf.float64)
    beta = tf.constant([4.0, 5.0], tf.float64)
    drawn = tf.random_gamma([7], alpha, beta, tf.float64, seed=1)
    slopes = tf.gradients(drawn, [alpha, beta])
    step = 1e-5
    scaled = drawn * beta
    by_alpha = (tf.igamma(alpha + step, scaled) - tf.igamma(alpha - step, scaled)) / (2 * step)
    density = tf.exp((alpha - 1) * tf.log(scaled) - scaled - tf.lgamma(alpha))
    wanted = -tf.reduce_sum(by_alpha / density / beta, 0)
    with tf.Session() as session:
        (result, by_beta), numbers, moved = session.run([slopes, drawn, wanted])
    np.testing.assert_allclose(result, moved, rtol=1e-7)
    np.testing.assert_allclose(by_beta, -numbers.sum(axis=0) / [4, 5], rtol=1e-12)
    with pytest.raises(TypeError):
        tf.gradients(tf.random_gamma([2], half := tf.ones([2], tf.float16), dtype=tf.float16), half)
