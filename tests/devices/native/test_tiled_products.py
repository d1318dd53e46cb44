"""Matrix products by tiles of our own, with ops fused into the store: against NumPy."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.devices.codegen import c_compiler as compiler_module
from gpugraph.devices.codegen.c_compiler import Compiler
from gpugraph.devices.native import (
    TILED_PRODUCTS,
    NotNativeError,
    SourceFile,
    is_tiled,
    prepare_source,
    tiled_product,
    tiled_products,
)
from gpugraph.devices.native.handwritten_kernels import whole_source
from gpugraph.devices.native.native_runtime import RUNTIME
from gpugraph.kernel import SUMMED_AT_ONCE

from ..native_programs import features, needs_compiler
from ..native_views import filled, views

pytestmark = needs_compiler

SIZES = (1, 2, 6, 7, 13, 14, 15, 16, 17, 28, 31, 32, 33, 49, 90)
DEPTHS = (0, 1, 2, 15, 16, 17, 33, 255, 256, 257, 600)


def code() -> SourceFile:
    compiled = prepare_source(TILED_PRODUCTS).get(wait=True)
    assert compiled is not None
    return compiled


def scratch(size: int) -> np.ndarray:
    """Return memory with another function's leftovers: NaNs."""
    return np.full(size, 255, np.uint8)


def run(a: Any, b: Any, out: Any, **terms: Any) -> None:
    assert tiled_product(code(), (a, b, out), scratch, **terms)() == 0


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def matrices(data: Any, batch: list[int], sizes: tuple[int, int, int], dtype: Any) -> list[Any]:
    """a, b and out of a product: views in larger arrays, of which either axis is contiguous."""

    def one(rows: int, columns: int, can_turn: bool) -> np.ndarray:
        turned = can_turn and data.draw(st.booleans())
        inner = (columns, rows) if turned else (rows, columns)
        wider = (inner[0] + data.draw(st.integers(0, 3)), inner[1] + data.draw(st.integers(0, 3)))
        view = data.draw(views(tuple(batch), dtype, repeated=can_turn, inside=wider))
        view = view[..., : inner[0], : inner[1]]
        return view.swapaxes(-1, -2) if turned else view

    m, n, k = sizes
    return [one(m, k, True), one(k, n, True), one(m, n, False)]


@settings(max_examples=150, deadline=None)
@given(
    st.data(),
    st.lists(st.integers(1, 3), max_size=2),
    st.sampled_from(SIZES),
    st.sampled_from(SIZES),
    st.sampled_from(DEPTHS),
)
def test_tiles_of_views(data: Any, batch: list[int], m: int, n: int, k: int) -> None:
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    a, b, out = matrices(data, batch, (m, n, k), dtype)
    bias = filled(n, dtype, 3) if data.draw(st.booleans()) else None
    addend, relu = None, data.draw(st.booleans())
    out[...] = np.nan
    if data.draw(st.booleans()):
        addend = out if data.draw(st.booleans()) else np.empty_like(out, subok=False)
        if addend.strides != out.strides:
            addend = out
        addend[...] = filled(out.shape, dtype, 4)
    wanted = a @ b
    for term in (bias, addend):
        wanted = wanted if term is None else wanted + term
    if addend is out and k > SUMMED_AT_ONCE:
        with pytest.raises(NotNativeError, match=r"A product to .* added"):
            run(a, b, out, bias=bias, addend=addend, relu=relu)
        return
    run(a, b, out, bias=bias, addend=addend, relu=relu)
    np.testing.assert_array_equal(out, np.maximum(wanted, 0) if relu else wanted)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_tiles_of_nothing(sizes: Any) -> None:
    m, n, k = sizes
    out = np.full((2, m, n), np.nan, np.float32)
    run(np.ones((2, m, k), np.float32), np.ones((2, k, n), np.float32), out)
    assert (out == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(300, 200, 1000), (40, 700, 600), (900, 50, 300)])
