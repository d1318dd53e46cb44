"""Matrix products by NumPy's BLAS as native calls, alone and in sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.native import Fusion, blas, blas_reason, prepare, product, sequence
from gpugraph.devices.native.runtime import RUNTIME
from gpugraph.errors import InternalError

from .native_programs import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _with_blas() -> None:
    RUNTIME.get(True)
    if blas_reason():
        pytest.skip(blas_reason())


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


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


@pytest.mark.parametrize(
    "arrays",
    [
        (random(3, 4), random(5, 6), random(3, 6)),
        (random(3, 4), random(4, 6), random(6, 3)),
        (random(3, 4), random(4, 6, dtype=np.float64), random(3, 6)),
        (random(4, 3).T, random(4, 6), random(3, 6)),
        (np.ones((3, 4), np.int32), np.ones((4, 6), np.int32), np.ones((3, 6), np.int32)),
    ],
)
def test_other_matrices_are_refused(arrays: Any) -> None:
    with pytest.raises(InternalError, match="No native product of these matrices"):
        product(*arrays)


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
