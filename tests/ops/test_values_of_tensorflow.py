"""Results of NaN, infinities, zeros of both signs and crossed bounds, as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler

NAN, INF = np.nan, np.inf
LOWEST = -np.finfo(np.float32).max
FLOATS = (np.float32, np.float64)
NO_GPU = host_compiler().reason


@pytest.fixture(params=[0, pytest.param(1, marks=pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU))])
def session(request: pytest.FixtureRequest) -> Iterator[tf.Session]:
    """Yield a session without a GPU, or with an emulated one."""
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


def check(result: Any, expected: Any) -> None:
    """The same numbers, NaN and signs of zeros."""
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[known], np.signbit(expected)[known])


WINDOWS = [
    ([NAN, NAN, NAN, NAN], LOWEST),
    ([-INF, -INF, -INF, -INF], LOWEST),
    ([NAN, 1, 2, NAN], 2),
    ([1, NAN, 3, -INF], 3),
    ([NAN, -INF, NAN, -INF], LOWEST),
]


@pytest.mark.parametrize("channels", [1, 8])
@pytest.mark.parametrize(("window", "largest"), WINDOWS)
def test_the_largest_of_a_window(
    session: tf.Session, window: Any, largest: float, channels: int
) -> None:
    x = np.repeat(np.array(window, np.float32).reshape(1, 2, 2, 1), channels, 3)
    for strides, padding in ((2, "VALID"), (3, "SAME")):
        y = tf.nn.max_pool(tf.placeholder_with_default(x, x.shape), 2, strides, padding)
        assert np.unique(session.run(y)).tolist() == [largest]


def test_the_lowest_of_other_types(session: tf.Session) -> None:
    for dtype in (tf.float16, tf.float64):
        x = tf.placeholder(dtype, [1, 2, 2, 1])
        y = tf.nn.max_pool(x, 2, 2, "VALID")
        [value] = np.ravel(session.run(y, {x: np.full((1, 2, 2, 1), -INF, dtype.as_numpy_dtype)}))
        assert value == dtype.min


@pytest.mark.parametrize("width", [1, 8, 600])
@pytest.mark.parametrize("op", ["ScatterMax", "ScatterMin", "TensorScatterMax", "TensorScatterMin"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_updates_of_nan_change_nothing(
    session: tf.Session, op: str, width: int, dtype: Any
) -> None:
    start = np.repeat(np.array([[0.5], [NAN], [3]], dtype), width, 1)
    updates = np.repeat(np.array([[NAN], [7], [NAN], [4], [1]], dtype), width, 1)
    if "Tensor" in op:
        y = getattr(tf.raw_ops, op)(start, np.array([[0], [1], [2], [2], [2]]), updates)
    else:
        y = tf.raw_ops.VariableV2(shape=start.shape, dtype=tf.as_dtype(start.dtype))
        session.run(tf.assign(y, start))
        y = getattr(tf.raw_ops, op)(y, [0, 1, 2, 2, 2], updates)
    expected = [0.5, NAN, 4 if "Max" in op else 1]
    np.testing.assert_array_equal(session.run(y), np.repeat(np.array([expected]).T, width, 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_from_outputs(session: tf.Session, dtype: Any) -> None:
    """Gradients are 0 where the incoming gradient is 0; the slope is 1 where an ELU gave NaN."""
    y = tf.placeholder(dtype, [None])
    dy = tf.placeholder(dtype, [None])
    fed = {y: np.array([0, INF, NAN, 2, -INF], dtype), dy: np.array([0, -0.0, 0, 0, 1], dtype)}
    names = ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad")
    got = session.run([getattr(tf.raw_ops, name)(y, dy) for name in names], fed)
    for result, last in zip(got, (-0.0, INF, -INF, -INF), strict=True):
        np.testing.assert_array_equal(result, np.array([0, 0, 0, 0, last], dtype))
    fed = {y: np.array([NAN, -0.5, 2, NAN], dtype), dy: np.array([3, 4, 5, -INF], dtype)}
    check(session.run(tf.raw_ops.EluGrad(dy, y), fed), [3, 2, 5, -INF])


def test_a_slope_of_a_root_at_zero(session: tf.Session) -> None:
    x = tf.constant([0.0, 4.0])
    slope = tf.gradients(tf.sqrt(x), x, tf.constant([0.0, 1.0]))[0]
    assert session.run(slope).tolist() == [0, 0.25]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("ResizeNearestNeighbor", [[NAN, NAN, 1], [NAN, NAN, 1], [2, 2, 3]]),
        ("ResizeBilinear", [[NAN, NAN, 1], [NAN, NAN, 7 / 3], [2, 8 / 3, 3]]),
        ("ResizeArea", [[NAN, NAN, 1], [NAN, NAN, 2], [2, 2.5, 3]]),
    ],
)
def test_resized_images(session: tf.Session, op: str, expected: Any) -> None:
    """NaN reaches no pixels but its neighbours."""
    image = np.array([[NAN, 1], [2, 3]], np.float32).reshape(1, 2, 2, 1)
    y = getattr(tf.raw_ops, op)(tf.placeholder_with_default(image, image.shape), [3, 3])
    check(session.run(y)[0, ..., 0], expected)


@pytest.mark.parametrize("op", ["ResizeNearestNeighborGrad", "ResizeBilinearGrad"])
def test_gradients_of_resized_images(session: tf.Session, op: str) -> None:
    dy = np.ones((1, 4, 4, 1), np.float32)
    dy[0, 0, 0, 0] = NAN
    to = [2, 2] if "Nearest" in op else np.zeros((1, 2, 2, 1), np.float32)
    got = session.run(getattr(tf.raw_ops, op)(tf.placeholder_with_default(dy, dy.shape), to))
    assert np.isnan(got[0, ..., 0]).tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_searches_among_nan(session: tf.Session, dtype: Any) -> None:
    rows = np.array([[1, 2, 3], [NAN, NAN, NAN], [1, 2, NAN]], dtype)
    values = np.array([[NAN, 2, INF]] * 3, dtype)
    got = session.run([tf.raw_ops.LowerBound(rows, values), tf.raw_ops.UpperBound(rows, values)])
    assert got[0].tolist() == [[0, 1, 3], [0, 0, 0], [0, 1, 2]]
    assert got[1].tolist() == [[3, 2, 3], [3, 3, 3], [3, 3, 3]]


X = [NAN, INF, -INF, -0.0, 0.0, 1, 2]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("BesselI0", [NAN, NAN, NAN, 1, 1, 1.266066, 2.279585]),
        ("BesselI1", [NAN, NAN, NAN, 0, 0, 0.5651591, 1.590637]),
        ("BesselI1e", [NAN, 0, -0.0, 0, 0, 0.2079104, 0.2152693]),
        ("Erfinv", [NAN, NAN, NAN, 0, 0, INF, NAN]),
    ],
)
def test_functions_at_infinities(session: tf.Session, op: str, expected: Any) -> None:
    check(session.run(getattr(tf.raw_ops, op)(np.array(X))), np.array(expected))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "pairs"),
    [
        ("Igamma", [(NAN, 0, 0), (0, 0, 0), (-1, 0, 0), (INF, INF, 0), (1, INF, 1), (0, 1, NAN)]),
        ("Igammac", [(INF, INF, 0), (1, 0, 1), (0, 0, NAN), (INF, 2, 1)]),
        ("Zeta", [(INF, INF, 0), (INF, 1, 1), (INF, 2, 0), (INF, 0.5, INF), (2, INF, 0)]),
        ("Polygamma", [(INF, 1, INF), (1, INF, 0), (2, INF, -0.0)]),
    ],
)
def test_functions_of_two(session: tf.Session, op: str, pairs: Any, dtype: Any) -> None:
    a, x, expected = np.array(pairs, dtype).T
    arrays = (tf.placeholder_with_default(value, value.shape) for value in (a, x))
    check(session.run(getattr(tf.raw_ops, op)(*arrays)), expected)


def test_ends_of_ranges(session: tf.Session) -> None:
    for ends, expected in (((1, INF), [1, INF, INF]), ((INF, 2), [INF, NAN, 2])):
        start, stop = (tf.placeholder_with_default(np.float32(end), []) for end in ends)
        np.testing.assert_array_equal(session.run(tf.linspace(start, stop, 3)), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_running_sums_start_with_zero(session: tf.Session, dtype: Any) -> None:
    x = np.array([[-0.0, -0.0, 1], [-0.0, NAN, INF]], dtype)
    check(session.run(tf.cumsum(x, 1)), np.array([[0, 0, 1], [0, NAN, NAN]]))
    check(session.run(tf.cumsum(x, 1, exclusive=True)), np.array([[0, 0, 0], [0, 0, NAN]]))


def test_numbers_that_are_quantized(session: tf.Session) -> None:
    x, dy = np.array([NAN, 1, 9], np.float32), np.array([2, 3, 4], np.float32)
    y = tf.raw_ops.FakeQuantWithMinMaxArgsGradient(dy, x, min=-2.0, max=2.0)
    assert session.run(y).tolist() == [0, 3, 0]


def test_colours_of_special_hues(session: tf.Session) -> None:
    """Hues outside of [0, 1] are red, as those at its ends; saturations are not clipped."""
    hsv = [[INF, 0.5, 0.6], [-INF, 0.5, 0.6], [NAN, 0.5, 0.6], [-0.2, 0.5, 0.6], [1.7, 0.5, 0.6]]
    hsv += [[0.2, INF, 0.6], [0.2, 0.5, INF], [0.2, 0.5, NAN], [0.2, 1.5, 0.6], [0, 1, -1]]
    red, nan = [0.6, 0.3, 0.3], [NAN] * 3
    expected = [red, red, nan, red, red, nan, [INF] * 3, nan, [0.42, 0.6, -0.3], [-1, -0.0, -0.0]]
    for dtype in FLOATS:
        check(session.run(tf.image.hsv_to_rgb(np.array(hsv, dtype))), np.array(expected))


BOXES = [[0, 0, 2, 2], [0, 0, 2, 2], [NAN, 0, 1, 1], [5, 5, 7, 7], [0, NAN, 2, 2], [5, 5, INF, INF]]


@pytest.mark.parametrize(
    ("scores", "sigma", "boxes", "kept"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], 0, [0, 3, 5, 2, 4], [0.9, 0.6, 0.4, 0, 0]),
        ([NAN, 0.8, -INF, INF, NAN, -0.0], 0, [3, 1, 5], [INF, 0.8, -0.0]),
    ],
)
def test_the_best_of_special_boxes(
    session: tf.Session, scores: Any, sigma: float, boxes: Any, kept: Any
) -> None:
    """An overlap that is NaN takes all of a score, at no overlap is a box left out for it."""
    inputs = np.array(BOXES, np.float32), np.array(scores, np.float32), 6, np.float32(0.5)
    least = np.float32(-INF)
    chosen = tf.raw_ops.NonMaxSuppressionV5(*inputs, least, np.float32(sigma))
    got, values, count = session.run(chosen)
    assert got.tolist() == boxes and count == len(boxes)
    check(values, np.array(kept))
    for op, limits in (("NonMaxSuppressionV2", ()), ("NonMaxSuppressionV3", (least,))):
        got = session.run(getattr(tf.raw_ops, op)(*inputs, *limits))
        assert got.tolist() == boxes


def test_a_running_sum_of_logarithms_is_never_minus_zero(session: tf.Session) -> None:
    x = np.array([-0.0, -INF, INF, NAN])
    check(session.run(tf.math.cumulative_logsumexp(x)), np.array([0, 0, INF, NAN]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_before_products(session: tf.Session, dtype: Any) -> None:
    """Einsum sums over the labels that one input has alone before it multiplies."""
    x, y = np.array([[1, -1], [2, INF]], dtype), np.array([INF, 3, -1], dtype)
    inputs = [tf.placeholder_with_default(value, value.shape) for value in (x, y)]
    check(session.run(tf.raw_ops.Einsum(inputs, equation="ij,k->i")), np.array([NAN, INF]))
    x[0, 1] = 1
    check(session.run(tf.raw_ops.Einsum([x, y], equation="ij,k->i")), np.array([INF, INF]))
