"""Descriptions of products for cublasLt, checked by a stub that follows its documentation."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpugraph.devices.cuda.driver.cublaslt import CublasLt, HeuristicResult, load_cublaslt
from gpugraph.devices.cuda.driver.cuda_libraries import load_library
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Product

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no cc to make cublasLt's stand-in with")
SOURCE = Path(__file__).with_name("fake_cublaslt.c")


class Seen(ctypes.Structure):
    """`fake` of the stand-in."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("result_bytes", "live", "compute", "scale")),
        ("types", ctypes.c_int64 * 3),
        ("workspace", ctypes.c_int64),
        ("alignments", ctypes.c_int64 * 4),
        *((name, ctypes.c_int64) for name in ("used_workspace", "used_bytes", "stream")),
        *((name, ctypes.c_int64) for name in ("same_algorithm", "products", "epilogue", "schemes")),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("cublaslt") / "libcublasLt.so.12"
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", "-o", str(path), str(SOURCE)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def cublaslt(library: ctypes.CDLL) -> CublasLt:
    return CublasLt(library)


def seen(library: ctypes.CDLL) -> Any:
    return Seen.in_dll(library, "fake")


def random(*shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def aligned(values: Any) -> Any:
    """Return the same where a bias may begin."""
    room = np.zeros(values.size + 16, values.dtype)
    skipped = -room.ctypes.data % 16 // values.itemsize
    placed = room[skipped : skipped + values.size]
    placed[:] = values
    return placed


def of(
    a: Any, b: Any, out: Any, transpose_a: bool = False, transpose_b: bool = False, **options: Any
) -> Product:
    """out (batch, m, n) = a @ b, as they lie; the last two axes may be parts of wider rows."""
    (m, n), k = out.shape[1:], a.shape[1 if transpose_a else 2]
    size = out.itemsize
    return Product(
        *(m, n, k, str(out.dtype), a.ctypes.data, b.ctypes.data, out.ctypes.data),
        *(array.strides[1] // size for array in (a, b, out)),
        *(transpose_a, transpose_b, len(out)),
        *(array.strides[0] // size for array in (a, b, out)),
        **options,
    )


def test_the_structures_are_as_documented(library: ctypes.CDLL) -> None:
    assert ctypes.sizeof(HeuristicResult) == seen(library).result_bytes == 96
    offsets = {name: getattr(HeuristicResult, name).offset for name in ("workspace_bytes", "state")}
    assert offsets == {"workspace_bytes": 64, "state": 72}


@given(
    sizes=st.tuples(*[st.integers(1, 6)] * 4),
    wider=st.tuples(*[st.integers(0, 3)] * 3),
    transposed=st.tuples(st.booleans(), st.booleans()),
    shared=st.booleans(),
    finishes=st.tuples(*[st.booleans()] * 3),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_products_are_those_of_numpy(
    cublaslt: CublasLt,
    sizes: tuple[int, ...],
    wider: tuple[int, ...],
    transposed: tuple[bool, bool],
    shared: bool,
    finishes: tuple[bool, bool, bool],
    dtype: str,
) -> None:
    batch, m, n, k = sizes
    shapes = [(k, m) if transposed[0] else (m, k), (n, k) if transposed[1] else (k, n), (m, n)]
    a, b, out = (
        random(batch, rows, columns + options, dtype=dtype)[:, :, :columns]
        for (rows, columns), options in zip(shapes, wider)
    )
    if shared:  # one b for the whole batch
        b = np.lib.stride_tricks.as_strided(b, b.shape, (0, *b.strides[1:]))
    bias, addend = aligned(random(n, dtype=dtype)), random(*out.base.shape, dtype=dtype)
    product = of(a, b, out, *transposed, relu=finishes[2])
    if finishes[0]:
        product = product._replace(bias=bias.ctypes.data)
    if finishes[1]:
        product = product._replace(addend=addend.ctypes.data)
    left = a.swapaxes(1, 2) if transposed[0] else a
    right = b.swapaxes(1, 2) if transposed[1] else b
    expected = left @ right + finishes[0] * bias + finishes[1] * addend[:, :, :n]
    expected = np.maximum(expected, 0) if finishes[2] else expected
    launch = cublaslt.bind(product, (0, 0), 0)
    if finishes[0] and n == 1:
        assert launch is None
        return
    assert launch is not None
    launch()
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out, expected, tolerance, tolerance)


@pytest.mark.parametrize(
    ("dtype", "tf32", "compute", "scale", "data"),
    [
        ("float32", False, 68, 0, 0),
        ("float32", True, 77, 0, 0),
        ("float64", True, 70, 1, 1),
        ("float16", True, 68, 0, 2),
        ("bfloat16", False, 68, 0, 14),
    ],
)
def test_precision_is_what_was_promised(
    library: ctypes.CDLL,
    cublaslt: CublasLt,
    dtype: str,
    tf32: bool,
    compute: int,
    scale: int,
    data: int,
) -> None:
    product = Product(2, 3, 4, dtype, 256, 512, 768, 4, 3, 3, tf32=tf32)
    assert cublaslt.bind(product, (4096, 1024), 5) is not None
    result = seen(library)
    assert (result.compute, result.scale, list(result.types)) == (compute, scale, [data] * 3)
    assert result.schemes == 2  # CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: parts are not rounded


def test_workspace_stream_and_alignments_are_told(library: ctypes.CDLL, cublaslt: CublasLt) -> None:
    product = Product(2, 3, 4, "float16", 1024 + 16, 512 + 2, 768, 4, 3, 3)
    launch = cublaslt.bind(product, (4096, 1024), 5)
    assert launch is not None
    before = seen(library).products
    launch()
    launch()
    result = seen(library)
    assert result.workspace == result.used_bytes == 1024
    assert list(result.alignments) == [2, 16, 256, 256]  # of b, a, out and out
    assert (result.used_workspace, result.stream, result.same_algorithm) == (4096, 5, 1)
    assert result.products == before + 2


@pytest.mark.parametrize("columns", [1000, 1001])
def test_no_algorithm_is_none(cublaslt: CublasLt, columns: int) -> None:
    product = Product(2, columns, 4, "float32", 256, 512, 768, 4, columns, columns)
    assert cublaslt.bind(product, (4096, 1024), 5) is None


def test_failures_are_errors(cublaslt: CublasLt) -> None:
    product = Product(2, 999, 4, "float32", 256, 512, 768, 4, 999, 999)
    with pytest.raises(DriverError, match=r"choose an algorithm: internal error .*14"):
        cublaslt.bind(product, (4096, 1024), 5)
    launch = cublaslt.bind(Product(2, 3, 4, "float16", 256, 512, 768, 4, 3, 3), (0, 0), 13)
    assert launch is not None
    with pytest.raises(DriverError, match=r"launch a product: execution failed .*13"):
        launch()
    with pytest.raises(DriverError, match="create a MatrixLayout: invalid value"):
        cublaslt.bind(Product(2, 3, 4, "float32", 256, 512, 768, 4, 2, 3), (0, 0), 5)


def test_other_types_are_left_to_others(cublaslt: CublasLt) -> None:
    product = Product(2, 3, 4, "int32", 256, 512, 768, 4, 3, 3)
    assert cublaslt.bind(product, (0, 0), 5) is None


@pytest.mark.parametrize(
    ("finishes", "epilogue"),
    [({}, 1), ({"relu": True}, 2), ({"bias": 1024}, 4), ({"bias": 1024, "relu": True}, 6)],
)
def test_what_follows_is_cublaslts_number(
    library: ctypes.CDLL, cublaslt: CublasLt, finishes: Any, epilogue: int
) -> None:
    product = Product(2, 3, 4, "float16", 256, 512, 768, 4, 3, 3, **finishes)
    assert cublaslt.bind(product, (4096, 1024), 5) is not None
    assert seen(library).epilogue == epilogue


@pytest.mark.parametrize(("n", "bias"), [(1, 1024), (3, 1024 + 8), (3, 1024 + 4)])
def test_a_bias_of_one_number_or_at_an_odd_place_is_not_trusted(
    cublaslt: CublasLt, n: int, bias: int
) -> None:
    product = Product(2, n, 4, "float32", 256, 512, 768, 4, n, n, bias=bias)
    assert cublaslt.bind(product, (4096, 1024), 5) is None
    assert cublaslt.bind(product.plain(), (4096, 1024), 5) is not None


def test_what_is_added_has_an_alignment_of_its_own(
    library: ctypes.CDLL, cublaslt: CublasLt
) -> None:
    product = Product(2, 3, 4, "float32", 256, 512, 768, 4, 3, 3, addend=1024 + 8)
    assert cublaslt.bind(product, (4096, 1024), 5) is not None
    assert list(seen(library).alignments) == [256, 256, 8, 256]  # of b, a, the addend and out


def test_all_is_given_back(library: ctypes.CDLL) -> None:
    gc.collect()
    before = seen(library).live
    one = CublasLt(library)
    launch = one.bind(Product(2, 3, 4, "float16", 256, 512, 768, 4, 3, 3), (0, 0), 5)
    assert launch is not None and seen(library).live == before + 5
    del one
    launch()  # keeps the objects that it needs
    del launch
    gc.collect()
    assert seen(library).live == before


# -- where libraries are


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("nvidia/cublas/lib", "libcublasLt.so.12"),
        ("nvidia/cu13/lib", "libcublasLt.so.13"),
        ("toolkit/lib64", "libcublasLt.so.12"),
    ],
)
def test_wheels_and_toolkits_are_searched(
    library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    shutil.copy(library._name, folder / name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    version = int(name[-2:])
    assert load_cublaslt((version,))._name == str(folder / name)


def test_a_library_that_is_nowhere_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libnobodys.so.13").write_text("no library\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(OSError, match=r"libnobodys of CUDA 13 or 12 is neither .*libnobodys.so.13"):
        load_library("nobodys", (13, 12))
