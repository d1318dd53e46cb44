"""The guarantees of every driver, checked on the emulated GPU and on a CUDA GPU if there is one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpugraph.devices.cuda.detection.gpu_detection import detect
from gpugraph.devices.cuda.detection.probe_kernel import probe
from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Geometry, Product
from gpugraph.devices.cuda.driver.driver_opening import open_driver
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.devices.cuda.emulation.host_driver import HostDriver

ROOT = Path(__file__).resolve().parents[4]
SIZE = 1000
BYTES = 4 * SIZE
TEXT = """
extern "C" __global__ void axpb(float *x, double a, double b, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x)
    x[i] = (float)a * x[i] + (float)b;
}
"""
LOST = """
import sys
from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry
from gpugraph.devices.cuda.emulation.host_driver import HostDriver
from gpugraph.devices.cuda.driver.driver_opening import open_driver
driver = open_driver(0) if sys.argv[1] == "cuda" else HostDriver()
stream = driver.stream("one")
module = driver.compile(sys.argv[2], "axpb")
arguments = (4096, 1.0, 1.0, 8)
driver.launcher(module, "axpb", Geometry((1, 1, 1), (32, 1, 1)), arguments, stream)()
for each in (1, 2):
    try:
        driver.synchronize(stream)
    except DriverError as error:
        print(error.status, error.fatal)
