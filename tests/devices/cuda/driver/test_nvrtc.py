"""NVRTC by ctypes: whether it is found, its compilations, and its cache; without a GPU."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpugraph.devices.cuda.driver import nvrtc as module
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.nvrtc import Nvrtc, find_nvrtc, header_folders, library_paths

needs_nvrtc = pytest.mark.skipif(find_nvrtc().nvrtc is None, reason=find_nvrtc().reason)

TEXT = 'extern "C" __global__ void twice(float* x) {\n  x[threadIdx.x] *= 2;\n}\n'
WITHOUT_WHEELS = """
import sys
sys.path.insert(0, {root!r})
from gpugraph.devices.cuda.driver import nvrtc
sys.path[:] = []
found = nvrtc.find_nvrtc()
print(found.nvrtc, found.reason)
"""
ROOT = Path(module.__file__).resolve().parents[4]


@pytest.fixture
def nvrtc(tmp_path: Path) -> Nvrtc:
    result = find_nvrtc().nvrtc
    assert result is not None
    return result.with_cache(tmp_path / "cache")


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
    assert [file.suffix for file in files] == [".cubin"]
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
    message = str(caught.value)
    assert 'text.cu(2): error: identifier "missing" is undefined' in message
    path = message.partition("its source: ")[2].partition("\n")[0]
    assert "*= missing" in Path(path).read_text("utf-8")
    assert not any(nvrtc.cache.folder.glob("*"))


@needs_nvrtc
def test_an_architecture_older_than_all_that_it_knows_is_an_error(nvrtc: Nvrtc) -> None:
    with pytest.raises(DriverError, match=r"compiles for sm_\d+ and later, not for sm_1; "):
        nvrtc.compile(TEXT, "twice.cu", "sm_1")


@needs_nvrtc
def test_what_newer_gpus_are_compiled_for(nvrtc: Nvrtc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "archs", (75, 80, 86, 90, 100, 120))
    known = {"sm_90": "sm_90", "sm_90a": "sm_90a", "sm_89": "sm_86", "sm_103": "sm_100"}
    newer = {"sm_121": "sm_120", "sm_110": "compute_100", "sm_130": "compute_120"}
    for arch, target in {**known, **newer}.items():
        assert nvrtc.target(arch) == target


@needs_nvrtc
def test_for_a_generation_that_it_does_not_know_it_makes_ptx(nvrtc: Nvrtc) -> None:
    cubin = nvrtc.compile(TEXT, "twice.cu", "sm_990")
    assert f".target sm_{max(nvrtc.archs)}".encode() in cubin.content
    assert cubin.content.endswith(b"\0")
    assert nvrtc.compile(TEXT, "twice.cu", "sm_990") == cubin


LOADS_BESIDE = """
#include <dlfcn.h>
int nvrtcVersion(int *major, int *minor) { *major = 99, *minor = 9; return 0; }
int nvrtcGetNumSupportedArchs(int *count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int *archs) { *archs = 90; return 0; }
const char *nvrtcGetErrorString(int status) { return "failed to open its builtins"; }
int nvrtcDestroyProgram(void *program) { return 0; }
int nvrtcCreateProgram(void *program, char *a, char *b, int c, void *d, void *e) { return 0; }
int nvrtcGetProgramLogSize(void *program, unsigned long *size) { *size = 1; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { *log = 0; return 0; }
int nvrtcGetCUBINSize(void *program, unsigned long *size) { *size = 5; return 0; }
int nvrtcGetCUBIN(void *program, char *cubin) { __builtin_memcpy(cubin, "cubin", 5); return 0; }
int nvrtcCompileProgram(void *program, int count, void *options) {
  return dlopen("libnvrtc-builtins.so.99.9", RTLD_NOW) ? 0 : 7;
}
"""
COMPILES = """
import sys
sys.path[:] = [{root!r}, *sys.path]
from gpugraph.devices.cuda.driver import nvrtc
sys.path.insert(0, {folder!r})
print(nvrtc.find_nvrtc().nvrtc.compile("", "t", "sm_90").content)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_it_loads_by_name_is_found_beside_it(tmp_path: Path) -> None:
    """As NVRTC of CUDA 13.0 in NVIDIA's wheel, which has no path to its own folder."""
    folder = tmp_path / "nvidia" / "cu99" / "lib"
    folder.mkdir(parents=True)
    for name, text in (("libnvrtc-builtins.so.99.9", ""), ("libnvrtc.so.99", LOADS_BESIDE)):
        command = ["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(folder / name)]
        command += [f"-Wl,-soname,{name}", "-ldl"]
        subprocess.run(command, input=text, text=True, check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, "-c", COMPILES.format(root=str(ROOT), folder=str(tmp_path))],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.stdout == "b'cubin'\n", done.stderr


@pytest.mark.parametrize("wanted, chosen", [(12, 12), (13, 13), (11, 13), (0, 13)])
def test_the_version_of_cupys_cuda_comes_first(
    wanted: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of torch's wheels may hold another version than CuPy uses."""

    class Library:
        def __init__(self, path: str, *_: Any) -> None:
            self.version = (int(path.rpartition(".")[2]), 0)

    monkeypatch.setattr(module, "library_paths", lambda: iter(["a.so.13", "b.so.12", "c.so.99"]))
    monkeypatch.setattr(module, "Nvrtc", Library)
    monkeypatch.setattr(ctypes, "CDLL", lambda path: path)
    result = module._search.__wrapped__(wanted)
    assert result.nvrtc is not None and result.nvrtc.version == (chosen, 0)


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
    assert next(library_paths()) == str(folder / "libnvrtc.so.13")


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
