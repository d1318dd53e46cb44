"""CupyDriver against fake bindings: its calls, their order, and their arguments."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.cuda.detection.probe_kernel import probe
from gpugraph.devices.cuda.driver import cupy_bindings
from gpugraph.devices.cuda.driver.cuda_statuses import FATAL
from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry, Product

from ..fake_cupy import CONTEXT, Arguments, FakeCuPy, answer_probe

ROOT = Path(__file__).parents[4]
GRID = Geometry((3, 2, 1), (128, 1, 1))


def add(arguments: Arguments) -> None:
    """out[0] += value"""
    ctypes.c_int64.from_address(arguments.integer(0)).value += arguments.integer(1)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
    return FakeCuPy({"add": add, "gpugraph_probe": answer_probe}).install(monkeypatch)


def compiled(text: str, arch: str, name: str) -> bytes:
    return f"{arch} {text}".encode()


def made(cupy: FakeCuPy, ordinal: int = 0, products: Any = None) -> CupyDriver:
    driver = CupyDriver(ordinal, compiled, products)
    cupy.calls.clear()
    return driver


def test_what_it_says_of_its_gpu(cupy: FakeCuPy) -> None:
    driver = CupyDriver(1, compiled)
    assert cupy.calls[:3] == [("setDevice", 1), ("free", 0), ("ctxGetCurrent",)]
    assert cupy.current == 0  # it was another thread's
    about = driver.properties
    assert (about.ordinal, about.name, about.arch) == (1, "Fake H100", "sm_90")
    assert (about.free_bytes, about.total_bytes) == (3 << 30, 4 << 30)
    assert (about.multiprocessors, about.shared_bytes, about.peers) == (132, 232448, {0})
    assert about.versions == "CUDA driver 12.8, runtime 12.9"


def test_memory_is_ordinary_and_given_back(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    address = driver.malloc(1000)
    region = driver.malloc_host(64)
    assert address is not None and region is not None
    array = np.ndarray(8, np.int64, region.buffer)
    array[:] = range(8)
    assert ctypes.string_at(region.base, 64) == array.tobytes()
    driver.free(address)
    driver.free_host(region.base)
    assert cupy.told("malloc", "hostAlloc", "free", "freeHost") == [
        ("malloc", 1000),
        ("hostAlloc", 64, 1),
        ("free", address),
        ("freeHost", region.base),
    ]
    assert cupy.live == {}


def test_out_of_memory_is_none_and_nothing_else_is(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    cupy.failures = {"malloc": 2, "hostAlloc": 2}
    assert driver.malloc(1 << 60) is None and driver.malloc_host(1 << 60) is None
    cupy.failures = {"malloc": 700}
    with pytest.raises(DriverError, match=r"allocate device memory \(8 bytes\)") as caught:
        driver.malloc(8)
    assert (caught.value.status, caught.value.fatal) == (700, True)
    with pytest.raises(ValueError, match="0 bytes requested"):
        driver.malloc(0)


def test_streams_and_events(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    one, two = driver.stream("one"), driver.stream("two")
    event = driver.event()
    driver.record(event, one)
    driver.wait(two, event)
    assert driver.is_done(event)
    cupy.answers["eventQuery"] = 600
    assert not driver.is_done(event)
    cupy.answers["eventQuery"] = 719
    with pytest.raises(DriverError) as caught:
        driver.is_done(event)
    assert (caught.value.status, caught.value.fatal) == (719, True)
    driver.synchronize(two)
    driver.synchronize()
    handle = event.handle
    del event, caught
    gc.collect()
    without = ("ctxGetCurrent", "ctxSetCurrent", "eventQuery")
    assert [call for call in cupy.calls if call[0] not in without] == [
        ("streamCreateWithFlags", 1),
        ("streamCreateWithFlags", 1),
        ("eventCreateWithFlags", 2),
        ("eventRecord", handle, one),
        ("streamWaitEvent", two, handle),
        ("check_status", 719),
        ("streamSynchronize", two),
        ("streamSynchronize", one),
        ("streamSynchronize", two),
        ("eventDestroy", handle),
    ]


def test_copies(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream = driver.stream("one")
    a, b = driver.malloc(16), driver.malloc(16)
    assert a is not None and b is not None
    source, target = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    driver.copy_in(a, source.ctypes.data, 16, stream)
    driver.copy(b, a, 16, stream)
    driver.copy_out(target.ctypes.data, b, 16, stream)
    np.testing.assert_array_equal(target, source)
    assert [(call[3], call[4], call[5]) for call in cupy.told("memcpyAsync")] == [
        (16, 1, stream),
        (16, 3, stream),
        (16, 2, stream),
    ]


def test_a_text_is_compiled_and_loaded_once(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    assert driver.compile("text", "first") == driver.compile("text", "second")
    assert driver.compile("other", "third") != driver.compile("text", "first")
    assert [call[1] for call in cupy.told("moduleLoadData")] == [b"sm_90 text", b"sm_90 other"]


def test_a_launch_is_prepared(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream, out = driver.stream("one"), driver.malloc(8)
    assert out is not None
    ctypes.c_int64.from_address(out).value = 40
    launch = driver.launcher(driver.compile("t", "t"), "add", GRID, (out, np.int64(1)), stream)
    cupy.calls.clear()
    launch()
    launch()
    assert ctypes.c_int64.from_address(out).value == 42
    first, second = cupy.told("launchKernel")
    assert first == second
    assert first[2:10] == (3, 2, 1, 128, 1, 1, 0, stream) and first[11] == 0
    assert len(cupy.names()) == 2


def test_shared_memory_is_asked_for_by_all_launches_of_a_kernel_together(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    module, stream = driver.compile("t", "t"), driver.stream("one")
    for shared in (0, 100, 60 << 10, 50 << 10, 70 << 10):
        driver.launcher(module, "add", Geometry((1, 1, 1), (32, 1, 1), shared), (0, 0), stream)
    assert [call[2:] for call in cupy.told("funcSetAttribute")] == [
        (8, 100),
        (8, 60 << 10),
        (8, 70 << 10),
    ]


def test_a_failed_launch_names_its_kernel(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    launch = driver.launcher(driver.compile("t", "t"), "add", GRID, (0, 0), driver.stream("one"))
    cupy.failures = {"launchKernel": 701}
    with pytest.raises(DriverError, match=r"launch add .*cudaErrorNumber701") as caught:
        launch()
    assert (caught.value.status, caught.value.fatal) == (701, False)


@pytest.mark.parametrize("status", [46, 100, 700, 710, 716, 717, 718, 719, 804, 999])
def test_errors_that_stick_are_fatal(cupy: FakeCuPy, status: int) -> None:
    driver = made(cupy)
    driver.stream("one")
    cupy.failures = {"streamSynchronize": status}
    with pytest.raises(DriverError, match="can't use the GPU any longer") as caught:
        driver.synchronize()
    assert caught.value.fatal and status in FATAL


def test_captured_work_is_launched_at_once(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream, out = driver.stream("one"), driver.malloc(8)
    assert out is not None
    ctypes.c_int64.from_address(out).value = 0
    launch = driver.launcher(driver.compile("t", "t"), "add", GRID, (out, 5), stream)
    cupy.calls.clear()

    def work() -> None:
        launch()
        launch()

    again = driver.capture(stream, work)
    assert ctypes.c_int64.from_address(out).value == 0
    names = ["streamBeginCapture", "launchKernel", "launchKernel", "streamEndCapture"]
    assert cupy.names() == [*names, "graphInstantiate", "graphDestroy", "graphUpload"]
    assert cupy.told("streamBeginCapture") == [("streamBeginCapture", stream, 1)]
    cupy.calls.clear()
    again()
    again()
    assert ctypes.c_int64.from_address(out).value == 20
    assert cupy.names() == ["graphLaunch"] * 2
    del again
    gc.collect()
    assert cupy.names()[-1] == "graphExecDestroy"


def test_nothing_is_collected_while_a_stream_is_captured(cupy: FakeCuPy) -> None:
    """The end of another graph, or of a session, would make the capture fail."""
    driver = made(cupy)
    stream = driver.stream("one")
    circle: list[Any] = [driver.event()]
    circle.append(circle)
    cupy.calls.clear()

    def work() -> None:
        nonlocal circle
        del circle
        assert len([[index] for index in range(100_000)]) == 100_000  # enough for any collector

    driver.capture(stream, work)
    assert gc.isenabled()
    assert cupy.told("eventDestroy") == []
    gc.collect()
    assert len(cupy.told("eventDestroy")) == 1


def test_work_that_fails_while_it_is_captured_leaves_no_capture(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream = driver.stream("one")
    before = dict(cupy.live)

    def fails() -> None:
        raise KeyError("work")

    with pytest.raises(KeyError, match="work"):
        driver.capture(stream, fails)
    assert gc.isenabled()
    assert cupy.names() == ["streamCreateWithFlags", "streamBeginCapture"] + [
        "streamEndCapture",
        "graphDestroy",
    ]
    assert cupy.live == before
    cupy.failures = {"streamEndCapture": 901}
    with pytest.raises(KeyError, match="work"):  # that the capture is invalid follows from it
        driver.capture(stream, fails)
    with pytest.raises(DriverError, match="capture the stream's work") as caught:
        driver.capture(stream, lambda: None)
    assert not caught.value.fatal


def test_a_graph_that_can_not_be_made_is_destroyed(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream = driver.stream("one")
    before = dict(cupy.live)
    cupy.failures = {"graphInstantiate": 2}
    with pytest.raises(DriverError, match="instantiate a graph"):
        driver.capture(stream, lambda: None)
    assert cupy.live == before


def test_products_are_bound_with_the_gpu_current(cupy: FakeCuPy) -> None:
    asked: list[Any] = []

    def products() -> Any:
        asked.append("made")

        def bind(product: Product, workspace: tuple[int, int], stream: int) -> Any:
            asked.append((product.m, workspace, stream, cupy.calls[-1]))
            return None if product.m == 1 else lambda: asked.append("launched")

        return bind

    driver = made(cupy, 0, products)
    for m in (2, 1):
        product = Product(m, 4, 5, "float32", 1, 2, 3, 5, 4, 4)
        launch = driver.product(product, (256, 1024), 9)
        assert (launch is None) == (m == 1)
        if launch is not None:
            launch()
    current = ("ctxSetCurrent", CONTEXT)
    assert asked == ["made", (2, (256, 1024), 9, current), "launched", (1, (256, 1024), 9, current)]
    assert made(cupy).product(product, (256, 1024), 9) is None


def test_closing_gives_all_back_even_of_a_lost_gpu(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    probe(driver)
    for name in ("one", "two"):
        driver.stream(name)
    driver.close()
    assert [
        what for what in cupy.live.values() if what == "stream" or isinstance(what, bytes)
    ] == []
    driver.close()
    lost = made(cupy)
    lost.stream("three")
    cupy.failures = dict.fromkeys(("ctxSetCurrent", "streamSynchronize", "streamDestroy"), 700)
    lost.close()


def test_memory_that_nobody_freed_goes_with_the_driver(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    kept, freed = driver.malloc(1000), driver.malloc(2000)
    pinned = driver.malloc_host(64)
    assert kept is not None and freed is not None and pinned is not None
    driver.free(freed)
    driver.close()
    assert cupy.live == {}
    driver.free(kept)  # by a finalizer that comes late
    driver.free_host(pinned.base)
    assert cupy.told("free", "freeHost") == [
        ("free", freed),
        ("free", kept),
        ("freeHost", pinned.base),
    ]


def test_without_cupy_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_bindings, "PROBLEM", "ModuleNotFoundError: No module named 'cupy'")
    with pytest.raises(DriverError, match="CuPy can't be used: ModuleNotFoundError"):
        CupyDriver(0, compiled)


def test_cupy_is_not_imported_by_those_who_need_no_gpu(tmp_path: Path) -> None:
    package = tmp_path / "cupy_backends"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('CuPy was imported')\n")
    program = (
        "import sys, gpugraph as tf\n"
        "print(tf.Session().run(tf.constant(5)))\n"
        "assert 'gpugraph.devices.cuda.driver.cupy_driver' not in sys.modules\n"
        "import gpugraph.devices.cuda.driver.cupy_driver\n"
    )
    settings = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}", "GPUGRAPH_GPU": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=settings, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("5\n", "CuPy was imported\n")
