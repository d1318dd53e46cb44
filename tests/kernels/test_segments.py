"""Rows by segments on an emulated GPU, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.dtypes import bfloat16

from ..devices.cuda.gpus import needs_cxx
from .emulated import on_gpu
from .on_both import check

pytestmark = needs_cxx

draw = np.random.default_rng(11)

IDS = {
    "one": np.zeros(1),
    "one with all rows": np.zeros(1300),
    "each its own": np.arange(700),
    "gaps": np.repeat([3, 4, 9], [1, 5, 64]),
    "first is large": np.full(3, 200),
    "pieces end with segments": np.repeat(np.arange(40), 4),
    "pieces end within": np.repeat(np.arange(40), 5),
    "any": np.sort(draw.integers(0, 300, 4097)),
}
"""Ids whose runs lie in different ways to the pieces of changes (4 rows, or more)."""

REDUCED = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def by_segment(what: str, data: Any, ids: Any) -> Any:
    """NumPy's answer, in double."""
    out = np.full((int(ids[-1]) + 1, *data.shape[1:]), float(what == "prod"))
    for value in np.unique(ids):
        rows = data[ids == value].astype(np.float64)
        out[value] = rows.mean(0) if what == "mean" else REDUCED[what].reduce(rows, 0)
    return out


@pytest.mark.parametrize("what", ["mean", "prod", "max"])
@pytest.mark.parametrize("label", IDS)
def test_segments_of_ascending_ids(label: str, what: str) -> None:
    ids = IDS[label].astype(np.int32 if len(what) > 3 else np.int64)
    data = 1 + draw.normal(0, 0.02, (ids.size, 3)).astype(np.float32)
    result = on_gpu(getattr(tf, f"segment_{what}"), data, ids)
    np.testing.assert_allclose(result, by_segment(what, data, ids), 2e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint64"])
def test_segments_of_all_dtypes(dtype: str) -> None:
    ids = np.sort(draw.integers(0, 9, 60)).astype(np.int32)
    data = draw.integers(0, 2, (60, 2, 3))
    kind = bfloat16.as_numpy_dtype if dtype == "bfloat16" else np.dtype(dtype)
    for what in ("sum", "mean", "min"):
        result = on_gpu(getattr(tf, f"segment_{what}"), data.astype(kind), ids)
        wanted = by_segment(what, data, ids)
        if what == "mean" and np.dtype(kind).kind in "iu":
            wanted = np.trunc(wanted)
        assert result.dtype == kind
        np.testing.assert_allclose(result.astype(np.float64), wanted, 8e-3)


def test_a_mean_of_halves_is_rounded_once() -> None:
    data, ids = np.full((40, 1), 60000, np.float16), np.zeros(40, np.int32)
    assert on_gpu(tf.segment_mean, data, ids).tolist() == [[60000]]


def test_segments_of_nothing() -> None:
    none = np.zeros(0, np.int32)
    assert on_gpu(tf.segment_sum, np.zeros((0, 3), np.float32), none).shape == (0, 3)
    thin = on_gpu(tf.segment_max, np.zeros((4, 0), np.float32), np.int32([0, 0, 2, 2]))
    assert thin.shape == (3, 0)


@pytest.mark.parametrize("ids", [[0, 2, 1, 3], [-1, 0, 0, 1], [-2, -1, -1, -1]])
def test_ids_that_do_not_ascend_end_the_run(ids: list[int]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment ids are not increasing"):
        on_gpu(tf.segment_sum, np.ones((4, 2), np.float32), np.int32(ids))


def test_a_run_that_failed_leaves_the_next_one_alone() -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/GPU:0"):
            ids = tf.placeholder(tf.int32, [3])
            result = tf.segment_sum(tf.ones([3]), ids, name="parts")
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="node parts"):
                session.run(result, {ids: [2, 1, 0]})
            assert session.run(result, {ids: [0, 2, 2]}).tolist() == [1, 0, 2]


def test_gradients_of_segments() -> None:
    data, ids = draw.normal(size=(50, 3)), np.sort(draw.integers(0, 9, 50)).astype(np.int32)
    for what in ("sum", "mean", "max", "min"):
        make = getattr(tf, f"segment_{what}")

        def back(x: Any, ids: Any, make: Any = make) -> Any:
            y = make(x, ids)
            return tf.gradients(y * y, x)[0]

        check(back, data, ids)


# -- rows at indices


@pytest.mark.parametrize("what", ["sum", "mean", "sqrt_n"])
@pytest.mark.parametrize("label", IDS)
def test_rows_at_indices_by_segment(label: str, what: str) -> None:
    ids = IDS[label].astype(np.int32)
    data = draw.normal(size=(30, 5)).astype(np.float32)
    indices = draw.integers(0, 30, ids.size)
    make = getattr(tf, f"sparse_segment_{what}")
    check(make, data, indices, ids)
    check(lambda *given: make(*given, num_segments=int(ids[-1]) + 3), data, indices, ids)


@pytest.mark.parametrize("what", ["mean", "sqrt_n"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_gradients_of_rows_at_indices(what: str, dtype: str) -> None:
    kind = bfloat16.as_numpy_dtype if dtype == "bfloat16" else np.dtype(dtype)
    data = draw.normal(size=(30, 4)).astype(kind)
    indices = draw.integers(0, 30, 5000).astype(np.int32)
    ids = np.sort(draw.integers(0, 80, 5000)).astype(np.int32)
    make = getattr(tf, f"sparse_segment_{what}")

    def back(x: Any, indices: Any, ids: Any) -> Any:
        y = make(x, indices, ids, num_segments=90)
        return tf.cast(tf.gradients(y, x)[0], tf.float64)

    check(back, data, indices, ids, within=2e-2 if dtype == "bfloat16" else 1e-4)


def test_no_rows_give_zeros() -> None:
    none = np.zeros(0, np.int32)
    for rows in (0, 4):
        data = np.ones((rows, 2), np.float32)
        result = on_gpu(
            lambda x, i, s: tf.sparse_segment_mean(x, i, s, num_segments=3), data, none, none
        )
        assert result.tolist() == [[0, 0]] * 3
        assert on_gpu(tf.sparse_segment_sum, data, none, none).shape == (0, 2)


@pytest.mark.parametrize(
    ("indices", "ids", "message"),
    [
        ([0, 5, 1], [0, 0, 1], r"an index is not in \[0, 5\)"),
        ([0, -1, 1], [0, 0, 1], r"an index is not in \[0, 5\)"),
        ([0, 1, 2], [1, 0, 1], "not increasing"),
        ([0, 1, 2], [-1, 0, 1], "not increasing"),
        ([0, 1, 2], [0, 1, 4], r"a segment id is not in \[0, 4\)"),
    ],
)
def test_wrong_indices_and_ids_end_the_run(indices: Any, ids: Any, message: str) -> None:
    data, inputs = np.ones((5, 2), np.float32), (np.int64(indices), np.int32(ids))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        on_gpu(lambda x, i, s: tf.sparse_segment_sum(x, i, s, num_segments=4), data, *inputs)
    if ids[-1] < 4:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            on_gpu(tf.sparse_segment_sum, data, *inputs)


def test_a_gradient_of_wrong_ids_ends_the_run() -> None:
    make = tf.raw_ops.SparseSegmentMeanGrad
    rows, right = np.ones((4, 2), np.float32), np.int32([0, 1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment id is not in"):
        on_gpu(lambda g, i, s: make(g, i, s, 6), rows, right, np.int32([0, 4, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="index is not in"):
        on_gpu(lambda g, i, s: make(g, i, s, 6), rows, np.int32([0, 6, 1]), right)
