"""Softmax of long rows, in one pass less: the maximum and the sum are computed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from ..devices.cuda.gpus import needs_cxx
from .emulated import Machine, on_gpu

pytestmark = needs_cxx


def logits(*shape: int) -> np.ndarray:
    values = 5 * np.random.default_rng(list(shape)).normal(size=shape)
    values[..., :: shape[-1] // 7] = -np.inf
    return values


def shifted(x: Any) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore"):
        x = x - x.max(-1, keepdims=True)
        return x, np.exp(x).sum(-1, keepdims=True)


def chances(x: Any) -> Any:
    x, total = shifted(x)
    return np.exp(x) / total


def logarithms(x: Any) -> Any:
    x, total = shifted(x)
    return x - np.log(total)


def check(result: Any, exact: Any) -> None:
    rough = result.dtype == np.float16
    np.testing.assert_allclose(
        result, exact, rtol=2e-3 if rough else 2e-5, atol=4e-3 if rough else 1e-6
    )


@pytest.mark.parametrize(
    "dtype",
    [
        np.float32,
        *(pytest.param(it, marks=pytest.mark.exhaustive) for it in (np.float16, np.float64)),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [(3, 9001), (2, 8192), (1, 30000), (40001,)],
    ids=lambda shape: "x".join(map(str, shape)),
)
def test_rows_and_one_long_axis(dtype: Any, shape: tuple[int, ...]) -> None:
    x = logits(*shape).astype(dtype)
    check(on_gpu(tf.nn.softmax, x), chances(x.astype("d")))
    check(on_gpu(tf.nn.log_softmax, x), logarithms(x.astype("d")))


@pytest.mark.parametrize("size", [9000, 40000])
def test_rows_of_infinities_and_nan(size: int) -> None:
    x = logits(4, size).astype("f")
    x[0], x[1, 7], x[2, size // 2 :], x[3, 5] = -np.inf, np.inf, -np.inf, np.nan
    for row in range(4) if size > 16384 else [slice(None)]:
        result = on_gpu(tf.nn.softmax, x[row])
        with np.errstate(invalid="ignore"):
            check(result, chances(x[row].astype("d")))


def test_cross_entropy_and_threads_in_any_order(machine: Machine) -> None:
    machine.how = {"backwards": True}
    x, labels = logits(3, 9000).astype("f"), np.zeros((3, 9000), "f")
    x[np.isinf(x)] = 0
    labels[[0, 1, 2], [5, 77, 8999]] = 1

    def loss(x: Any, labels: Any) -> Any:
        return tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)

    check(on_gpu(loss, x, labels), -(logarithms(x.astype("d")) * labels).sum(-1))


def other_forms() -> list[Callable[[Any], Any]]:
    """Functions that look like a softmax, but are not, or not only."""
    return [
        lambda x: tf.reduce_sum(tf.exp(x - tf.reduce_max(x, 1, keepdims=True)), 1),
        lambda x: tf.reduce_sum(tf.exp(x - tf.reduce_min(x, 1, keepdims=True) - 9), 1),
        lambda x: tf.reduce_sum(tf.exp(x - tf.reduce_max(2 * x, 1, keepdims=True)), 1),
        lambda x: tf.reduce_sum(tf.exp(x - tf.reduce_max(x, 1, keepdims=True)) * x, 1),
        lambda x: tf.reduce_logsumexp(x, 1) + tf.reduce_max(x, 1) + tf.reduce_mean(x, 1),
    ]


@pytest.mark.parametrize(
    "form", [0, 4, *(pytest.param(form, marks=pytest.mark.exhaustive) for form in (1, 2, 3))]
)
def test_other_sums_of_powers(form: int) -> None:
    x = np.clip(logits(3, 9000), -9, 9).astype("f")
    result = on_gpu(other_forms()[form], x)
    with tf.Graph().as_default(), tf.Session() as session:
        exact = session.run(other_forms()[form](tf.constant(x.astype("d"))))
    np.testing.assert_allclose(result, exact, rtol=1e-4)


def test_memory_is_read_twice(machine: Machine) -> None:
    """A row is read for its maximum and sum, and for its result; one axis by two kernels."""
    on_gpu(tf.nn.softmax, np.zeros(40000, "f"))
    assert len(machine.functions) == 2