driver.close()
print("closed")
"""

needs_compiler = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)
DRIVERS = [pytest.param("host", marks=needs_compiler), pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    made: Any = open_driver(detect().gpus[0].ordinal) if request.param == "cuda" else HostDriver()
    yield made
    made.close()


class Bench:
    """Device memory, pinned memory, and the copies between them."""

    def __init__(self, driver: Driver, num_bytes: int = BYTES) -> None:
        self.driver = driver
        self.num_bytes = num_bytes
        region = driver.malloc_host(num_bytes)
        memory = driver.malloc(num_bytes)
        assert region is not None and memory is not None
        self.region, self.memory = region, memory

    def view(self, dtype: Any = np.float32) -> Any:
        count = self.num_bytes // np.dtype(dtype).itemsize
        return np.ndarray(count, dtype, self.region.buffer)

    def copy_in(self, stream: Any) -> None:
        self.driver.copy_in(self.memory, self.region.base, self.num_bytes, stream)

    def copy_out(self, stream: Any) -> None:
        self.driver.copy_out(self.region.base, self.memory, self.num_bytes, stream)

    def axpb(self, a: float, b: float, stream: Any) -> Callable[[], None]:
        module = self.driver.compile(TEXT, "axpb")
        geometry = Geometry((4, 1, 1), (64, 1, 1))
        span = [(self.memory, self.num_bytes)]
        arguments = (self.memory, a, b, SIZE)
        return self.driver.launcher(module, "axpb", geometry, arguments, stream, span, span)


def test_it_does_what_it_is_told(driver: Driver) -> None:
    probe(driver)
    about = driver.properties
    assert about.arch.startswith("sm_") and about.multiprocessors > 0
    assert 0 < about.free_bytes <= about.total_bytes


def test_memory_is_aligned_and_runs_out_without_harm(driver: Driver) -> None:
    addresses = [driver.malloc(size) for size in (1, 100, 5000)]
    assert all(address is not None and address % 256 == 0 for address in addresses)
    assert driver.malloc(1 << 46) is None  # under WSL2, memory may exceed the GPU's by the host's
    for address in addresses:
        assert address is not None
        driver.free(address)
    probe(driver)


def test_streams_that_wait_for_each_other(driver: Driver) -> None:
    bench = Bench(driver)
    inward, compute, outward = (driver.stream(name) for name in ("in", "compute", "out"))
    arrived, computed, left = driver.event(), driver.event(), driver.event()
    launch = bench.axpb(2.0, 1.0, compute)
    values = np.arange(SIZE, dtype=np.float32)
    for _ in range(20):
        bench.view()[:] = values
        bench.copy_in(inward)
        driver.record(arrived, inward)
        driver.wait(compute, arrived)
        launch()
        driver.record(computed, compute)
        driver.wait(outward, computed)
        bench.copy_out(outward)
        driver.record(left, outward)
        driver.synchronize(outward)
        assert driver.is_done(left)
        np.testing.assert_array_equal(bench.view(), 2 * values + 1)


def test_captured_work_is_done_again_at_each_call(driver: Driver) -> None:
    bench = Bench(driver)
    stream = driver.stream("one")
    bench.view()[:] = 0
    bench.copy_in(stream)
    first, second = bench.axpb(1.0, 3.0, stream), bench.axpb(2.0, 0.0, stream)

    def work() -> None:
        first()
        second()

    again = driver.capture(stream, work)
    expected = 0.0
    for _ in range(5):
        again()
        expected = 2 * (expected + 3)
    bench.copy_out(stream)
    driver.synchronize()
    np.testing.assert_array_equal(bench.view(), np.full(SIZE, expected, np.float32))


def test_a_text_that_does_not_compile_is_an_error_with_its_name(driver: Driver) -> None:
    with pytest.raises(DriverError, match="misspelt"):
        driver.compile('extern "C" __global__ void f(float *x) { x[0] = misspelt; }', "misspelt")
    probe(driver)


@pytest.mark.parametrize("finish", ["", "bias", "addend", "bias addend relu"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_products(driver: Driver, dtype: str, transposed: tuple[bool, bool], finish: str) -> None:
    batch, m, n, k = 3, 64, 48, 80
    shapes = [(k, m) if transposed[0] else (m, k), (n, k) if transposed[1] else (k, n), (m, n)]
    size = np.dtype(dtype).itemsize
    counts = [batch * rows * columns for rows, columns in shapes] + [n, batch * m * n]
    bench = Bench(driver, sum(counts) * size)
    values = np.random.default_rng(5).standard_normal(sum(counts)).astype(dtype)
    bench.view(dtype)[:] = values
    places = np.cumsum([0, *counts])
    a, b, _, bias, addend = (values[start : start + count] for start, count in zip(places, counts))
    index = [bench.memory + int(place) * size for place in places]
    product = Product(
        *(m, n, k, dtype, *index[:3]),
        *(columns for _, columns in shapes),
        *(*transposed, batch),
        *(rows * columns for rows, columns in shapes),
        bias=index[3] if "bias" in finish else 0,
        addend=index[4] if "addend" in finish else 0,
        relu="relu" in finish,
    )
    workspace = driver.malloc(4 << 20)
    assert workspace is not None
    stream = driver.stream("one")
    launch = driver.product(product, (workspace, 4 << 20), stream)
    if launch is None:
        assert dtype == "float64" and finish  # cublasLt may lack these
        return
    bench.copy_in(stream)
    launch()
    bench.copy_out(stream)
    driver.synchronize(stream)
    left, right = (
        value.astype(np.float64).reshape(batch, *shape).swapaxes(*((1, 2) if turned else (1, 1)))
        for value, shape, turned in zip((a, b), shapes, transposed)
    )
    expected = left @ right + (bias if "bias" in finish else 0)
    expected += addend.reshape(batch, m, n) if "addend" in finish else 0
    expected = np.maximum(expected, 0) if "relu" in finish else expected
    result = bench.view(dtype)[places[2] : places[3]].reshape(batch, m, n)
    tolerance = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(result, expected, tolerance, 10 * tolerance)


@pytest.mark.parametrize("kind", DRIVERS)
def test_an_illegal_address_ends_all_but_the_closing(kind: str) -> None:
    """This runs in a separate process: nothing works on that GPU after it."""
    command = [sys.executable, "-c", LOST, kind, TEXT]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert done.stdout.splitlines() == ["700 True", "700 True", "closed"], done.stderr
