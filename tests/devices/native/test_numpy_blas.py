"""Matrix products by NumPy's BLAS as native calls, alone and in sequences."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph import devices
from gpugraph.base.errors import InternalError
from gpugraph.devices.native import (
    Fusion,
    NotNativeError,
    blas_reason,
    blas_threads_reason,
    move,
    numpy_blas as blas,
    one_blas_thread,
    prepare,
    product,
    products,
    sequence,
)
from gpugraph.devices.native.native_runtime import RUNTIME, call_of

from ..native_programs import needs_compiler
from ..native_views import views

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _with_blas() -> None:
    RUNTIME.get(True)
    if blas_reason():
        pytest.skip(blas_reason())


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def repeated(array: np.ndarray, times: int) -> np.ndarray:
    """Return the same memory, so often, along a new first axis; it can be written to."""
    shape, strides = (times, *array.shape), (0, *array.strides)
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 7, 1), (64, 10, 128), (200, 150, 170)])
def test_products_are_numpy_s(sizes: Any, transposes: Any, dtype: Any) -> None:
    m, n, k = sizes
    a = random(*((k, m) if transposes[0] else (m, k)), dtype=dtype)
    b = random(*((n, k) if transposes[1] else (k, n)), dtype=dtype)
    out = np.full((m, n), np.nan, dtype)
    assert product(a, b, out, *transposes)() == 0
    wanted = (a.T if transposes[0] else a) @ (b.T if transposes[1] else b)
    np.testing.assert_allclose(out, wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_products_of_nothing(sizes: Any) -> None:
    m, n, k = sizes
    out = np.full((m, n), np.nan, np.float32)
    product(random(m, k), random(k, n), out)()
    assert (out == 0).all()


def test_a_layer_is_one_call() -> None:
    x, w, bias = random(32, 64), random(64, 128), random(128)
    hidden, out = np.empty((32, 128), np.float32), np.empty((32, 128), np.float32)
    fusion = Fusion()
    h, b = fusion.input(tf.float32, hidden.shape), fusion.input(tf.float32, bias.shape)
    total = fusion.apply("x + y", [h, b], tf.float32)
    fusion.output(fusion.apply("x < (T)0 ? (T)0 : x", [total], tf.float32))
    fused = fusion.finish()
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None
    layer = sequence([product(x, w, hidden), function.bind([hidden, bias], [out], fused.sizes)])
    layer()
    np.testing.assert_allclose(out, np.maximum(x @ w + bias, 0), 1e-5, 1e-5)


sizes = st.integers(0, 12) | st.sampled_from([1, 1, 40])


@settings(max_examples=300, deadline=None)
@given(st.data(), st.lists(st.integers(1, 3), max_size=3), sizes, sizes, sizes)
def test_products_of_views(data: Any, batch: list[int], m: int, n: int, k: int) -> None:
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))

    def matrices(rows: int, columns: int, can_turn: bool = True) -> np.ndarray:
        """Matrices in a larger array, whose leading axes are views of any kind."""
        turned = can_turn and data.draw(st.booleans())
        inner = (columns, rows) if turned else (rows, columns)
        wider = (inner[0] + data.draw(st.integers(0, 3)), inner[1] + data.draw(st.integers(0, 3)))
        view = data.draw(views(tuple(batch), dtype, repeated=can_turn, inside=wider))
        view = view[..., : inner[0], : inner[1]]
        return view.swapaxes(-1, -2) if turned else view

    a, b, out = matrices(m, k), matrices(k, n), matrices(m, n, can_turn=False)
    out[...] = np.nan
    assert products([(a, b, out)])() == 0
    np.testing.assert_allclose(out, a @ b, 1e-4, 1e-4)


@pytest.mark.parametrize("rows", [1, 3])
def test_weights_for_a_whole_batch_are_one_product(rows: int) -> None:
    x, w, wide = random(5, 4, rows, 8), random(8, 6), random(5, 4, rows, 20)
    for a, out in ((x, np.empty((5, 4, rows, 6), np.float32)), (wide[..., :8], wide[..., 9:15])):
        run = products([(a, np.broadcast_to(w, (5, 4, 8, 6)), out)])
        block = call_of(run)[2]
        assert (block.count, block.m) == (1, 20 * rows)
        run()
        np.testing.assert_allclose(out, a @ w, 1e-5, 1e-5)


def attention(x: np.ndarray, w: np.ndarray, arrays: list[np.ndarray]) -> Any:
    """Return the scores of two separate heads from one projection array: products and moves."""
    projected, scores, mixed, out = arrays
    b, t, _ = x.shape
    q, k, v = (projected[..., index : index + 16].reshape(b, t, 2, 8) for index in (0, 16, 32))
    heads = mixed.reshape(b, 2, t, 8)
    q, k, v = (array.transpose(0, 2, 1, 3) for array in (q, k, v))
    return sequence(
        [
            products([(x, np.broadcast_to(w, (b, *w.shape)), projected)]),
            products([(q, k.swapaxes(-1, -2), scores), (scores, v, heads)]),
            move(heads.transpose(0, 2, 1, 3), out.reshape(b, t, 2, 8)),
        ]
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_heads_of_attention_are_views(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_THREADS", str(threads))
    b, t = 6, 100
    x, w = random(b, t, 16), random(16, 48)
    arrays = [
        np.empty(sizes, np.float32)
        for sizes in ((b, t, 48), (b, 2, t, t), (b, 2, t, 8), (b, t, 16))
    ]
    attention(x, w, arrays)()
    q, k, v = (
        (x @ w).reshape(b, t, 3, 2, 8)[:, :, index].transpose(0, 2, 1, 3) for index in range(3)
    )
    wanted = ((q @ k.swapaxes(-1, -2)) @ v).transpose(0, 2, 1, 3).reshape(b, t, 16)
    np.testing.assert_allclose(arrays[3], wanted, 1e-3, 1e-2)


def test_kernels_moves_and_products_in_turn() -> None:
    x, w, hidden = random(30, 20), random(40, 20), np.empty((30, 40), np.float32)
    doubled, out = np.empty((30, 40), np.float32), np.zeros((2, 40, 30), np.float32)
    fusion = Fusion()
    h = fusion.input(tf.float32, hidden.shape)
    fusion.output(fusion.apply("x + y", [h, h], tf.float32))
    fused = fusion.finish()
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None
    kernel = function.bind([hidden], [doubled], fused.sizes)
    sequence([products([(x, w.T, hidden)]), kernel, move(doubled.T, out[1]), move(7, out[0])])()
    np.testing.assert_allclose(out[1], 2 * (x @ w.T).T, 1e-4, 1e-4)
    assert (out[0] == 7).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [
        (1, 200, 200, 300),
        (1, 37, 700, 501),
        (1, 700, 45, 257),
        (1, 1, 1500, 1030),
        (1, 1500, 1, 1030),
        (3, 190, 190, 190),
        (40, 65, 61, 33),
    ],
)
def test_results_do_not_depend_on_threads(
    shape: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, m, n, k = shape
    a, b = random(batch, m, k, dtype=dtype), random(batch, k, n, dtype=dtype)
    result = []
    for threads in (1, 2, 3, 4):
        monkeypatch.setenv("GPUGRAPH_THREADS", str(threads))
        out = np.full((batch, m, n), np.nan, dtype)
        run = products([(a, b, out)])
        assert min(threads, 2) <= call_of(run)[2].threads <= threads
        run()
        result.append(out.tobytes())
    assert len(set(result)) == 1
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(out, a @ b, tolerance, tolerance)


def blas_threads() -> int:
    result = blas._blas()
    assert result is not None and result.threads is not None
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(result.threads[0])())


def test_the_blas_gets_its_threads_back() -> None:
    if blas_threads_reason():
        pytest.skip(blas_threads_reason())
    before = blas_threads()
    x = [random(300, 300) for _ in range(8)]
    out = [np.empty((300, 300), np.float32) for _ in x]
    calls = [products([(array, array, into)] * 5) for array, into in zip(x, out)]
    with ThreadPoolExecutor(len(calls)) as pool:
        assert not any(pool.map(lambda call: any(call() for _ in range(5)), calls))
    assert blas_threads() == before
    for array, into in zip(x, out):
        np.testing.assert_allclose(into, array @ array, 1e-3, 1e-3)


class NoRuntime:
    """It is being compiled."""

    reason, loaded = "", None

    def get(self, wait: bool) -> None:
        return None


def in_fork(check: Callable[[], bool]) -> bool:
    """Return the result of a check in a forked child."""
    child = os.fork()
    if not child:
        os._exit(0 if check() else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("has_runtime", [True, False])
def test_the_last_user_of_one_thread_gives_the_others_back(
    monkeypatch: pytest.MonkeyPatch, has_runtime: bool
) -> None:
    if blas_threads_reason():
        pytest.skip(blas_threads_reason())
    before = blas_threads()
    x, out = random(300, 300), np.empty((300, 300), np.float32)
    call = product(x, x, out)
    if not has_runtime:
        monkeypatch.setattr(blas, "RUNTIME", NoRuntime())
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    assert blas_threads() == 1 and not call() and blas_threads() == 1
    assert devices.blas_threads() == before  # as a plan will have it that is compiled now
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == 1

    def has_given_back() -> bool:
        with one_blas_thread():
            pass
        second.__exit__(None, None, None)  # entered before the fork
        with one_blas_thread():
            alone = blas_threads()
        return (alone, blas_threads()) == (1, before)

    if hasattr(os, "fork"):
        assert in_fork(has_given_back)
    second.__exit__(None, None, None)
    assert blas_threads() == devices.blas_threads() == before


def test_a_blas_whose_threads_can_t_be_set_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_THREADS", ("no_such_{}_threads",))
    blas._blas.cache_clear()
    try:
        assert "no known function that sets its threads" in blas_threads_reason()
        out = np.empty((3, 5), np.float32)
        products([(random(3, 4), random(4, 5), out)])()
        np.testing.assert_allclose(out, random(3, 4) @ random(4, 5), 1e-5, 1e-5)
    finally:
        monkeypatch.undo()
        blas._blas.cache_clear()


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ((random(3, 4), random(5, 6), random(3, 6)), "don't fit"),
        ((random(3, 4), random(4, 6), random(6, 3)), "don't fit"),
        ((random(4), random(4, 6), random(6)), "don't fit"),
        ((random(2, 3, 4), random(4, 6), random(2, 3, 6)), "don't fit"),
        ((random(3, 4), random(4, 6, dtype=np.float64), random(3, 6)), "float32 or float64"),
        ((np.ones((3, 4), int), np.ones((4, 6), int), np.ones((3, 6), int)), "float32 or float64"),
        ((random(3, 8)[:, ::2], random(4, 6), random(3, 6)), "neither of the last two axes"),
        ((random(3, 4)[::-1], random(4, 6), random(3, 6)), "neither of the last two axes"),
        ((random(3, 4), random(4, 6), random(6, 3).T), "not contiguous"),
        ((random(3, 4), random(4, 6), np.broadcast_to(random(6), (3, 6))), "read-only"),
        ((random(2, 3, 4), random(2, 4, 6), repeated(random(3, 6), 2)), "overlaps"),
    ],
)
def test_other_matrices_are_refused(arrays: Any, why: str) -> None:
    with pytest.raises((NotNativeError, InternalError), match=why):
        products([arrays])


def test_a_result_in_what_it_is_made_of_is_refused() -> None:
    x = random(4, 4)
    with pytest.raises(NotNativeError, match="overlaps"):
        products([(x, random(4, 4), x)])


def test_another_blas_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_NAMES", (("no_such_{}gemm", True),))
    blas._blas.cache_clear()
    try:
        assert "none of the known names" in blas_reason()
        with pytest.raises(InternalError, match="none of the known names"):
            product(random(3, 4), random(4, 5), random(3, 5))
    finally:
        monkeypatch.undo()
        blas._blas.cache_clear()