def test_bits_do_not_depend_on_threads(
    sizes: Any, turned: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, n, k = sizes
    a = random(k, m, dtype=dtype).T if turned[0] else random(m, k, dtype=dtype)
    b = random(n, k, dtype=dtype, seed=1).T if turned[1] else random(k, n, dtype=dtype, seed=1)
    results = []
    for threads in "1", "2", "5":
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        out = np.full((m, n), np.nan, dtype)
        run(a, b, out)
        results.append(out)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    sizes_of_terms = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert (np.abs(results[0] - wanted) <= k * np.finfo(dtype).eps * sizes_of_terms).all()
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


@pytest.mark.parametrize("count", [2, 3, 40])
def test_batches_by_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_THREADS", "3")
    a, b = random(count, 70, 130), random(count, 90, 130, seed=1).swapaxes(1, 2)
    addend, bias = random(count, 70, 90, seed=2), random(90, seed=3)
    out = np.full((count, 70, 90), np.nan, np.float32)
    call = tiled_product(code(), (a, b, out), scratch, bias, addend, True)
    assert call() == 0
    np.testing.assert_allclose(out, np.maximum(a @ b + bias + addend, 0), 1e-4, 1e-4)
    first = out.tobytes()
    for _ in range(9):  # threads may come in another order
        out[...] = np.nan
        assert call() == 0
        assert out.tobytes() == first


def test_threads_join_job_after_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that look for the next job, threads that sleep by then, and more threads than
    cores.
    """
    a, b = random(33, 64), random(64, 500, seed=1)
    products = []
    for threads in "1", "2", "4":
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        out = np.full((33, 500), np.nan, np.float32)
        products.append((out, tiled_product(code(), (a, b, out), scratch)))
    wanted, call = products[0]
    assert call() == 0
    for number in range(600):
        out, call = products[1 + number % 7 % 2]
        out[...] = np.nan
        assert call() == 0
        assert out.tobytes() == wanted.tobytes()
        time.sleep((0, 0, 1e-5, 1e-4)[number % 4])


def test_one_stage_is_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second buffer is for the next stage: a part of k, of the shared factor, or a product."""
    monkeypatch.setenv("GPUGRAPH_THREADS", "2")
    asked = []

    def new_scratch(size: int) -> np.ndarray:
        asked.append(size)
        return scratch(size)

    for count, k in (1, 256), (2, 256), (1, 512):
        a, b = random(count, 252, k), random(count, k, 252, seed=1)
        out = np.full((count, 252, 252), np.nan, np.float32)
        call = tiled_product(code(), (a, b, out), new_scratch)
        for _ in range(5):
            out[...] = np.nan
            assert call() == 0
            np.testing.assert_allclose(out, a @ b, 1e-4, 1e-3)
    packed = 252 * 256 * 4
    one, of_two, of_long = asked
    assert packed < one < 2 * packed < of_two == of_long


@pytest.mark.parametrize("flag", ["-march=x86-64", "-march=x86-64-v3"])
def test_of_other_processors(flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower vectors, fewer registers, no fused multiply-add."""
    if platform.machine() != "x86_64" or (flag.endswith("v3") and "avx2" not in features()):
        pytest.skip(f"this processor does not run what {flag} gives")
    monkeypatch.setattr(compiler_module, "NATIVE_FLAGS", (flag,))
    other = Compiler(compiler_module.compiler().command, tmp_path)
    library, runtime = other.start(whole_source(TILED_PRODUCTS), flag).wait(), RUNTIME.get(True)
    assert library is not None and runtime is not None
    file = SourceFile(TILED_PRODUCTS, library, runtime)
    for dtype in (np.float32, np.float64):
        for m, n, k in [(3, 5, 300), (37, 41, 70), (200, 13, 33)]:
            a, b, addend = random(k, m, dtype=dtype).T, random(n, k, dtype=dtype).T, np.ones((m, n))
            out = np.full((m, n), np.nan, dtype)
            tiled_product(
                file, (a, b, out), scratch, np.full(n, 2, dtype), addend.astype(dtype), True
            )()
            np.testing.assert_allclose(out, np.maximum(a @ b + 3, 0), 1e-4, 1e-4)


def test_a_part_of_the_result_has_the_same_bits() -> None:
    """How a product is divided into tiles changes nothing."""
    a, b = random(45, 300), random(300, 77, seed=1)
    whole = np.empty((45, 77), np.float32)
    run(a, b, whole)
    for rows, columns in ((slice(0, 1), slice(5, 77)), (slice(3, 20), slice(1, 2))):
        part = np.empty((45, 77), np.float32)[rows, columns]
        run(a[rows], b[:, columns], part)
        assert np.ascontiguousarray(whole[rows, columns]).tobytes() == part.tobytes()


def test_what_is_no_number_stays_where_it_belongs() -> None:
    a, b = random(33, 70), random(70, 50, seed=1)
    a[5, 3], a[20, 69], b[2, 7], b[69, 49] = np.nan, np.inf, -np.inf, np.nan
    out, cut = np.empty((33, 50), np.float32), np.empty((33, 50), np.float32)
    run(a, b, out)
    run(a, b, cut, relu=True)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    assert np.isfinite(wanted).sum() == 31 * 48
    np.testing.assert_allclose(out, wanted, 1e-4, 1e-4)
    np.testing.assert_allclose(cut, np.maximum(wanted, 0), 1e-4, 1e-4)


def test_terms_that_do_not_fit_are_refused() -> None:
    a, b, out = random(4, 5), random(5, 6), np.zeros((4, 6), np.float32)
    wide = np.zeros((4, 12), np.float32)
    terms: list[dict[str, Any]] = [
        {"bias": random(5)},
        {"bias": random(12)[::2]},
        {"bias": random(6, dtype=np.float64)},
        {"bias": out[1]},
        {"addend": random(4, 5)},
        {"addend": wide[:, :6]},
        {"addend": random(4, 6, dtype=np.float64)},
    ]
    for term in terms:
        with pytest.raises(NotNativeError, match=r"A product to float32\[4, 6\]"):
            tiled_product(code(), (a, b, out), scratch, **term)
    half = wide.reshape(8, 6)
    with pytest.raises(NotNativeError, match="added"):
        tiled_product(code(), (a, b, half[:4]), scratch, addend=half[2:6])


@pytest.mark.skipif(
    not tiled_products.has_blas(), reason="NumPy's BLAS has no names that are known"
)
def test_sizes_tell_which_products_are_tiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def triple(m: int, n: int, k: int, *batch: int) -> Any:
        arrays = [np.empty((*batch, *s), np.float32) for s in ((m, k), (k, n), (m, n))]
        return tuple(arrays)

    assert is_tiled([triple(256, 1024, 1024)])
    assert not is_tiled([triple(256, 1024, 1024), triple(256, 10, 1024)])
    assert not is_tiled([triple(1, 1024, 1024)])
    assert not is_tiled([triple(16, 64, 64, 100)])
    a, b, out = triple(16, 64, 64, 100)
    assert is_tiled([(a, np.broadcast_to(b[0], b.shape), out)])  # one product of 1,600 rows
    monkeypatch.setattr(tiled_products, "has_blas", lambda: False)
    assert is_tiled([triple(1, 2, 3)])


def waiting() -> tf.ConfigProto:
    options = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


def test_steps_say_what_computes_their_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    if RUNTIME.get(True) is None or not tiled_products.has_blas():
        pytest.skip("no runtime or no BLAS")
    numbers = random(64, 128), random(128, 96, seed=1), random(96, 4, seed=2)
    with tf.Graph().as_default(), tf.Session(config=waiting()) as session:
        x, w, v = (tf.placeholder(tf.float32, array.shape) for array in numbers)
        hidden = tf.matmul(x, w)
        product = tf.matmul(hidden, v)
        feeds = dict(zip((x, w, v), numbers))
        for _ in range(2):
            np.testing.assert_allclose(
                session.run(product, feeds), numbers[0] @ numbers[1] @ numbers[2], 1e-3, 1e-3
            )
        report = str(session.explain(product, feeds))
    assert "2 steps (1 by tiles, 1 by NumPy's BLAS)" in report
