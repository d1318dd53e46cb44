"""Regions of ops with channels first, which compute with channels last on GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig
from tests.devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

IMAGES = (2, 4, 7, 6)


def numbers(shape: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def weights(*shape: int, seed: int = 1) -> Any:
    return tf.constant(numbers(shape, seed) / np.sqrt(np.prod(shape[:-1])))


def cast(x: Any, like: Any) -> Any:
    return tf.cast(x, like.dtype)


def convolved(x: Any, channels: int, size: int = 3, **options: Any) -> Any:
    filters = cast(weights(size, size, x.shape.as_list()[1], channels), x)
    options = {"strides": [1, 1, 1, 1], "padding": "SAME", **options}
    return tf.nn.conv2d(x, filters, data_format="NCHW", **options)


def normalized(x: Any) -> Any:
    channels = x.shape.as_list()[1]
    scale, offset = tf.ones([channels]), tf.linspace(-0.5, 0.5, channels)
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset, data_format="NCHW")
    return y, mean, variance


def residual(x: Any) -> list[Any]:
    y, mean, _ = normalized(convolved(x, 8))
    y = tf.nn.relu(y)
    z = tf.nn.relu(convolved(y, 8, 1) + y)
    pooled = tf.nn.max_pool(z, [1, 1, 3, 2], [1, 1, 2, 1], "SAME", data_format="NCHW")
    loss = tf.reduce_mean(cast(tf.reduce_mean(pooled, [2, 3]), mean) ** 2)
    return [loss, mean, tf.gradients(loss, [x])[0]]


def pools_and_biases(x: Any) -> list[Any]:
    strides = {"strides": [1, 1, 2, 1], "dilations": [1, 1, 1, 1]}
    y = convolved(x, 6, padding=[[0, 0], [0, 0], [1, 0], [2, 1]], **strides)
    bias = cast(tf.linspace(-1.0, 1.0, 6), x)
    y = tf.nn.relu(tf.nn.bias_add(y, bias, data_format="NCHW"))
    y = convolved(y, 4, padding="VALID", dilations=[1, 1, 1, 2])
    pooled = tf.nn.avg_pool(y, [1, 1, 1, 2], [1, 1, 1, 1], "VALID", data_format="NCHW")
    return [pooled, *tf.gradients(pooled, [x, bias])]


def fetched_inside(x: Any) -> list[Any]:
    y = convolved(x, 8)
    z = convolved(tf.tanh(y) * cast(tf.constant(0.5), y), 4)
    return [y, convolved(z, 4), tf.reduce_sum(z, [1]), tf.reduce_max(z, [2, 3], keepdims=True)]


def other_ops_between(x: Any) -> list[Any]:
    y = convolved(convolved(x, 8), 8)
    y = tf.concat([y, -y], 1)
    kernel = cast(weights(3, 3, 16, 1), y)
    y = tf.nn.depthwise_conv2d(y, kernel, [1, 1, 1, 1], "SAME", data_format="NCHW")
    column = cast(tf.reshape(tf.linspace(0.0, 1.0, 16), [1, 16, 1, 1]), y)
    y = convolved(convolved(convolved(y + column, 4), 4), 4)
    return [tf.reduce_sum(y, [2])]


def in_a_branch(x: Any) -> list[Any]:
    def changed() -> Any:
        return convolved(convolved(convolved(x, 4), 4), 4)

    is_large = tf.reduce_sum(cast(x, tf.constant(0.0))) > 1e6
    return [tf.cond(is_large, lambda: x, changed)]


def in_a_loop(x: Any) -> list[Any]:
    def step(i: Any, y: Any) -> Any:
        return i + 1, cast(tf.constant(0.5), y) * convolved(convolved(y, 4), 4)

    return [tf.while_loop(lambda i, y: i < 3, step, (0, x))[1]]


def run(
    make: Callable[[Any], list[Any]], dtype: Any, device: str, is_run: bool = True, **rewrites: Any
) -> Any:
    """Return the results, if the graph `is_run`, and the report of the plan."""
    options = tf.GraphOptions(rewrite_options=RewriterConfig(**rewrites))
    gpus = tf.GPUOptions(emulated_gpus=[64])
    config = tf.ConfigProto(gpu_options=gpus, graph_options=options, allow_soft_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session, tf.device(device):
        x = tf.placeholder(dtype, IMAGES)
        results, feeds = make(x), {x: numbers(IMAGES).astype(dtype)}
        report = str(session.explain(results, feeds))
        return session.run(results, feeds) if is_run else [], report


def summary(report: str) -> str:
    return next(line for line in report.splitlines() if line.startswith("layout_optimizer"))


@pytest.mark.parametrize(
    ("make", "regions"),
    [
        (fetched_inside, 1),
        (in_a_branch, 1),
        (in_a_loop, 1),
        *(
            pytest.param(make, regions, marks=pytest.mark.exhaustive)
            for make, regions in [(residual, 1), (pools_and_biases, 1), (other_ops_between, 2)]
        ),
    ],
)
def test_results_are_those_of_the_cpu(make: Any, regions: int) -> None:
    results, report = run(make, np.float16, "/GPU:0")
    assert f" {regions} regions have their channels last" in summary(report), summary(report)
    assert "gg_channels" not in report
    for result, exact in zip(results, run(make, np.float32, "/CPU:0")[0], strict=True):
        assert result.shape == exact.shape
        np.testing.assert_allclose(result, exact, atol=2e-2 * abs(exact).max(), rtol=2e-2)


def test_it_can_be_switched_off() -> None:
    _, report = run(residual, np.float16, "/GPU:0", False, layout_optimizer=RewriterConfig.OFF)
    assert "switched off: layout_optimizer is OFF" in summary(report)


@pytest.mark.parametrize("device", ["/GPU:0", "/CPU:0"])
def test_dtypes_and_devices_without_such_kernels_are_as_they_were(device: str) -> None:
    dtype = np.float32 if device == "/GPU:0" else np.float16
    assert " 0 regions" in summary(run(lambda x: [convolved(x, 4)], dtype, device, False)[1])


def test_one_convolution_has_as_many_copies_as_ends() -> None:
    _, report = run(lambda x: [convolved(x, 4)], np.float16, "/GPU:0", False)
    assert " 0 regions" in summary(report)
