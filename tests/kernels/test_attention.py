"""Attention as one kernel on GPUs: the ops that it fuses, and the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.config import RewriterConfig
from tests.devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

GPU = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]), allow_soft_placement=True)


def numbers(shape: Sequence[int], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def wanted(q: Any, k: Any, v: Any, scale: float = 1.0, mask: Any = 0.0) -> np.ndarray:
    """Return the same in double precision."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * scale + mask
    with np.errstate(invalid="ignore"):
        chances = np.exp(scores - scores.max(-1, keepdims=True))
    return chances / chances.sum(-1, keepdims=True) @ v


def run(fetches: Any, feeds: dict[Any, Any] | None = None) -> tuple[Any, str]:
    """Return the result of a run on the GPU, and the report of its plan."""
    with tf.Session(config=GPU) as session:
        return session.run(fetches, feeds), str(session.explain(fetches, feeds))


def close(result: Any, other: Any) -> None:
    half = result.dtype == np.float16
    np.testing.assert_allclose(
        result, other, rtol=4e-3 if half else 2e-5, atol=2e-3 if half else 2e-6
    )


@pytest.fixture(autouse=True)
def on_gpu() -> Any:
    with tf.Graph().as_default(), tf.device("/device:GPU:0"):
        yield


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("batch", "m", "n", "d", "dv"),
    [((1,), 1, 1, 1, 1), ((2, 3), 70, 130, 64, 64), ((2,), 5, 65, 8, 90), ((1, 1), 64, 64, 128, 4)],
)
def test_heads_of_any_size_up_to_128(
    dtype: Any, batch: Any, m: int, n: int, d: int, dv: int
) -> None:
    q, k, v = (
        numbers((*batch, *value), dtype, index)
        for index, value in enumerate([(m, d), (n, d), (n, dv)])
    )
    inputs = [tf.placeholder(dtype, array.shape) for array in (q, k, v)]
    scores = tf.matmul(inputs[0], inputs[1], transpose_b=True) / np.sqrt(d).astype(dtype)
    out = tf.matmul(tf.nn.softmax(scores), inputs[2], name="out")
    result, report = run(out, dict(zip(inputs, (q, k, v))))
    assert "_FusedAttention" in report
    close(result, wanted(q, k, v, d**-0.5))


@pytest.mark.parametrize(
    "shape",
    [(2, 3, 7, 9), (2, 1, 1, 9), (1, 3, 7, 9), (7, 9), (9,), (2, 3, 1, 1), (3, 1, 9), (2, 3, 7, 1)],
)
def test_masks_are_repeated_as_adding_repeats_them(shape: Sequence[int]) -> None:
    q, k, v = numbers((2, 3, 7, 5)), numbers((2, 3, 9, 5)), numbers((2, 3, 9, 6))
    mask = np.where(numbers(shape) > 0.4, -9, 0).astype(np.float32)
    keys, added = tf.placeholder(tf.float32, k.shape), tf.placeholder(tf.float32, shape)
    scores = tf.matmul(q, tf.transpose(keys, [0, 1, 3, 2])) * 0.3
    out = tf.matmul(tf.identity(tf.nn.softmax(added + tf.identity(scores))), v, name="out")
    result, report = run(out, {keys: k, added: mask})
    assert "_FusedAttention" in report
    close(result, wanted(q, k, v, 0.3, mask))


def test_keys_whose_columns_come_first_are_read_as_they_are() -> None:
    q, k, v = numbers((3, 66, 40)), numbers((3, 40, 70)), numbers((3, 70, 33))
    keys = tf.placeholder(tf.float32, k.shape)
    result, report = run(tf.matmul(tf.nn.softmax(tf.matmul(q, keys)), v), {keys: k})
    assert "_FusedAttention" in report
    close(result, wanted(q, k.swapaxes(1, 2), v))


def test_keys_that_are_all_masked_so_far_and_rows_that_are_wholly() -> None:
    q, k, v = numbers((1, 3, 4)), numbers((1, 150, 4)), numbers((1, 150, 4))
    mask = np.zeros((3, 150), np.float32)
    mask[0, :140], mask[1, 5:], mask[2] = -np.inf, -np.inf, -np.inf
    keys = tf.placeholder(tf.float32, k.shape)
    out = tf.matmul(tf.nn.softmax(tf.matmul(q, keys, transpose_b=True) + mask), v)
    result, report = run(out, {keys: k})
    assert "_FusedAttention" in report
    close(result, wanted(q, k, v, 1.0, mask))
    assert np.isnan(result[0, 2]).all() and not np.isnan(result[0, :2]).any()


def test_scores_are_kept_where_somebody_takes_them() -> None:
    q, k, v = (tf.placeholder(tf.float32, (2, 4, 4)) for _ in range(3))
    values = [numbers((2, 4, 4), seed=seed) for seed in range(3)]
    chances = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
    out = tf.matmul(chances, v)
    for fetches in ([out, chances], [out, *tf.gradients(out, [q])]):
        (result, *_), report = run(fetches, dict(zip((q, k, v), values)))
        assert "_FusedAttention" not in report
        close(
            result,
            wanted(numbers((2, 4, 4)), numbers((2, 4, 4), seed=1), numbers((2, 4, 4), seed=2)),
        )


@pytest.mark.parametrize("what", ["head", "dtype", "batch", "axis", "transposed", "size"])
def test_what_the_kernel_has_not_stays_as_it_is(what: str) -> None:
    dtype = np.float64 if what == "dtype" else np.float32
    head = 130 if what == "head" else 4
    q, k = numbers((2, 3, head), dtype), numbers((2, 3, head), dtype, 1)
    v = numbers((1 if what == "batch" else 2, 3, 3), dtype)
    keys = tf.placeholder(dtype, k.shape)
    scores = tf.matmul(q, keys, transpose_b=True)
    mask = numbers((2, 3, 3), dtype)
    if what == "size":
        scores = tf.matmul(q[:, :1], keys, transpose_b=True)
        scores, q = scores + mask, np.repeat(q[:, :1], 3, 1)
    else:
        scores += mask
    chances = tf.nn.softmax(scores, axis=1 if what == "axis" else -1)
    out = tf.matmul(chances, v, transpose_a=what == "transposed")
    result, report = run(out, {keys: k})
    assert "_FusedAttention" not in report
    if what not in ("axis", "transposed"):
        close(result, wanted(q, k, v, 1.0, mask))


def test_it_can_be_switched_off() -> None:
    q = tf.placeholder(tf.float32, (2, 4, 4))
    out = tf.matmul(tf.nn.softmax(tf.matmul(q, q, transpose_b=True)), q)
    options = tf.GraphOptions(rewrite_options=RewriterConfig(remapping=RewriterConfig.OFF))
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]), graph_options=options)
    with tf.Session(config=config) as session:
        assert "_FusedAttention" not in str(session.explain(out, {q: numbers((2, 4, 4))}))


@pytest.mark.parametrize("masks", [0, 1])
def test_the_op_is_there_on_the_host_too(masks: int) -> None:
    q, k, v, mask = (numbers((2, *sizes)) for sizes in [(3, 4), (5, 4), (5, 6), (1, 5)])
    with tf.device("/device:CPU:0"):
        op = tf.raw_ops._FusedAttention
        out = op(q, k, v, [mask] * masks, num_args=masks, scale=0.5, name="attention")
    result, _ = run(out)
    close(result, wanted(q, k, v, 0.5, mask * masks))
