"""Functions of elements that have CUDA files of their own: the same on a GPU as on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from tests.devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

GPU = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
EDGES = [0.0, -0.0, 1.0, -1.0, -2.5, 1e-3, 9.999, 10.0, 171.5, -1e4, np.inf, -np.inf, np.nan]


def run(function: Callable[..., Any], device: str, *values: Any) -> Any:
    """Return the function's result on a device."""
    with tf.Graph().as_default(), tf.device(device), tf.Session(config=GPU) as session:
        inputs = [tf.placeholder(array.dtype, array.shape) for array in values]
        out, feeds = function(*inputs), dict(zip(inputs, values))
        assert "CPU" in device or "runs on the host" not in str(session.explain(out, feeds))
        return session.run(out, feeds)


def same(function: Callable[..., Any], *values: Any, rtol: float = 0) -> Any:
    """Check that the results on a GPU and on the host agree, and return the GPU's."""
    result, wanted = (run(function, f"/device:{device}:0", *values) for device in ("GPU", "CPU"))
    assert result.dtype == wanted.dtype and result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=rtol, atol=rtol)
    return result


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", [tf.lgamma, tf.digamma])
def test_functions_of_gamma_at_their_edges_and_between(function: Any, dtype: Any) -> None:
    x = np.concatenate([EDGES, np.linspace(-20, 40, 500)]).astype(dtype)
    same(function, x, rtol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [tf.zeta, tf.polygamma])
def test_functions_of_two_numbers_at_their_edges(function: Any, dtype: Any) -> None:
    first = np.array([*EDGES, 2, 3, 4.5, 7], dtype)[:, None]
    second = np.array([*EDGES, -3, 2, 5.5], dtype)
    same(function, first, second, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "shapes", [((), (3,)), ((3, 1), (4,)), ((2, 1, 3, 1), (5, 1, 4)), ((2, 3), (2, 3)), ((1,), ())]
)
def test_numbers_next_to_others_broadcast(shapes: Any) -> None:
    numbers = np.random.default_rng(5)
    same(tf.math.nextafter, *(numbers.normal(size=shape).astype(np.float32) for shape in shapes))


def test_shapes_that_broadcast_over_many_axes_run_on_the_host() -> None:
    shapes = (2, 1, 2, 1, 2), (1, 2, 1, 2, 1)
    x, y = (np.ones(shape, np.float32) for shape in shapes)
    with tf.Graph().as_default(), tf.device("/device:GPU:0"), tf.Session(config=GPU) as session:
        first = tf.placeholder(tf.float32, x.shape)
        out = tf.math.nextafter(first, y)
        assert "broadcast over 5 axes" in str(session.explain(out, {first: x}))
        assert (session.run(out, {first: x}) == 1).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts_of_complex_numbers(dtype: Any) -> None:
    numbers = np.random.default_rng(6).normal(size=(2, 5, 7, 3))
    z = (numbers[0] + 1j * numbers[1]).astype(dtype)
    for function in (tf.real, tf.imag, tf.conj):
        same(function, z)
    for function in (tf.abs, tf.angle):
        same(function, z, rtol=4 * np.finfo(dtype).eps)
    x, y = (array.astype(z.real.dtype) for array in numbers)
    same(tf.complex, x, y)
    assert (same(tf.complex, x, y[0]) == x + 1j * y[0]).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_not_finite_ends_the_run(dtype: Any) -> None:
    def check(x: Any) -> Any:
        return tf.check_numerics(tf.identity(x) + x, "here") * 2.0

    x = np.arange(9, dtype=dtype)
    np.testing.assert_array_equal(same(check, x), 4 * x)
    for bad, message in (([np.inf], "Inf"), ([np.nan], "NaN"), ([np.nan, -np.inf], "Inf and NaN")):
        x[1 : 1 + len(bad)] = bad
        for device in ("/device:GPU:0", "/device:CPU:0"):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"here : Tensor had {message} v"
            ):
                run(check, device, x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_norms_are_of_squares_that_would_not_fit(dtype: Any) -> None:
    x = np.full((3, 40), 100 if dtype == np.float16 else 40000, dtype)
    x[1:] = np.arange(80).reshape(2, 40)
    for axis in (0, 1):
        same(lambda given, axis=axis: tf.math.reduce_euclidean_norm(given, axis), x, rtol=1e-3)
