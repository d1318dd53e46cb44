"""Results of NaN and of bounds that cross, as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler

NAN = np.nan
NO_GPU = host_compiler().reason


@pytest.fixture(params=[0, pytest.param(1, marks=pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU))])
def session(request: pytest.FixtureRequest) -> Iterator[tf.Session]:
    """A session without a GPU, or with an emulated one."""
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=request.param))
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=config) as opened:
        yield opened


@pytest.mark.parametrize(
    ("t", "low", "high", "expected"),
    [
        ([-5, 0, 3, NAN, 9], 4, 1, [4, 4, 4, NAN, 4]),
        ([-5, 2, 9, 9], [4, 0, NAN, NAN], [1, NAN, 1, NAN], [4, 2, 1, 9]),
        ([-5, 2, 9], 0, 3, [0, 2, 3]),
    ],
)
def test_clipping(session: tf.Session, t: Any, low: Any, high: Any, expected: Any) -> None:
    for dtype in (np.float16, np.float32, np.float64):
        y = tf.raw_ops.ClipByValue(
            t=np.array(t, dtype),
            clip_value_min=np.array(low, dtype),
            clip_value_max=np.array(high, dtype),
        )
        np.testing.assert_array_equal(session.run(y), np.array(expected, dtype))


def test_bounds_of_integers_that_cross(session: tf.Session) -> None:
    y = tf.raw_ops.ClipByValue(t=[-5, 3, 9], clip_value_min=4, clip_value_max=1)
    assert session.run(y).tolist() == [4, 4, 4]


def test_the_sign_of_a_determinant(session: tf.Session) -> None:
    matrices = np.array([[[1, NAN], [2, 3]], [[NAN, NAN], [NAN, NAN]], [[0, 2], [1, 0]]])
    sign, log = session.run(tf.linalg.slogdet(matrices))
    np.testing.assert_array_equal(sign, [NAN, NAN, -1])
    np.testing.assert_allclose(log, [NAN, NAN, np.log(2)])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_each_nan_is_an_element_by_itself(session: tf.Session, dtype: Any) -> None:
    x = tf.placeholder(dtype, [None])
    values = np.array([NAN, 1, NAN, -0.0, 0.0, np.inf, -NAN, 1], dtype)
    y, place, counts = session.run(tf.unique_with_counts(x), {x: values})
    np.testing.assert_array_equal(y, [NAN, 1, NAN, 0, np.inf, NAN])
    assert place.tolist() == [0, 1, 2, 3, 3, 4, 5, 1] and counts.tolist() == [1, 2, 1, 2, 1, 1]
    y, place = session.run(tf.unique(x), {x: values})
    np.testing.assert_array_equal(y, [NAN, 1, NAN, 0, np.inf, NAN])
    assert place.tolist() == [0, 1, 2, 3, 3, 4, 5, 1]
