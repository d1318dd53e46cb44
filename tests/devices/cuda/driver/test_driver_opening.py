"""Opening a GPU: with a compiler and matrix products, or with a message about the missing parts."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from gpugraph.devices.cuda.driver import driver_opening as opening
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Product
from gpugraph.devices.cuda.driver.nvrtc import NvrtcSearch

from ..fake_cupy import FakeCuPy

PRODUCT = Product(2, 3, 4, "float32", 256, 512, 768, 4, 3, 3)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
    return FakeCuPy().install(monkeypatch)


def test_libraries_of_cupys_cuda_are_preferred(
    cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def load(versions: Any) -> Any:
        asked.append(versions)
        raise OSError("nowhere")

    monkeypatch.setattr(opening, "load_cublaslt", load)
    for version in (12090, 13000):
        cupy.answers["runtimeGetVersion"] = version
        assert opening.open_driver(0).product(PRODUCT, (0, 0), 5) is None
    assert asked == [(12, 13), (13, 12)]


@pytest.mark.parametrize("loaded", [None, ctypes.CDLL(None)])
def test_without_products_it_is_said_once(
    loaded: Any, cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def load(versions: Any) -> Any:
        if loaded is None:
            raise OSError("libcublasLt is nowhere")
        return loaded  # without the functions that are needed

    monkeypatch.setattr(opening, "load_cublaslt", load)
    driver = opening.open_driver(0)
    assert driver.product(PRODUCT, (0, 0), 5) is None
    assert driver.product(PRODUCT, (0, 0), 5) is None
    (record,) = caplog.records
    assert record.message.startswith("Matrix products are computed by kernels of our own: ")


def test_without_a_compiler_texts_are_refused_with_the_reason(
    cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "find_nvrtc", lambda _: NvrtcSearch(None, "no NVRTC was found"))
    assert opening.compiler_version() is None
    with pytest.raises(DriverError, match="no NVRTC was found"):
        opening.open_driver(0).compile("text", "name")


def test_texts_are_compiled_for_the_gpu_that_is_there(
    cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Compiler:
        version = (12, 9)

        def compile(self, text: str, name: str, arch: str) -> Any:
            class Cubin:
                content = f"{arch} {name} {text}".encode()

            return Cubin

    result: Any = NvrtcSearch(Compiler(), "")  # type: ignore[arg-type]
    monkeypatch.setattr(opening, "find_nvrtc", lambda major: result)
    assert opening.compiler_version() == 12090
    opening.open_driver(0).compile("text", "name")
    assert cupy.told("moduleLoadData") == [("moduleLoadData", b"sm_90 name text")]
