"""Matrix products with fused ops, and their precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .machine import EMULATED, TOLERANCE, numbers, on_gpus

pytestmark = pytest.mark.gpu(or_emulated=True)

SIZES = [(5, 3, 7), (64, 48, 80), (1, 33, 2), (130, 1, 16)]
"""Rows, columns, and how many products are summed."""


@pytest.fixture(autouse=True)
def off_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    yield
    tf.config.experimental.enable_tensor_float_32_execution(False)


def finished(x: Any, w: Any, biases: Any, addend: Any) -> list[Any]:
    """Products with all that may follow. The second bias begins anywhere."""
    _, bias = tf.unstack(biases)
    return [
        tf.nn.bias_add(tf.matmul(x, w), bias),
        tf.nn.relu(tf.matmul(x, w)),
        tf.matmul(x, w) + addend,
        tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), bias) + addend),
    ]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("sizes", SIZES[: 2 if EMULATED else None])
def test_what_follows_a_product_is_what_the_cpu_finds(dtype: Any, sizes: Any) -> None:
    m, n, k = sizes
    shapes = (m, k), (k, n), (2, n), (m, n)
    values = [numbers(*shape).astype(dtype.as_numpy_dtype) for shape in shapes]
    with tf.Graph().as_default(), on_gpus() as session:
        feeds = [tf.placeholder(dtype, array.shape) for array in values]
        result = session.run(finished(*feeds), dict(zip(feeds, values)))
    x, w, biases, addend = (array.astype(np.float64) for array in values)
    product, bias = x @ w, biases[1]
    wanted = [
        product + bias,
        np.maximum(product, 0),
        product + addend,
        np.maximum(product + bias + addend, 0),
    ]
    error = TOLERANCE[dtype.name] / 2
    for one, other in zip(result, wanted, strict=True):
        one = np.asarray(one).astype(np.float64)
        np.testing.assert_allclose(one, other, error, error * np.abs(other).max())


def test_products_are_exact_unless_tf32_is_asked_for() -> None:
    x, w = numbers(256, 512), numbers(512, 128, seed=1)
    wanted = x.astype(np.float64) @ w
    with tf.Graph().as_default(), on_gpus() as session:
        a, b = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.float32, w.shape)
        y = tf.nn.relu(tf.matmul(a, b))
        for enabled, error in ((False, 1e-5), (True, 5e-3), (False, 1e-5)):
            tf.config.experimental.enable_tensor_float_32_execution(enabled)
            result = session.run(y, {a: x, b: w})
            np.testing.assert_allclose(result, np.maximum(wanted, 0), error, error * 40)
