"""Pooling by ratios that are no whole numbers: TensorFlow's windows, values, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

IMAGES = np.random.default_rng(5).normal(size=(2, 11, 13, 2))
RATIO = [1.0, 1.44, 1.73, 1.0]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches):
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize(
    ("pseudo_random", "rows", "columns"),
    [
        (True, [0, 1, 3, 5, 6, 8, 9, 11], [0, 2, 4, 6, 8, 9, 11, 13]),
        (False, [0, 2, 4, 5, 6, 7, 9, 11], [0, 1, 3, 5, 7, 9, 11, 13]),
    ],
)
def test_equal_seeds_give_tensorflows_windows(pseudo_random, rows, columns):
    pooled = tf.nn.fractional_max_pool(
        IMAGES, RATIO, pseudo_random, deterministic=True, seed=7, seed2=9
    )
    assert pooled[0].shape.as_list() == [2, 7, 7, 2]
    values = run(list(pooled))
    assert values[1].tolist() == rows
    assert values[2].tolist() == columns


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize(
    ("pool", "reduce"), [(tf.nn.fractional_max_pool, np.max), (tf.nn.fractional_avg_pool, np.mean)]
)
def test_windows_are_reduced(pool, reduce, overlapping):
    output, rows, columns = run(list(pool(IMAGES, RATIO, overlapping=overlapping)))
    for i, j in np.ndindex(7, 7):
        down = slice(rows[i], rows[i + 1] + overlapping)
        window = IMAGES[:, down, columns[j] : columns[j + 1] + overlapping]
        np.testing.assert_allclose(output[:, i, j], reduce(window, (1, 2)), rtol=1e-12)


def test_whole_numbers_are_rounded_towards_zero():
    images = np.array([[-3, 0], [-4, 0]]).reshape(1, 2, 2, 1)
    output = tf.nn.fractional_avg_pool(tf.constant(images, tf.int32), [1, 2.0, 2.0, 1])[0]
    assert run(output).tolist() == [[[[-1]]]]


def test_deterministic_windows_stay():
    fixed = tf.nn.fractional_max_pool(IMAGES, RATIO, deterministic=True)[1]
    with tf.Session() as session:
        assert len({tuple(session.run(fixed)) for _ in range(5)}) == 1


def test_gradients_go_to_the_largest_or_are_shared():
    x = tf.constant(IMAGES)
    largest, mean = (
        pool(x, RATIO, seed=3, seed2=4)[0]
        for pool in (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool)
    )
    slopes = run([tf.gradients(y, x)[0] for y in (largest, mean)])
    assert sorted(set(slopes[0].ravel())) == [0.0, 1.0]
    np.testing.assert_allclose([slope.sum() for slope in slopes], 2 * 7 * 7 * 2)


def test_ratios_below_one_and_of_channels_are_refused():
    with pytest.raises(ValueError, match=r"pooling_ratio cannot be smaller than 1, got: 0\.5"):
        tf.nn.fractional_max_pool(IMAGES, [1, 0.5, 1, 1])
    with pytest.raises(ValueError, match="not yet supported on the batch nor channel dimension"):
        tf.nn.fractional_avg_pool(IMAGES, [1, 1, 1, 2])
    with pytest.raises(ValueError, match="must specify 4 dimensions"):
        tf.nn.fractional_avg_pool(IMAGES, [1, 1])
