"""Random numbers drawn by a GPU: the host's, run after run, whatever plan draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from tests.devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

GPU = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
ON_GPU, ON_CPU = "/device:GPU:0", "/device:CPU:0"

Build = Callable[[], Sequence[Any]]


def runs(build: Build, device: str, count: int = 1, sizes: Sequence[int] = ()) -> list[Any]:
    """Return the results of `count` runs of fresh ops on a device; sizes: fed to the first
    tensor.
    """
    with tf.Graph().as_default():
        with tf.device(device):
            fetches = build()
        with tf.Session(config=GPU) as session:
            for value in fetches:
                assert device == ON_CPU or "runs on the host" not in str(session.explain(value))
            return [session.run(fetches) for _ in range(count)]


def same(build: Build, rtol: float = 0, count: int = 1) -> list[Any]:
    """Check that the runs on the GPU and on the host agree, and return the results."""
    result, wanted = runs(build, ON_GPU, count), runs(build, ON_CPU, count)
    for ours, theirs in zip(result, wanted):
        for one, other in zip(ours, theirs):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol / 10)
    return result


# -- the numbers


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_are_the_host_s_to_the_bit(dtype: str) -> None:
    same(lambda: [tf.random.uniform([size], dtype=dtype, seed=9) for size in (1, 5, 1003, 40000)])


@pytest.mark.parametrize(
    ("dtype", "rtol"),
    [("float16", 1e-3), ("bfloat16", 8e-3), ("float32", 2e-6), ("float64", 1e-13)],
)
@pytest.mark.parametrize("function", [tf.random.normal, tf.random.truncated_normal])
def test_normal_numbers_differ_in_the_last_places(function: Any, dtype: str, rtol: float) -> None:
    [[small, large]] = same(lambda: [function([n], dtype=dtype, seed=9) for n in (3, 9001)], rtol)
    if function is tf.random.truncated_normal:
        assert np.abs(large).max() <= 2
    assert 0.8 < large.astype(np.float64).std() < 1.1 and abs(small).max() > 0


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_the_host_s(dtype: str) -> None:
    most = np.iinfo(dtype).max
    ranges = [(-7, 5), (0, 1024), (-most, most), (3, 4)]
    same(lambda: [tf.random.uniform([999], *limits, dtype, seed=4) for limits in ranges])


def test_numbers_that_begin_within_a_pack_are_stored_one_by_one() -> None:
    def build() -> Sequence[Any]:
        return [tf.concat([tf.zeros([1]), tf.random.uniform([30], seed=2)], 0)]

    same(build)


def test_bounds_that_do_not_go_together_are_refused_as_on_the_host() -> None:
    for device in (ON_GPU, ON_CPU):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 5"
        ):
            runs(lambda: [tf.random.uniform([3], 5, 5, tf.int32)], device)


@pytest.mark.parametrize("seed_dtype", ["int32", "int64"])
def test_stateless_numbers_follow_from_seeds_in_the_gpu_s_memory(seed_dtype: str) -> None:
    def build() -> Sequence[Any]:
        seed = tf.constant([-7, 2**31 - 1], seed_dtype)
        return [
            tf.random.stateless_uniform([50], seed),
            tf.random.stateless_uniform([50], seed, -3, 9, tf.int64),
            tf.random.stateless_uniform([51], seed, dtype=tf.float64),
        ]

    same(build)
    same(lambda: [tf.random.stateless_normal([50], tf.constant([1, 2], seed_dtype))], 2e-6)


@pytest.mark.parametrize(("rows", "classes", "count"), [(1, 1, 1), (3, 700, 9), (70, 5, 300)])
def test_classes_are_the_host_s(rows: int, classes: int, count: int) -> None:
    logits = np.random.default_rng(3).normal(size=(rows, classes)).astype(np.float32)
    logits[-1, 0] = -np.inf
    [[drawn, *_]] = same(
        lambda: [
            tf.random.categorical(logits, count, seed=6),
            tf.random.stateless_categorical(logits, count, [4, 5]),
            tf.random.categorical(logits.astype(np.float16), count, tf.int32, seed=6),
        ]
    )
    if classes > 1:
        assert (drawn[-1] > 0).all()


# -- the streams


def test_captured_runs_go_on_as_runs_on_the_host_do() -> None:
    def build() -> Sequence[Any]:
        drawn = tf.random.uniform([7], seed=1)
        return [drawn, tf.random.uniform([3, 2], 0, 99, tf.int32, seed=2), drawn * 2.0]

    with tf.Graph().as_default(), tf.device(ON_GPU), tf.Session(config=GPU) as session:
        assert "captured from" in str(session.explain(build()))
    result = same(build, count=6)
    assert len({array[0].tobytes() for array in result}) == 6
    same(lambda: [tf.random.categorical([[1.0, 2.0, 3.0]], 20, seed=1)], count=4)


def test_two_plans_of_a_session_draw_from_one_stream() -> None:
    def drawn(device: str) -> list[Any]:
        with tf.Graph().as_default(), tf.device(device):
            x = tf.random.uniform([5], seed=3)
            with tf.Session(config=GPU) as session:
                plans = [x, [x, x + 1.0], x, x, [x, x + 1.0], x, [x, x + 1.0], x]
                return [session.run(plan) for plan in plans]

    for ours, theirs in zip(drawn(ON_GPU), drawn(ON_CPU)):
        np.testing.assert_array_equal(ours, theirs)


def test_plans_with_open_sizes_go_on_with_the_stream_too() -> None:

    def drawn(device: str) -> list[Any]:
        with tf.Graph().as_default(), tf.device(device):
            size = tf.placeholder(tf.int32, [1])
            x = tf.random.uniform(size, seed=3)
            with tf.Session(config=GPU) as session:
                return [session.run(x, {size: [n % 13]}) for n in range(30)]

    for ours, theirs in zip(drawn(ON_GPU), drawn(ON_CPU)):
        np.testing.assert_array_equal(ours, theirs)


def test_streams_without_seeds_are_not_those_of_other_sessions() -> None:
    first, second = (runs(lambda: [tf.random.uniform([4])], ON_GPU, 2) for _ in range(2))
    drawn = {array[0].tobytes() for array in (*first, *second)}
    assert len(drawn) == 4
