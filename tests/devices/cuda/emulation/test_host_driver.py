"""An emulated GPU: late streams, hazards, captures, errors that come out later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from gpugraph.devices.cuda.driver.driver_interface import Driver, DriverError, Geometry, Product
from gpugraph.devices.cuda.emulation.cxx_compiler import host_compiler
from gpugraph.devices.cuda.emulation.host_driver import HostDriver, HostMachine
from gpugraph.memory import HostRegion

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)

SIZE = 64
BYTES = SIZE * 4
TEXT = """
extern "C" __global__ void scaled(float* x, double by, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x) x[i] = x[i] * (float)by + 1;
}
extern "C" __global__ void torn(float* x) { if (threadIdx.x) __syncthreads(); }
"""
Launch = Callable[[], None]


class Bench:
    """A driver with a buffer on the device, two pinned ones, and two streams."""

    def __init__(self, **options: Any) -> None:
        self.driver = HostDriver(**options)
        self.one, self.two = self.driver.stream("one"), self.driver.stream("two")
        self.memory = self.driver.malloc(BYTES) or 0
        self.given, self.taken = self.pinned(), self.pinned()
        view(self.given)[:] = np.arange(SIZE)
        self.module = self.driver.compile(TEXT, "text.cu")

    def pinned(self) -> HostRegion:
        region = self.driver.malloc_host(BYTES)
        assert region is not None
        return region

    def scaled(self, by: float, stream: Any, declared: bool = True) -> Launch:
        spans = [(self.memory, BYTES)] if declared else []
        arguments = [self.memory, float(by), SIZE]
        geometry = Geometry((2, 1, 1), (16, 1, 1))
        return self.driver.launcher(
            self.module, "scaled", geometry, arguments, stream, spans, spans
        )

    def copy_in(self, stream: Any) -> None:
        self.driver.copy_in(self.memory, self.given.base, BYTES, stream)

    def copy_out(self, stream: Any) -> None:
        self.driver.copy_out(self.taken.base, self.memory, BYTES, stream)

    def after(self, later: Any, earlier: Any) -> None:
        event = self.driver.event()
        self.driver.record(event, earlier)
        self.driver.wait(later, event)


def view(region: HostRegion) -> NDArray[np.float32]:
    return np.frombuffer(region.buffer, np.float32)[:SIZE]


def test_it_is_a_driver() -> None:
    driver: Driver = HostDriver(total_bytes=1 << 20)
    properties = driver.properties
    assert (properties.name, properties.arch) == ("CUDA on the host", "sm_80")
    gathered = driver.malloc(1 << 19)
    assert gathered is not None and gathered % 256 == 0
    assert driver.malloc(1 << 20) is None
    assert driver.properties.free_bytes == 1 << 19
    driver.free(gathered)
    assert driver.properties.free_bytes == 1 << 20
    with pytest.raises(DriverError, match="is no device memory that was allocated"):
        driver.free(gathered)
    driver.close()


def test_what_events_order_gives_the_right_numbers() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    bench.after(bench.two, bench.one)
    bench.scaled(2, bench.two)()
    bench.after(bench.one, bench.two)
    bench.copy_out(bench.one)
    assert not view(bench.taken).any()  # nothing has run
    bench.driver.synchronize(bench.one)
    np.testing.assert_array_equal(view(bench.taken), np.arange(SIZE) * 2 + 1)
    assert bench.driver.faults == []


def test_a_missing_wait_is_a_hazard_that_names_both() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    with pytest.raises(
        DriverError,
        match=r"hazard: kernel scaled \(number 1 of stream two@0\) reads bytes .* which copy_in "
        r"\(number 1 of stream one@0\) writes; no event orders them",
    ):
        bench.scaled(2, bench.two)()


def test_a_buffer_reused_before_its_reader_has_finished_is_a_hazard() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    bench.driver.synchronize()
    bench.copy_out(bench.two)
    with pytest.raises(DriverError, match=r"scaled .*writes .* copy_out .*reads"):
        bench.scaled(2, bench.one)()


def test_a_missing_wait_that_nobody_declared_shows_in_the_numbers() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    bench.scaled(2, bench.two, declared=False)()
    bench.copy_out(bench.one)
    bench.driver.synchronize(bench.one)
    np.testing.assert_array_equal(view(bench.taken), np.arange(SIZE))


def test_the_stream_that_was_told_last_runs_first() -> None:
    bench = Bench(hazards=False)
    bench.copy_in(bench.one)
    bench.copy_out(bench.two)
    bench.driver.synchronize()
    assert not view(bench.taken).any()
    assert len(bench.driver.faults) == 1


def test_what_the_host_waited_for_is_no_hazard() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    bench.driver.synchronize(bench.one)
    bench.scaled(2, bench.two)()
    event = bench.driver.event()
    bench.driver.record(event, bench.two)
    assert not bench.driver.is_done(event)
    assert bench.driver.is_done(event)
    bench.copy_out(bench.one)
    bench.driver.synchronize()
    np.testing.assert_array_equal(view(bench.taken), np.arange(SIZE) * 2 + 1)


def test_neighbours_in_memory_are_no_hazard() -> None:
    bench = Bench()
    half = BYTES // 2
    bench.driver.copy_in(bench.memory, bench.given.base, half, bench.one)
    bench.driver.copy_in(bench.memory + half, bench.given.base + half, half, bench.two)
    with pytest.raises(DriverError, match="hazard"):
        bench.driver.copy_in(bench.memory + half - 4, bench.given.base, 8, bench.one)


def test_a_wait_is_for_what_was_recorded_when_it_was_told() -> None:
    bench = Bench()
    event = bench.driver.event()
    bench.driver.wait(bench.two, event)  # never recorded: nothing to wait for
    bench.copy_in(bench.one)
    bench.driver.record(event, bench.one)
    bench.driver.wait(bench.two, event)
    bench.scaled(2, bench.one)()
    bench.driver.record(event, bench.one)  # the wait above is not for this
    with pytest.raises(DriverError, match="hazard"):
        bench.copy_out(bench.two)


def test_waiting_goes_through_other_streams() -> None:
    bench = Bench()
    three = bench.driver.stream("three")
    bench.copy_in(bench.one)
    bench.after(bench.two, bench.one)
    bench.after(three, bench.two)
    bench.copy_out(three)
    bench.driver.synchronize(three)
    np.testing.assert_array_equal(view(bench.taken), np.arange(SIZE))


def test_a_chain_of_many_waits_runs() -> None:
    bench = Bench()
    bench.copy_in(bench.one)
    for _ in range(1500):
        bench.after(bench.two, bench.one)
        bench.after(bench.one, bench.two)
    bench.copy_out(bench.one)
    bench.driver.synchronize(bench.one)
    np.testing.assert_array_equal(view(bench.taken), np.arange(SIZE))


def test_staging_that_the_host_rewrites_too_early_is_a_hazard() -> None:
    bench = Bench()
    bench.driver.touch_host(bench.given.base, BYTES)
    bench.copy_in(bench.one)
    bench.driver.touch_host(bench.given.base, BYTES, is_write=False)
    with pytest.raises(DriverError, match=r"the host writes 256 bytes at .*; not over: copy_in"):
        bench.driver.touch_host(bench.given.base, BYTES)
    bench.driver.synchronize(bench.one)
    bench.driver.touch_host(bench.given.base, BYTES)
    bench.copy_out(bench.one)
    with pytest.raises(DriverError, match=r"the host reads .*; not over: copy_out"):
        bench.driver.touch_host(bench.taken.base + 8, 4, is_write=False)


def test_host_memory_that_is_not_pinned_is_copied_before_the_call_returns() -> None:
    bench = Bench()
    plain, back = np.full(SIZE, 3, np.float32), np.zeros(SIZE, np.float32)
    bench.driver.copy_in(bench.memory, plain.ctypes.data, BYTES, bench.one)
    plain[:] = 9
    bench.driver.copy_out(back.ctypes.data, bench.memory, BYTES, bench.one)
    assert (back == 3).all()


# -- captures


def test_what_was_captured_runs_again_and_again() -> None:
    bench = Bench()

    def work() -> None:
        bench.copy_in(bench.one)
        bench.after(bench.two, bench.one)
        bench.scaled(2, bench.two)()
        bench.after(bench.one, bench.two)
        bench.copy_out(bench.one)

    replay = bench.driver.capture(bench.one, work)
    bench.driver.synchronize()
    assert not view(bench.taken).any()
    for start in range(3):
        view(bench.given)[:] = start
        replay()
        bench.driver.synchronize(bench.one)
        assert (view(bench.taken) == start * 2 + 1).all()
        bench.driver.touch_host(bench.given.base, BYTES)


def test_a_replay_is_one_command_among_others() -> None:
    bench = Bench()
    replay = bench.driver.capture(bench.one, bench.scaled(2, bench.one))
    replay()
    with pytest.raises(DriverError, match=r"copy_out .*reads .* graph of 1 commands"):
        bench.copy_out(bench.two)
    bench.after(bench.two, bench.one)
    bench.copy_out(bench.two)


def test_a_hazard_within_a_capture_is_found() -> None:
    bench = Bench()

    def work() -> None:
        bench.after(bench.two, bench.one)
        bench.copy_in(bench.one)
        bench.scaled(2, bench.two)()

    with pytest.raises(DriverError, match="hazard: kernel scaled"):
        bench.driver.capture(bench.one, work)
    bench.copy_in(bench.one)  # the capture is over
    bench.driver.synchronize()


REFUSED: tuple[tuple[str, Callable[[Bench], object]], ...] = (
    ("malloc is not permitted", lambda bench: bench.driver.malloc(4)),
    ("free is not permitted", lambda bench: bench.driver.free(bench.memory)),
    ("malloc_host is not permitted", lambda bench: bench.driver.malloc_host(4)),
    ("synchronize is not permitted", lambda bench: bench.driver.synchronize()),
    ("is_done is not permitted", lambda bench: bench.driver.is_done(bench.driver.event())),
    ("compile is not permitted", lambda bench: bench.driver.compile("new", "new.cu")),
    ("capture is not permitted", lambda bench: bench.driver.capture(bench.two, lambda: None)),
    (
        "not pinned is not permitted",
        lambda bench: bench.driver.copy_in(
            bench.memory, np.zeros(SIZE, np.float32).ctypes.data, BYTES, bench.one
        ),
    ),
    (
        "not pinned is not permitted",
        lambda bench: bench.driver.copy_out(
            np.zeros(SIZE, np.float32).ctypes.data, bench.memory, BYTES, bench.one
        ),
    ),
)


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_what_cuda_refuses_in_a_capture_is_refused(
    message: str, call: Callable[[Bench], object]
) -> None:
    bench = Bench()
    with pytest.raises(DriverError, match=message) as caught:
        bench.driver.capture(bench.one, lambda: call(bench) and None)
    assert (caught.value.status, caught.value.fatal) == (900, False)
    bench.driver.synchronize()


def test_a_capture_ends_with_all_its_streams_joined() -> None:
    bench = Bench()

    def forked() -> None:
        bench.after(bench.two, bench.one)
        bench.copy_in(bench.two)

    with pytest.raises(DriverError, match=r"ended before that waited for stream two@0"):
        bench.driver.capture(bench.one, forked)


def test_events_do_not_cross_a_capture_s_border() -> None:
    bench = Bench()
    outside, inside = bench.driver.event(), bench.driver.event()
    bench.driver.record(outside, bench.two)
    with pytest.raises(DriverError, match="recorded on stream two@0 outside of the capture"):
        bench.driver.capture(bench.one, lambda: bench.driver.wait(bench.one, outside))
    bench.driver.capture(bench.one, lambda: bench.driver.record(inside, bench.one))
    with pytest.raises(DriverError, match="event of a capture that has ended"):
        bench.driver.wait(bench.two, inside)
    with pytest.raises(DriverError, match="recorded in a capture"):
        bench.driver.is_done(inside)


# -- failures


def test_a_failed_kernel_comes_out_at_the_next_wait_and_stays() -> None:
    bench = Bench()
    geometry = Geometry((1, 1, 1), (32, 1, 1))
    arguments = [bench.memory]
    torn = bench.driver.launcher(bench.module, "torn", geometry, arguments, bench.one)
    torn()
    bench.copy_out(bench.one)
    for _ in range(2):
        with pytest.raises(DriverError, match=r"kernel torn: block .*stands still") as caught:
            bench.driver.synchronize()
        assert caught.value.fatal
    with pytest.raises(DriverError, match="kernel torn"):
        bench.copy_in(bench.two)
    bench.driver.free(bench.memory)  # its block can be freed
    bench.driver.close()


def test_an_address_that_is_not_the_device_s_is_a_late_error() -> None:
    bench = Bench()
    geometry = Geometry((1, 1, 1), (32, 1, 1))
    host = np.zeros(SIZE, np.float32)
    arguments = [host.ctypes.data, 2.0, SIZE]
    bench.driver.launcher(bench.module, "scaled", geometry, arguments, bench.one)()
    with pytest.raises(DriverError, match=r"argument 0, 0x.* is no memory of GPU 0") as caught:
        bench.driver.synchronize(bench.one)
    assert (caught.value.status, caught.value.fatal) == (700, True)
    assert not host.any()


def test_copies_and_declared_memory_outside_of_the_device_are_refused_at_once() -> None:
    bench = Bench()
    driver, one = bench.driver, bench.one
    for call in (
        lambda: driver.copy_in(bench.memory + 4, bench.given.base, 1 << 20, one),
        lambda: driver.copy_in(bench.given.base, bench.given.base, BYTES, one),
        lambda: driver.copy(bench.memory, 4096, BYTES, one),
        lambda: driver.launcher(
            bench.module, "torn", Geometry((1, 1, 1), (1, 1, 1)), [0], one, [(64, 4)]
        ),
    ):
        with pytest.raises(DriverError, match="no memory of GPU 0"):
            call()
    driver.synchronize()


def test_a_failure_that_is_not_fatal_is_said_once() -> None:
    bench = Bench()
    bench.driver.fail_on(bench.one, DriverError("no such thing", 1))
    bench.copy_in(bench.one)
    with pytest.raises(DriverError, match="no such thing"):
        bench.driver.synchronize()
    bench.driver.synchronize()


# -- several GPUs, products, chance


def test_gpus_of_one_machine_copy_from_each_other() -> None:
    machine = HostMachine()
    one, two = Bench(machine=machine), Bench(machine=machine, ordinal=1)
    assert one.driver.properties.peers == {1}
    one.copy_in(one.one)
    one.after(two.one, one.one)
    two.driver.copy_peer(two.memory, one.memory, one.driver, BYTES, two.one)
    two.copy_out(two.one)
    two.driver.synchronize(two.one)
    np.testing.assert_array_equal(view(two.taken), np.arange(SIZE))
    with pytest.raises(DriverError, match="no memory of GPU 1"):
        two.driver.copy(two.memory, one.memory, BYTES, two.one)
    with pytest.raises(DriverError, match="stream one@0 is not one of GPU 1"):
        two.copy_in(one.one)
    with pytest.raises(DriverError, match="not of this machine"):
        two.driver.copy_peer(two.memory, one.memory, HostDriver(), BYTES, two.one)


@settings(max_examples=25)
@given(st.integers(0, 1 << 30))
def test_any_order_that_events_permit_gives_the_right_numbers(seed: int) -> None:
    bench = Bench(machine=HostMachine(seed))
    streams = [bench.one, bench.two, bench.driver.stream("three")]
    bench.copy_in(bench.one)
    expected = np.arange(SIZE, dtype=np.float32)
    for step in range(6):
        bench.after(streams[(step + 1) % 3], streams[step % 3])
        bench.scaled(0.5, streams[(step + 1) % 3])()
        expected = expected * np.float32(0.5) + 1
    bench.copy_out(bench.one)
    bench.driver.synchronize()
    np.testing.assert_array_equal(view(bench.taken), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_products(dtype: str, transposed: tuple[bool, bool]) -> None:
    driver = HostDriver()
    stream = driver.stream("one")
    m, n, k, batch = 3, 4, 5, 2
    whole = np.random.default_rng(0)
    values = {"a": (batch, m, k), "b": (batch, k, n), "out": (batch, m, n), "bias": (n,)}
    values["addend"] = values["out"]
    arrays = {name: whole.integers(-3, 4, shape) * 1.0 for name, shape in values.items()}
    places = {}
    turned = dict(zip("ab", transposed))
    for name in arrays:
        turn = turned.get(name, False)
        held = arrays[name].swapaxes(1, 2) if turn else arrays[name]
        content = stored(held, dtype)
        places[name] = driver.malloc(content.nbytes) or 0
        driver.copy_in(places[name], content.ctypes.data, content.nbytes, stream)
    product = Product(
        m, n, k, dtype, places["a"], places["b"], places["out"],
        m if transposed[0] else k, k if transposed[1] else n, n, *transposed,
        batch, m * k, k * n, m * n, places["bias"], places["addend"], True,
    )  # fmt: skip
    workspace = driver.malloc(256) or 0
    launch = driver.product(product, (workspace, 256), stream)
    assert launch is not None
    launch()
    back = np.zeros_like(stored(arrays["out"], dtype))
    driver.copy_out(back.ctypes.data, places["out"], back.nbytes, stream)
    expected = np.maximum(arrays["a"] @ arrays["b"] + arrays["addend"] + arrays["bias"], 0)
    np.testing.assert_array_equal(back, stored(expected, dtype))
    assert HostDriver(products=False).product(product, (0, 0), stream) is None
    driver.epilogues = False
    assert driver.product(product, (0, 0), stream) is None
    assert driver.product(product.plain(), (0, 0), stream) is not None
    assert driver.product(product._replace(dtype="int32"), (0, 0), stream) is None


def test_in_tf32_operands_have_ten_bits_and_halves_go_away_from_zero() -> None:
    """1 + 2^-11 is half a step over 1; smaller values round to 1, and infinities and NaNs stay."""
    driver = HostDriver()
    stream = driver.stream("one")
    half = 2.0**-11
    left = np.float32([1 + half, 1 + half - 2.0**-20, -1 - half, 3 * half, 3e38, np.inf, np.nan])
    place = [driver.malloc(4 * count) or 0 for count in (7, 1, 7)]
    driver.copy_in(place[0], left.ctypes.data, 28, stream)
    one = np.float32([1])
    driver.copy_in(place[1], one.ctypes.data, 4, stream)
    product = Product(7, 1, 1, "float32", *place, 1, 1, 1, tf32=True)
    result = np.zeros((2, 7), np.float32)
    for row, tf32 in zip(result, (True, False)):
        launch = driver.product(product._replace(tf32=tf32), (0, 0), stream)
        assert launch is not None
        launch()
        driver.copy_out(row.ctypes.data, place[2], 28, stream)
        driver.synchronize(stream)
    step = 2.0**-10
    large = np.round(3e38 * 2.0**-117) * 2.0**117
    expected = [1 + step, 1, -1 - step, 3 * half, large, np.inf, np.nan]
    np.testing.assert_array_equal(result[0], np.float32(expected))
    np.testing.assert_array_equal(result[1], left)


def stored(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Small whole numbers as they lie in memory; bfloat16 as its bits."""
    if dtype != "bfloat16":
        return np.ascontiguousarray(values, dtype)
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
