"""CupyDriver against fake bindings: the thread's current GPU, and copies between two GPUs."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.cuda.driver import cupy_driver
from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry, Product
from gpugraph.devices.cuda.driver.peer_copies import PIECE_BYTES, TRIAL_BYTES

from ..fake_cupy import CONTEXT, FakeCuPy, check_arguments, signatures

GRID = Geometry((3, 2, 1), (128, 1, 1))
OTHERS = 4321
"""The context that another library in this process has made current."""


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
    return FakeCuPy({"nothing": lambda arguments: None}).install(monkeypatch)


def compiled(text: str, arch: str, name: str) -> bytes:
    return text.encode()


def products() -> Any:
    return lambda product, workspace, stream: lambda: None


def made(cupy: FakeCuPy, ordinal: int = 0) -> CupyDriver:
    driver = CupyDriver(ordinal, compiled, products)
    cupy.calls.clear()
    return driver


def launcher(driver: CupyDriver) -> Any:
    arguments = (driver.malloc(8), 1)
    return driver.launcher(
        driver.compile("t", "t"), "nothing", GRID, arguments, driver.stream("launches")
    )


def test_every_call_is_made_with_its_gpu_current(cupy: FakeCuPy) -> None:
    driver = made(cupy)
    stream, event, launch = driver.stream("one"), driver.event(), launcher(driver)
    cupy.calls.clear()
    done = threading.Thread(target=lambda: (launch(), driver.record(event, stream)))
    done.start()
    done.join()
    around = ["ctxGetCurrent", "ctxSetCurrent", "", "ctxSetCurrent"]
    assert [call[0] for call in cupy.calls] == [
        name or call for call in ("launchKernel", "eventRecord") for name in around
    ]
    assert cupy.told("ctxSetCurrent") == [("ctxSetCurrent", CONTEXT), ("ctxSetCurrent", 0)] * 2


def test_a_threads_current_gpu_is_as_before_after_each_call(cupy: FakeCuPy) -> None:
    cupy.driver.ctxSetCurrent(OTHERS)
    driver = CupyDriver(1, compiled, products)
    assert cupy.current == OTHERS
    stream, event, launch = driver.stream("one"), driver.event(), launcher(driver)
    address, host = driver.malloc(8), driver.malloc_host(8)
    assert address is not None and host is not None
    product = driver.product(Product(2, 4, 5, "float32", 1, 2, 3, 5, 4, 4), (256, 8), stream)
    assert product is not None
    calls: list[Any] = [launch, product, driver.capture(stream, launch), driver.free_bytes]
    calls += [lambda: driver.record(event, stream), lambda: driver.wait_for(event)]
    calls += [lambda: driver.copy_in(address, host.base, 8, stream), lambda: driver.free(address)]
    for call in (*calls, driver.synchronize, driver.close):
        before = len(cupy.calls)
        call()
        assert cupy.current == OTHERS
        assert ("ctxSetCurrent", CONTEXT + 1) in cupy.calls[before:]
    cupy.failures = {"launchKernel": 701}
    with pytest.raises(DriverError):
        launch()
    assert cupy.current == OTHERS


def test_a_launch_on_the_current_gpu_changes_nothing(cupy: FakeCuPy) -> None:
    launch = launcher(made(cupy))
    cupy.driver.ctxSetCurrent(CONTEXT)
    cupy.calls.clear()
    launch()
    assert [call[0] for call in cupy.calls] == ["ctxGetCurrent", "launchKernel"]


def test_finalizers_enter_the_context_of_the_object(cupy: FakeCuPy) -> None:
    driver = made(cupy, 1)
    objects = [driver.event(), driver.capture(driver.stream("one"), lambda: None)]
    cupy.driver.ctxSetCurrent(CONTEXT)  # GPU 0's
    cupy.calls.clear()
    objects.clear()
    gc.collect()
    assert sorted(cupy.names()) == ["eventDestroy", "graphExecDestroy"]
    entered = [("ctxSetCurrent", CONTEXT + 1), ("ctxSetCurrent", CONTEXT)]
    assert cupy.told("ctxSetCurrent") == entered * 2


# -- copies between GPUs


class Pair:
    """Two GPUs with memory each; the first one's has random numbers."""

    def __init__(self, cupy: FakeCuPy, num_bytes: int) -> None:
        self.one, self.two = made(cupy, 0), made(cupy, 1)
        self.num_bytes = num_bytes
        source, target = self.one.malloc(num_bytes), self.two.malloc(num_bytes)
        assert source is not None and target is not None
        self.source, self.target, self.stream = source, target, self.two.stream("two")
        self.value = np.random.default_rng(5).bytes(num_bytes)
        ctypes.memmove(source, self.value, num_bytes)
        cupy.calls.clear()

    def copy(self) -> None:
        self.two.copy_peer(self.target, self.source, self.one, self.num_bytes, self.stream)

    def is_copied(self) -> bool:
        return ctypes.string_at(self.target, self.num_bytes) == self.value


