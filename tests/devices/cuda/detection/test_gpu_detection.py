"""Detection: for each possible fault, one sentence that names it and the remedy."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.devices import no_gpu_reason, unusable_gpus
from gpugraph.devices.cuda.detection import cupy_packages as packages, gpu_detection as detection
from gpugraph.devices.cuda.driver import driver_opening as opening, libcuda
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.driver.kernel_includes import with_includes
from gpugraph.devices.cuda.driver.nvrtc import find_nvrtc

from ..fake_cupy import FakeCuPy, answer_probe

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no cc to make a driver's stand-in with")
HERE = Path(__file__).parent
ROOT = HERE.parents[3]
BINDINGS = [f"gpugraph.devices.cuda.driver.cupy_{part}" for part in ("bindings", "driver")]


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the stand-in for the driver."""
    path = tmp_path_factory.mktemp("stub") / "libcuda.so.1"
    command = [str(COMPILER), "-shared", "-fPIC", "-o", str(path), str(HERE / "stub_libcuda.c")]
    subprocess.run(command, check=True)
    return path


class Machine:
    """The contents of a machine: a driver by the environment, CuPy's packages by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.monkeypatch = monkeypatch
        self.cache = cache
        self.packages = {"cupy-cuda12x": "14.2.0"}
        self.importable = True
        self.compiled: list[str] = []
        self.nvrtc: int | None = 12090
        self.cupy = FakeCuPy({"gpugraph_probe": answer_probe}).install(monkeypatch)

    def has(self, **settings: str) -> None:
        for name, value in settings.items():
            self.monkeypatch.setenv(name, value)

    def detect(self) -> detection.Detection:
        detection.forget()
        return detection.detect()

    def compile(self, text: str, arch: str, name: str) -> bytes:
        self.compiled.append(arch)
        return b"cubin of " + name.encode()

    def spec(self, name: str) -> Any:
        return _Spec("/site/" + name) if self.importable else None

    @property
    def notes(self) -> list[Path]:
        folder = self.cache / "gpugraph" / "gpu"
        return sorted(folder.iterdir()) if folder.exists() else []


class _Spec:
    def __init__(self, origin: str | None) -> None:
        self.origin = origin
        self.submodule_search_locations = ["/site/cupy"]


@pytest.fixture
def machine(stub: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """All is well on it: a driver, one GPU, CuPy and a compiler."""
    for name in ("GPUGRAPH_GPU", "CUDA_VISIBLE_DEVICES", "STUB_INIT", "STUB_VERSION"):
        monkeypatch.delenv(name, raising=False)
    made = Machine(monkeypatch, tmp_path)
    made.has(STUB_GPUS="90:Stub H100", XDG_CACHE_HOME=str(tmp_path))
    monkeypatch.setattr(libcuda, "_NAME", str(stub))
    monkeypatch.setattr(detection, "_started_in", [])
    monkeypatch.setattr(packages, "installed_version", lambda name: made.packages.get(name))
    monkeypatch.setattr(packages, "find_spec", made.spec)
    monkeypatch.setattr(opening, "compile_source", made.compile)
    monkeypatch.setattr(detection, "compiler_version", lambda: made.nvrtc)
    detection.forget()
    yield made
    detection.forget()


def test_a_gpu_that_answers_is_found(machine: Machine) -> None:
    result = machine.detect()
    assert result.reason == "" and result.left_out == ()
    (gpu,) = result.gpus
    assert gpu == (0, "Stub H100", (9, 0), 1 << 33, "0000:01:00.0")
    assert machine.compiled == ["sm_90"]
    # The trial has freed all that it allocated.
    assert [x for x in machine.cupy.live.values() if x == "stream" or not callable(x)] == []


def test_it_is_asked_once_in_a_process(machine: Machine) -> None:
    first = machine.detect()
    machine.has(STUB_GPUS="")
    assert detection.detect() is first
    machine.has(CUDA_VISIBLE_DEVICES="0")  # a program may set it before its first session
    assert "shows no GPU (CUDA_VISIBLE_DEVICES is '0')" in detection.detect().reason


def test_a_trial_that_went_well_is_kept_in_a_file_of_the_users(machine: Machine) -> None:
    machine.detect()
    (note,) = machine.notes
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert stat.S_IMODE(note.parent.stat().st_mode) == 0o700
    assert machine.detect().gpus and machine.compiled == ["sm_90"]
    machine.packages["cupy-cuda12x"] = "14.3.0"  # another version: another trial
    assert machine.detect().gpus and machine.compiled == ["sm_90"] * 2


def test_a_gpu_lost_since_its_trial_is_noticed(machine: Machine) -> None:
    machine.detect()
    machine.cupy.failures["setDevice"] = 46
    assert "Stub H100 (GPU 0) failed its trial" in machine.detect().reason
    machine.cupy.failures.clear()
    machine.has(STUB_INIT="999")
    assert "does not start" in machine.detect().reason


def test_a_trial_that_failed_is_not_kept(machine: Machine) -> None:
    machine.cupy.failures["launchKernel"] = 700
    reason = machine.detect().reason
    assert "failed its trial" in reason and "launch gpugraph_probe" in reason
    assert machine.notes == []
    machine.cupy.failures.clear()
    assert machine.detect().gpus


@pytest.mark.parametrize("value", ["2", "yes", "off"])
def test_a_switch_that_says_nothing_is_refused(machine: Machine, value: str) -> None:
    machine.has(GPUGRAPH_GPU=value)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"GPUGRAPH_GPU is '{value}'"):
        machine.detect()


def test_it_can_be_switched_off(machine: Machine) -> None:
    machine.has(GPUGRAPH_GPU="0")
    result = machine.detect()
    assert result.reason == "GPUGRAPH_GPU is 0, which switches CUDA GPUs off" and not result.gpus
    assert machine.cupy.calls == []
    assert no_gpu_reason(tf.SessionOptions()).startswith("GPUGRAPH_GPU is 0")
    machine.has(GPUGRAPH_GPU="1")
    assert machine.detect().gpus


def test_no_driver(machine: Machine) -> None:
    machine.monkeypatch.setattr(libcuda, "_NAME", "libcuda_that_nobody_has.so.1")
    reason = machine.detect().reason
    assert reason.startswith("there is no NVIDIA driver (libcuda_that_nobody_has.so.1: cannot")
    assert "CuPy" not in reason
    machine.importable, machine.packages = False, {}
    assert "'gpugraph[cuda12]' or 'gpugraph[cuda13]'" in machine.detect().reason


@pytest.mark.parametrize(("version", "extra"), [("12040", "cuda12"), ("13000", "cuda13")])
def test_no_package(machine: Machine, version: str, extra: str) -> None:
    machine.importable, machine.packages = False, {}
    machine.has(STUB_VERSION=version)
    expected = f"CuPy is not installed: pip install 'gpugraph[{extra}]'"
    assert machine.detect().reason == expected


def test_two_packages(machine: Machine) -> None:
    machine.packages["cupy-cuda13x"] = "14.2.0"
    reason = machine.detect().reason
    assert "2 packages of CuPy" in reason
    assert "pip uninstall cupy-cuda13x cupy-cuda12x, then pip install 'gpugraph[cuda12]'" in reason


@pytest.mark.parametrize("name", ["cupy-cuda11x", "cupy-rocm-5-0"])
def test_a_package_for_something_else(machine: Machine, name: str) -> None:
    machine.packages = {name: "13.0.0"}
    assert machine.detect().reason.startswith(f"{name} is for ")


def test_a_package_of_which_something_is_left(machine: Machine) -> None:
    machine.monkeypatch.setattr(packages, "find_spec", lambda name: _Spec(None))
    assert "not whole: look at /site/cupy" in machine.detect().reason


@pytest.mark.parametrize(
    ("package", "version", "says"),
    [
        ("cupy-cuda12x", "11040", "serves CUDA 11.4 at most, cupy-cuda12x needs 12.1"),
        ("cupy-cuda12x", "12000", "serves CUDA 12.0 at most, cupy-cuda12x needs 12.1"),
        ("cupy-cuda13x", "12080", "serves CUDA 12.8 at most, cupy-cuda13x needs 13.0"),
    ],
)
def test_a_driver_that_is_too_old(machine: Machine, package: str, version: str, says: str) -> None:
    machine.packages = {package: "14.2.0"}
    machine.has(STUB_VERSION=version)
    reason = machine.detect().reason
    assert says in reason and f"or remove {package}, then pip install" in reason
    assert machine.cupy.calls == []


def test_a_driver_too_old_for_a_package_that_was_built_here(machine: Machine) -> None:
    machine.packages = {"cupy": "14.2.0"}
    machine.cupy.answers["runtimeGetVersion"] = 13000
    assert "serves CUDA 12.8 at most, cupy needs 13.0" in machine.detect().reason


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("100", "the NVIDIA driver finds no GPU: no CUDA-capable device"),
        ("803", "does not start: the driver's library and its kernel module"),
        ("34", "a stub for linking"),
        ("12345", "what number 12345 means (cuInit: 12345)"),
    ],
)
def test_a_driver_that_does_not_start(machine: Machine, status: str, says: str) -> None:
    machine.has(STUB_INIT=status)
    assert says in machine.detect().reason


@pytest.mark.parametrize(("visible", "says"), [("", "is empty"), ("-1", "is '-1'")])
def test_gpus_that_are_hidden(machine: Machine, visible: str, says: str) -> None:
    machine.has(CUDA_VISIBLE_DEVICES=visible, STUB_INIT="100")
    assert machine.detect().reason == f"CUDA_VISIBLE_DEVICES {says}, which hides all GPUs"


def test_a_library_that_is_no_driver(machine: Machine) -> None:
    machine.monkeypatch.setattr(libcuda, "_NAME", None)  # the process itself
    assert "has no cuDriverGetVersion: it is not a CUDA driver" in machine.detect().reason


def test_gpus_that_are_too_weak_are_left_out(machine: Machine) -> None:
    machine.has(STUB_GPUS="37:Stub K80,70:Stub V100,61:Stub 1080")
    result = machine.detect()
    assert [(gpu.ordinal, gpu.name) for gpu in result.gpus] == [(1, "Stub V100")]
    assert result.left_out[0] == (
        "Stub K80 (GPU 0) has compute capability 3.7, 7.0 or later is needed"
    )
    assert unusable_gpus() == result.left_out and len(result.left_out) == 2
    machine.has(STUB_GPUS="37:Stub K80")
    assert machine.detect().reason == result.left_out[0]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("raise ImportError('libnvToolsExt.so.1: cannot open')", "ImportError: libnvToolsExt.so.1"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_package_that_can_not_be_imported(
    machine: Machine, tmp_path: Path, error: str, says: str
) -> None:
    folder = tmp_path / "cupy_backends"
    folder.mkdir()
    (folder / "__init__.py").write_text(f"{error}\n")
    for name in list(sys.modules):
        if name.startswith("cupy") or name in BINDINGS:
            machine.monkeypatch.delitem(sys.modules, name)
    machine.monkeypatch.delattr(BINDINGS[0])  # `from package import module` finds it there
    machine.monkeypatch.syspath_prepend(str(tmp_path))
    reason = machine.detect().reason
    assert reason == f"cupy-cuda12x 14.2.0 can't be imported: {says}" + (
        ": cannot open" if "ImportError" in says else ""
    )


def test_a_compiler_too_new_for_the_driver(machine: Machine) -> None:
    machine.nvrtc = 13000
    assert "serves CUDA 12.8 at most, NVRTC needs 13.0" in machine.detect().reason


def test_it_is_said_once_where_a_driver_made_hopes(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.has(STUB_GPUS="")
    reason = machine.detect().reason
    detection.detect()
    assert [record.message for record in caplog.records] == [f"No CUDA GPU is used: {reason}"]
    caplog.clear()
    for settings in ({"CUDA_VISIBLE_DEVICES": ""}, {"GPUGRAPH_GPU": "0"}):
        machine.has(**settings)
        machine.detect()
    machine.monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    machine.has(GPUGRAPH_GPU="1", STUB_GPUS="90:Stub H100")
    machine.monkeypatch.setattr(libcuda, "_NAME", "libcuda_that_nobody_has.so.1")
    machine.detect()
    assert caplog.records == []


def test_a_compiler_that_is_missing_or_fails(machine: Machine) -> None:
    def no_compiler(text: str, arch: str, name: str) -> bytes:
        raise DriverError("libnvrtc is nowhere")

    machine.monkeypatch.setattr(opening, "compile_source", no_compiler)
    assert machine.detect().reason == ("Stub H100 (GPU 0) failed its trial: libnvrtc is nowhere")


def system_headers(text: str) -> set[str]:
    """Return CUDA's own headers that a source includes, itself or by headers of the kernels."""
    return set(re.findall(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", with_includes(text), re.M))


HEADERS = set[str]().union(
    *(system_headers(path.read_text("utf-8")) for path in (ROOT / "kernels/cuda").rglob("*.cu"))
)


@pytest.mark.parametrize("missing", sorted(HEADERS))
def test_the_probe_fails_without_a_header_that_kernels_include(
    machine: Machine, missing: str
) -> None:
    """Otherwise each operation of the program would fail."""

    def compile(text: str, arch: str, name: str) -> bytes:
        if missing in system_headers(text):
            raise DriverError(f"could not open source file {missing}")
        return machine.compile(text, arch, name)

    machine.monkeypatch.setattr(opening, "compile_source", compile)
    reason = machine.detect().reason
    assert reason == f"Stub H100 (GPU 0) failed its trial: could not open source file {missing}"
    assert machine.notes == []


@pytest.mark.skipif(find_nvrtc().nvrtc is None, reason=find_nvrtc().reason)
def test_the_probe_fails_where_the_compiler_has_no_headers(
    machine: Machine, tmp_path: Path
) -> None:
    nvrtc = find_nvrtc().nvrtc
    assert nvrtc is not None
    without = nvrtc.with_cache(tmp_path / "cubins")
    without.headers = ()
    machine.monkeypatch.setattr(
        opening, "compile_source", lambda text, arch, name: without.compile(text, name, arch)
    )
    reason = machine.detect().reason
    assert "failed its trial: gpugraph_probe does not compile" in reason
    assert '"cuda_bf16.h"' in reason


def test_a_gpu_that_answers_wrongly(machine: Machine) -> None:
    machine.cupy.kernels["gpugraph_probe"] = lambda arguments: None
    assert "a kernel that should have answered [2469135780246" in machine.detect().reason


def test_a_gpu_without_memory(machine: Machine) -> None:
    machine.cupy.failures["malloc"] = 2
    assert "other processes use all of it" in machine.detect().reason


def test_a_process_forked_after_the_driver_was_started(machine: Machine) -> None:
    machine.monkeypatch.setattr(detection, "_started_in", [os.getpid() + 1])
    machine.has(STUB_INIT="3")
    assert "forked from one that had started CUDA" in machine.detect().reason


def test_the_command_line_tells_it(machine: Machine, stub: Path, tmp_path: Path) -> None:
    """This runs in a separate process, with the stub where the loader looks for the driver."""
    settings = {
        **os.environ,
        "LD_LIBRARY_PATH": str(stub.parent),
        "PYTHONPATH": str(ROOT),
        "STUB_INIT": "100",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    command = [sys.executable, "-m", "gpugraph", "devices"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    cpu, *reasons = done.stdout.splitlines()
    (why,) = [line for line in reasons if not line.startswith("no native code: ")]
    assert cpu.startswith("/device:CPU:0") and why.startswith("no GPU: ")
    assert "CuPy is not installed" in why or "CUDA_VISIBLE_DEVICES is '-1'" in why
