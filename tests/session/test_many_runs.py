"""Many runs, in one thread and in many: right sums, no deadlock, and nothing that grows."""

from __future__ import annotations

import gc
import random
import statistics
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


class Mixed:
    """Runs of all kinds on one session: fetches, feeds, parts, handles, assigns, open sizes."""

    def __init__(self) -> None:
        self.a, self.b = (tf.placeholder(tf.float32, [16]) for _ in range(2))
        self.v = tf.get_variable("v", [16], initializer=tf.zeros_initializer, use_resource=True)
        self.count = tf.get_variable(
            "n", [], tf.int64, initializer=tf.zeros_initializer, use_resource=True
        )
        self.add = [self.v.assign_add(self.a).op, self.count.assign_add(np.int64(1)).op]
        self.state = [self.v.read_value(), self.count.read_value()]
        with tf.device("/cpu:1"):
            self.product = self.a * self.b + 1
        self.total = tf.reduce_sum(self.product)
        self.some = tf.reduce_sum(tf.boolean_mask(self.a, self.a > 0))
        self.loop = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.cast(self.a[0], tf.int32)])
        self.keep = tf.get_session_handle(self.a * 2)
        self.session = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
        self.session.run(tf.global_variables_initializer())
        kept = self.session.run(self.keep, {self.a: np.ones(16)})
        self.holder, value = tf.get_session_tensor(kept.handle, tf.float32)
        self.twice = value * 2
        self.kinds = [self.adds, self.sums, self.parts, self.handles, self.sizes, self.reads]
        self.added = 0
        self.lock = threading.Lock()

    def adds(self, x: Any, y: Any) -> None:
        self.session.run(self.add, {self.a: np.ones(16)})
        with self.lock:
            self.added += 1

    def sums(self, x: Any, y: Any) -> None:
        feeds = {self.a: x, self.b: y}
        assert self.session.run(self.total, feeds) == 16 * (x[0] * y[0] + 1)
        assert self.session.run(self.loop, feeds) == 10

    def parts(self, x: Any, y: Any) -> None:
        handle = self.session.partial_run_setup([self.product, self.total], [self.a, self.b])
        product = self.session.partial_run(handle, self.product, {self.a: x, self.b: y})
        assert self.session.partial_run(handle, self.total) == product.sum()

    def handles(self, x: Any, y: Any) -> None:
        kept = self.session.run(self.keep, {self.a: x})
        assert np.array_equal(self.session.run(self.twice, {self.holder: kept.handle}), 4 * x)
        if x[0] > 2:  # else it is deleted with its last reference
            kept.delete()

    def sizes(self, x: Any, y: Any) -> None:
        some = np.where(np.arange(16) < y[0], x, -1)
        assert self.session.run(self.some, {self.a: some}) == x[0] * y[0]

    def reads(self, x: Any, y: Any) -> None:
        value, count = self.session.run(self.state)
        assert value.min() == value.max() == count

    def in_threads(self, rounds: int, num_threads: int) -> None:
        """Make `rounds` runs in each of some threads, of kinds that chance decides."""
        errors: list[BaseException] = []

        def work(seed: int) -> None:
            chance = random.Random(seed)
            try:
                for _ in range(rounds):
                    x, y = (np.full(16, chance.randint(1, 5), np.float32) for _ in range(2))
                    chance.choice(self.kinds)(x, y)
            except BaseException as error:
                errors.append(error)

        threads = [
            threading.Thread(target=work, args=(n,), daemon=True) for n in range(num_threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
            assert not thread.is_alive(), "it hangs"
        for error in errors:
            raise error
        value, count = self.session.run(self.state)
        assert value.min() == value.max() == count == self.added

    def held(self) -> tuple[int, list[int]]:
        gc.collect()
        stats = self.session._backend.memory_stats().values()
        return tracemalloc.get_traced_memory()[0], [each.bytes_in_use for each in stats]


@pytest.mark.parametrize(
    ("first", "rounds", "num_threads"),
    [
        (20, 30, 8),
        pytest.param(100, 900, 8, marks=pytest.mark.exhaustive),
        pytest.param(50, 450, 32, marks=pytest.mark.exhaustive),
    ],
)
def test_threads_on_one_session(first: int, rounds: int, num_threads: int) -> None:
    mixed = Mixed()
    with mixed.session:
        tracemalloc.start()
        try:
            mixed.in_threads(first, num_threads)
            count = threading.active_count()
            objects, arenas = mixed.held()
            mixed.in_threads(rounds, num_threads)
            objects_later, arenas_later = mixed.held()
        finally:
            tracemalloc.stop()
        assert threading.active_count() <= count
        assert objects_later - objects < 200_000  # memory of native code that came later
        assert all(later <= 4 * before + 4096 for before, later in zip(arenas, arenas_later))


def step(level: int = tf.OptimizerOptions.DEFAULT) -> Callable[[], Any]:
    """Return a small step of training, which stays small. level: how it becomes native code."""
    x = tf.placeholder(tf.float32, [32])
    w = tf.get_variable("w", [32], initializer=tf.ones_initializer)
    loss = tf.reduce_sum(tf.square(tf.tanh(x * w + 1)))
    fetches = [loss, tf.train.GradientDescentOptimizer(1e-6).minimize(loss)]
    options = tf.OptimizerOptions(global_jit_level=level)
    graph_options = tf.GraphOptions(optimizer_options=options)
    session = tf.Session(config=tf.ConfigProto(graph_options=graph_options))
    session.run(tf.global_variables_initializer())
    feeds = {x: np.ones(32, np.float32)}
    return lambda: session.run(fetches, feeds)


def test_a_small_step_holds_no_more_after_thousands_of_runs() -> None:
    run = step(tf.OptimizerOptions.OFF)
    for _ in range(1000):
        run()
    tracemalloc.start()
    try:
        for _ in range(3000):  # Python keeps freed tuples for the next ones
            run()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            run()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive
def test_a_soak_of_300_000_runs() -> None:
    """Its resident size is flat, and its last thousand as fast as the first in native code."""

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    def thousand() -> float:
        times = []
        for _ in range(1000):
            began = time.perf_counter_ns()
            run()
            times.append(time.perf_counter_ns() - began)
        return statistics.median(times)

    run = step()
    began = time.perf_counter()
    while time.perf_counter() - began < 8:  # until native code has come
        run()
    medians, sizes = [], []
    for _ in range(300):
        medians.append(thousand())
        sizes.append(resident())
    assert sizes[-1] - sizes[0] < 512
    assert medians[-1] < 1.1 * medians[0]
