"""Many threads, and requests that wait for one of them to free."""

import random
import threading
import time

import pytest

from gpugraph.memory import BFCAllocator, FakeSubAllocator

MIB = 1 << 20


def make(timeout: float, total: int = MIB) -> BFCAllocator:
    return BFCAllocator(FakeSubAllocator(), total, "b", retry_timeout_s=timeout)


def run(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_get_bytes_of_their_own() -> None:
    allocator = make(10.0, 64 * MIB)
    owner: dict[int, int] = {}
    clashes: list[int] = []

    def work(me: int) -> None:
        rng = random.Random(me)
        live: list[int] = []
        for _ in range(1500):
            if live and rng.random() < 0.5:
                address = live.pop(rng.randrange(len(live)))
                if owner.pop(address) != me:
                    clashes.append(address)
                allocator.deallocate_raw(address)
            elif (got := allocator.allocate_raw(rng.randrange(1, 20_000))) is not None:
                if owner.setdefault(got, me) != me:
                    clashes.append(got)
                live.append(got)
        for address in live:
            owner.pop(address)
            allocator.deallocate_raw(address)

    run(*(threading.Thread(target=work, args=(me,)) for me in range(8)))
    assert not clashes
    allocator.check()
    assert allocator.get_stats().bytes_in_use == 0
    assert allocator.largest_free_chunk() == 64 * MIB


def test_a_waiting_request_is_woken_by_a_free() -> None:
    allocator = make(30.0)
    held = allocator.allocate_raw(MIB)
    got: list[int | None] = []
    waiter = threading.Thread(target=lambda: got.append(allocator.allocate_raw(MIB, retry=True)))
    start = time.monotonic()
    waiter.start()
    while not allocator._waiters:
        time.sleep(0.001)
    allocator.deallocate_raw(held)
    waiter.join()
    assert got == [held]
    assert time.monotonic() - start < 10
    allocator.check()


def test_a_free_that_is_not_enough_leaves_it_waiting() -> None:
    allocator = make(30.0)
    first, second = allocator.allocate_raw(MIB // 2), allocator.allocate_raw(MIB // 2)
    got: list[int | None] = []
    waiter = threading.Thread(target=lambda: got.append(allocator.allocate_raw(MIB, retry=True)))
    waiter.start()
    while not allocator._waiters:
        time.sleep(0.001)
    allocator.deallocate_raw(second)
    time.sleep(0.05)
    assert not got
    allocator.deallocate_raw(first)
    waiter.join()
    assert got == [first]


def test_waiting_ends(caplog: pytest.LogCaptureFixture) -> None:
    allocator = make(0.05)
    allocator.allocate_raw(MIB)
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    start = time.monotonic()
    assert allocator.allocate_raw(MIB, retry=True) is None
    assert 0.05 <= time.monotonic() - start < 5
    assert "ran out of memory" in caplog.text
    stop.set()
    other.join()


def test_nobody_waits_in_vain() -> None:
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    start = time.monotonic()
    full, empty = make(60.0), make(60.0)
    full.allocate_raw(1)
    assert full.allocate_raw(2 * MIB, retry=True) is None  # beyond the limit
    assert empty.allocate_raw(2 * MIB, retry=True) is None  # nothing to be freed
    stop.set()
    other.join()
    if threading.active_count() == 1:
        full.allocate_raw(MIB // 2)
        assert full.allocate_raw(MIB, retry=True) is None  # no one else
    assert time.monotonic() - start < 10


def test_two_that_wait_for_each_other_do_not_wait() -> None:
    if threading.active_count() > 1:
        pytest.skip("another thread is there and might free")
    allocator = make(60.0)
    start = time.monotonic()
    allocator.allocate_raw(MIB)
    waiter = threading.Thread(target=lambda: allocator.allocate_raw(MIB, retry=True))
    waiter.start()
    while not allocator._waiters:
        time.sleep(0.001)
    assert allocator.allocate_raw(MIB, retry=True) is None
    allocator.deallocate_raw(allocator.live_allocations()[0].address)
    waiter.join()
    assert time.monotonic() - start < 10
