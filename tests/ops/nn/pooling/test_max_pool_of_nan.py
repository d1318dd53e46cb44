"""MaxPoolGrad where windows have NaN: the first element counts until a larger one comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

NAN, INF = np.nan, np.inf


def gradient(rows: Any, dtype: Any = np.float32, **options: Any) -> Any:
    images = np.array(rows, dtype)[None, ..., None]
    windows = {"ksize": 2, "strides": 2, "padding": "VALID", **options}
    with tf.Session() as session:
        x = tf.constant(images)
        slope = tf.gradients(tf.nn.max_pool(x, **windows), x)[0]
        return session.run(slope)[0, ..., 0].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(
    ("window", "slope"),
    [
        ([[NAN, NAN], [NAN, NAN]], [[1, 0], [0, 0]]),
        ([[NAN, 1], [3, 2]], [[1, 0], [0, 0]]),
        ([[1, NAN], [3, 2]], [[0, 0], [1, 0]]),
        ([[-INF, -INF], [-INF, -INF]], [[1, 0], [0, 0]]),
        ([[-INF, NAN], [-INF, -5]], [[0, 0], [0, 1]]),
    ],
)
def test_the_first_counts_until_a_larger_one_comes(window, slope, dtype):
    assert gradient(window, dtype) == slope
    twice = np.tile(np.array(window), (1, 4))
    assert gradient(twice, dtype) == np.tile(slope, (1, 4)).tolist()


def test_windows_that_overlap_and_reach_out():
    rows = [[NAN, 1, 3], [2, 5, NAN], [NAN, NAN, NAN]]
    expected = [[1, 0, 1], [0, 3, 1], [1, 1, 1]]
    got = gradient(rows, strides=1, padding="SAME")
    assert sum(map(sum, got)) == 9
    assert got == expected


def test_of_volumes_nothing_is_larger():
    with tf.Session() as session:
        x = tf.constant(np.full((1, 2, 2, 2, 1), NAN, np.float32))
        y = tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
        assert not session.run(tf.gradients(y, x)[0]).any()