def test_copies_are_direct_after_one_trial(cupy: FakeCuPy) -> None:
    pair = Pair(cupy, 16)
    cupy.failures = {"deviceEnablePeerAccess": 704}  # somebody has done it before: all is well
    before = set(cupy.live)
    for _ in range(2):
        pair.copy()
    assert pair.is_copied()
    assert cupy.told("deviceEnablePeerAccess") == [("deviceEnablePeerAccess", 0)]
    trial, *copies = cupy.told("memcpyPeerAsync")
    assert trial[5] == TRIAL_BYTES
    assert copies == [("memcpyPeerAsync", pair.target, 1, pair.source, 0, 16, pair.stream)] * 2
    made_since = [what for key, what in cupy.live.items() if key not in before]
    assert made_since == ["stream"] * 2  # and no memory of the trial


@pytest.mark.parametrize("can_access", [0, 1])
def test_damaged_copies_go_through_the_host(
    cupy: FakeCuPy, caplog: pytest.LogCaptureFixture, can_access: int
) -> None:
    """With an IOMMU, a direct copy may report success and not arrive."""
    cupy.answers["deviceCanAccessPeer"] = can_access
    pair = Pair(cupy, 2 * PIECE_BYTES + 12345)
    cupy.damaged.add((0, 1))
    with caplog.at_level("WARNING"):
        for _ in range(2):
            pair.copy()
    assert pair.is_copied()
    (trial,) = cupy.told("memcpyPeerAsync")
    assert trial[5] == TRIAL_BYTES
    (record,) = caplog.records
    assert record.getMessage().startswith("Copies from GPU 0 to GPU 1 arrive damaged")
    assert {call[5] for call in cupy.told("memcpyAsync")[3:]} == {pair.stream}
    back = pair.one.stream("back")
    pair.one.copy_peer(pair.source, pair.target, pair.two, 16, back)  # the other way is tried, too
    direct = ("memcpyPeerAsync", pair.source, 0, pair.target, 1, 16, back)
    assert cupy.told("memcpyPeerAsync")[-1] == direct
    for driver in (pair.two, pair.one):
        driver.close()


def test_a_copy_that_fails_goes_through_the_host(
    cupy: FakeCuPy, caplog: pytest.LogCaptureFixture
) -> None:
    pair = Pair(cupy, 16)
    cupy.failures = {"memcpyPeerAsync": 217}
    pair.copy()
    assert pair.is_copied()
    assert "arrive damaged" in caplog.text


def test_a_trial_without_memory_is_made_later(cupy: FakeCuPy) -> None:
    pair = Pair(cupy, 16)
    cupy.failures = {"malloc": 2}
    pair.copy()
    assert pair.is_copied() and cupy.told("memcpyPeerAsync") == []
    cupy.failures = {}
    pair.copy()
    assert len(cupy.told("memcpyPeerAsync")) == 2


def test_a_trial_that_loses_the_gpu_raises(cupy: FakeCuPy) -> None:
    pair = Pair(cupy, 16)
    cupy.failures = {"memcpyPeerAsync": 700}
    with pytest.raises(DriverError, match="from GPU 0 to GPU 1") as caught:
        pair.copy()
    assert caught.value.fatal


def test_gpus_that_can_not_see_each_other_copy_all_the_same(cupy: FakeCuPy) -> None:
    cupy.answers["deviceCanAccessPeer"] = 0
    pair = Pair(cupy, 16)
    pair.copy()
    assert pair.is_copied()
    assert cupy.told("deviceEnablePeerAccess") == [] and cupy.told("memcpyPeerAsync")


def test_parts_of_one_gpu_copy_within_it(cupy: FakeCuPy) -> None:
    one, two = made(cupy, 0), made(cupy, 0)
    a, b, stream = one.malloc(16), two.malloc(16), two.stream("two")
    assert a is not None and b is not None
    two.copy_peer(b, a, one, 16, stream)
    assert cupy.told("memcpyAsync") == [("memcpyAsync", b, a, 16, 3, stream)]
    assert cupy.told("memcpyPeerAsync", "deviceEnablePeerAccess") == []


# -- the fake bindings are CuPy's


def test_the_table_of_bindings_has_exactly_the_names_in_use() -> None:
    folder = Path(cupy_driver.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    texts = [(folder / f"cupy_{part}.py").read_text("utf-8") for part in ("bindings", "driver")]
    used = set(
        re.findall(r"(?<![\w\"])(?:cupy\.)?((?:driver|runtime)\.[a-zA-Z]\w+)", "".join(texts))
    )
    used = {name for name in used if name.partition(".")[2] not in modules}
    assert used == set(signatures())


def test_the_fake_refuses_calls_that_cupy_refuses() -> None:
    check_arguments("runtime.streamBeginCapture", (1,))
    for name, arguments in (
        ("runtime.malloc", ()),
        ("runtime.malloc", (1, 2)),
        ("runtime.streamBeginCapture", (1, 2, 3)),
        ("driver.moduleLoadData", ("text",)),
    ):
        with pytest.raises(TypeError, match=name):
            check_arguments(name, arguments)
    for name, arguments in (("runtime.malloc", (-1,)), ("runtime.setDevice", (1 << 31,))):
        with pytest.raises(OverflowError, match=name):
            check_arguments(name, arguments)
