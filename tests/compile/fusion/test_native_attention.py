"""Attention on the CPU: products around a Softmax are one native call, equal to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from tests.devices.native_programs import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(dtype)


def attend(arrays: Any, adj_y: bool, scale: float | None, mask: Any, level: Any) -> Any:
    """Compute attention by a session of that level, and return the pass's report too."""
    options = tf.OptimizerOptions(global_jit_level=level)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        query, key, value = (tf.placeholder(array.dtype, array.shape) for array in arrays)
        scores = tf.matmul(query, key, transpose_b=adj_y)
        scores = scores if scale is None else scores * tf.constant(scale, scores.dtype)
        scores = scores if mask is None else scores + tf.constant(mask)
        result = tf.matmul(tf.nn.softmax(scores), value)
        feeds = dict(zip((query, key, value), arrays))
        for _ in range(2):
            found = session.run(result, feeds)
        reports = session.explain(result, feeds).reports
    [lines] = [report.lines for report in reports if report.name == "attention_fusion"]
    return found, list(lines)


def both(arrays: Any, adj_y: bool = True, scale: float | None = 0.3, mask: Any = None) -> int:
    """By native code and by NumPy, which must find the same; how many became one op."""
    found, done = attend(arrays, adj_y, scale, mask, tf.OptimizerOptions.ON_1)
    wanted, nothing = attend(arrays, adj_y, scale, mask, tf.OptimizerOptions.OFF)
    assert not nothing
    error = 2e-5 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, error, error)
    return len(done)


def heads(batch: Any, sizes: Any, adj_y: bool = True, dtype: Any = np.float32) -> list[Any]:
    m, n, d, dv = sizes
    key = (n, d) if adj_y else (d, n)
    return [numbers(*batch, *shape, dtype=dtype) for shape in ((m, d), key, (n, dv))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("adj_y", [True, False])
@pytest.mark.parametrize("batch, sizes", [((2, 4), (64, 64, 16, 16)), ((3,), (77, 83, 21, 70))])
def test_attention_is_one_op(batch: Any, sizes: Any, adj_y: bool, dtype: Any) -> None:
    assert both(heads(batch, sizes, adj_y, dtype), adj_y) == 1


@pytest.mark.parametrize(
    "mask", [(4, 2, 70, 90), (4, 1, 1, 90), (70, 90), (70, 1), (2, 70, 90), (1, 1)]
)
def test_masks_of_any_shape_are_added(mask: Any) -> None:
    assert both(heads((4, 2), (70, 90, 8, 8)), mask=numbers(*mask)) == 1


def test_keys_that_are_masked_away_count_nothing() -> None:
    mask = np.where(np.tri(80, dtype=bool), np.float32(0), np.float32(-np.inf))
    assert both(heads((5,), (80, 80, 16, 16)), mask=mask) == 1


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_sizes(data: Any) -> None:
    m, n = (data.draw(st.integers(28, 150)) for _ in range(2))
    d, dv = (data.draw(st.integers(1, 70)) for _ in range(2))
    scale = data.draw(st.sampled_from([None, 1.0, -0.25]))
    adj_y, batch = data.draw(st.booleans()), data.draw(st.sampled_from([(22,), (11, 2), (1, 23)]))
    assert both(heads(batch, (m, n, d, dv), adj_y), adj_y, scale) == 1


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays, results = heads((3,), (200, 150, 40, 40)), []
    for threads in "1", "2", "5":
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        found, _ = attend(arrays, True, 0.3, None, tf.OptimizerOptions.ON_1)
        results.append(found.tobytes())
    assert results[0] == results[1] == results[2]


def test_no_number_stays_with_its_query() -> None:
    query, key, value = heads((4,), (64, 96, 16, 16))
    query[1, 5, 3] = np.nan
    found, _ = attend((query, key, value), True, 0.3, None, tf.OptimizerOptions.ON_1)
    assert np.isnan(found[1, 5]).all()
    found[1, 5] = 0
    assert np.isfinite(found).all()


@pytest.mark.parametrize("sizes", [(1, 300, 16, 16), (27, 300, 16, 16), (300, 8, 16, 16)])
def test_few_queries_or_keys_keep_their_ops(sizes: Any) -> None:
    assert both(heads((8,), sizes)) == 0
