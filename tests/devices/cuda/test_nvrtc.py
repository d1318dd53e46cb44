"""NVRTC by ctypes: found or not, what it compiles, what is kept; without a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpugraph.devices.cuda import nvrtc as module
from gpugraph.devices.cuda.driver import DriverError
from gpugraph.devices.cuda.nvrtc import Nvrtc, find_nvrtc, header_folders, library_paths

needs_nvrtc = pytest.mark.skipif(find_nvrtc().nvrtc is None, reason=find_nvrtc().reason)

TEXT = 'extern "C" __global__ void twice(float* x) {\n  x[threadIdx.x] *= 2;\n}\n'
WITHOUT_WHEELS = """
import sys
sys.path.insert(0, {root!r})
from gpugraph.devices.cuda import nvrtc
sys.path[:] = []
found = nvrtc.find_nvrtc()
print(found.nvrtc, found.reason)
"""
ROOT = Path(module.__file__).resolve().parents[3]


@pytest.fixture
def nvrtc(tmp_path: Path) -> Nvrtc:
    found = find_nvrtc().nvrtc
    assert found is not None
    return found.with_cache(tmp_path / "cache")


@needs_nvrtc
def test_a_text_becomes_a_cubin(nvrtc: Nvrtc) -> None:
    assert nvrtc.version >= (11, 0)
    assert {80, 90} <= set(nvrtc.archs)
    cubin = nvrtc.compile(TEXT, "twice.cu", "sm_90")
    assert cubin.content.startswith(b"\x7fELF")
    assert b"twice" in cubin.content
    assert "Compiling entry function 'twice' for 'sm_90'" in cubin.log


@needs_nvrtc
def test_what_was_compiled_is_kept_by_text_architecture_and_options(nvrtc: Nvrtc) -> None:
    folder = nvrtc.cache.folder
    first = nvrtc.compile(TEXT, "twice.cu", "sm_90")
    assert folder.stat().st_mode & 0o777 == 0o700
    files = list(folder.iterdir())
    assert [each.suffix for each in files] == [".cubin"]
    assert nvrtc.compile(TEXT, "other.cu", "sm_90") == first
    assert list(folder.iterdir()) == files
    nvrtc.compile(TEXT, "twice.cu", "sm_80")
    nvrtc.compile(TEXT, "twice.cu", "sm_90", ["-DN=1"])
    nvrtc.compile(TEXT + "// other\n", "twice.cu", "sm_90")
    assert len(list(folder.iterdir())) == 4


@needs_nvrtc
def test_a_kept_cubin_that_is_broken_is_made_again(nvrtc: Nvrtc) -> None:
    first = nvrtc.compile(TEXT, "twice.cu", "sm_90")
    (path,) = nvrtc.cache.folder.iterdir()
    path.write_bytes(path.read_bytes()[:-40])
    again = nvrtc.compile(TEXT, "twice.cu", "sm_90")
    assert len(again.content) == len(first.content)


@needs_nvrtc
def test_a_text_that_does_not_compile_is_kept_and_its_line_named(nvrtc: Nvrtc) -> None:
    with pytest.raises(DriverError, match=r"broken.cu does not compile by NVRTC") as caught:
        nvrtc.compile(TEXT.replace("2", "missing"), "broken.cu", "sm_90")
    said = str(caught.value)
    assert 'text.cu(2): error: identifier "missing" is undefined' in said
    path = said.partition("its text: ")[2].partition("\n")[0]
    assert "*= missing" in Path(path).read_text("utf-8")
    assert not any(nvrtc.cache.folder.glob("*"))


@needs_nvrtc
def test_an_architecture_that_it_does_not_know_is_an_error(nvrtc: Nvrtc) -> None:
    with pytest.raises(DriverError, match=r"twice.cu does not compile .*-arch=sm_1"):
        nvrtc.compile(TEXT, "twice.cu", "sm_1")


@needs_nvrtc
def test_a_file_that_is_not_there_is_named(nvrtc: Nvrtc) -> None:
    with pytest.raises(DriverError, match=r"t.cu includes 'nowhere.cuh', which is not in kernels/"):
        nvrtc.compile('#include "nowhere.cuh"\n', "t.cu", "sm_90")


@pytest.mark.parametrize("layout", ["nvidia/cuda_nvrtc", "nvidia/cu13", "toolkit"])
def test_libraries_are_looked_for_in_wheels_and_toolkits(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "toolkit"))
    folder = tmp_path / layout / ("lib64" if layout == "toolkit" else "lib")
    folder.mkdir(parents=True)
    for name in ("libnvrtc-builtins.so.13.0", "libnvrtc.so.13", "libnvrtc.alt.so.13"):
        (folder / name).touch()
    assert library_paths()[0] == str(folder / "libnvrtc.so.13")


def test_headers_are_those_of_the_same_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for wheel, version in (("cuda_runtime", 12090), ("cu13", 13000)):
        folder = tmp_path / "nvidia" / wheel / "include"
        folder.mkdir(parents=True)
        (folder / "cuda_fp16.h").touch()
        (folder / "cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {version}\n")
    library = str(tmp_path / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12")
    assert header_folders(library, 12) == (str(tmp_path / "nvidia/cuda_runtime/include"),)
    assert header_folders(library, 13) == (str(tmp_path / "nvidia/cu13/include"),)


def test_where_there_is_none_the_reason_says_where_it_was_looked_for(tmp_path: Path) -> None:
    fake = tmp_path / "lib64" / "libnvrtc.so.12"
    fake.parent.mkdir()
    fake.write_bytes(b"no library")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_WHEELS.format(root=str(ROOT))],
        capture_output=True,
        text=True,
        timeout=60,
        env={"CUDA_PATH": str(tmp_path), "LD_LIBRARY_PATH": "", "PATH": ""},
    )
    if "None" not in done.stdout:
        pytest.skip("the system has an NVRTC of its own")
    assert "no NVRTC was found (pip install nvidia-cuda-nvrtc-cu12, or CUDA_PATH)" in done.stdout
    assert f"{fake}: " in done.stdout
