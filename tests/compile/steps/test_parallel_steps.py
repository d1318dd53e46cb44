"""Heavy products at the same time: right in each run, whole where one fails, no thread left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.memory import side_by_side
from gpugraph.compile.steps import parallel_steps
from gpugraph.plan import Clock, Step


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[tf.Graph]:
    monkeypatch.setattr(side_by_side, "processor_count", lambda: 3)
    monkeypatch.setattr(side_by_side, "blas_threads", lambda: 1)
    monkeypatch.setattr(side_by_side, "HEAVY", 1)
    with tf.Graph().as_default() as graph:
        yield graph


def step(name: str, run: Any) -> Step:
    return Step(name, "MatMul", "/device:CPU:0", 0, run)


def test_steps_wait_for_each_other_in_as_many_threads_as_there_are_lanes() -> None:
    barrier = threading.Barrier(3, timeout=20)
    steps = [step(str(number), barrier.wait) for number in range(3)]
    before = threading.active_count()
    parallel_steps.ParallelSteps(steps, 3, Clock()).run()
    assert threading.active_count() == before


def test_what_the_first_raises_is_raised_when_all_are_over() -> None:
    done = []

    def fail(name: str, after: float) -> Any:
        time.sleep(after)
        done.append(name)
        raise ValueError(name)

    steps = [
        step("a", lambda: done.append("a")),
        step("b", lambda: fail("b", 0.05)),
        step("c", lambda: fail("c", 0.0)),
    ]
    with pytest.raises(ValueError, match="b"):
        parallel_steps.ParallelSteps(steps, 2, Clock()).run()
    assert sorted(done) == ["a", "b", "c"]


def test_no_thread_is_started_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    steps = [step(str(number), lambda number=number: done.append(number)) for number in range(3)]
    parallel_steps.ParallelSteps(steps, 3, Clock()).run()
    assert done == [0, 1, 2]


@pytest.mark.parametrize("level", [tf.OptimizerOptions.OFF, tf.OptimizerOptions.ON_1])
@pytest.mark.parametrize("gpus", [0, 2])
def test_random_products_on_several_devices(level: int, gpus: int) -> None:
    chance = np.random.RandomState(3)
    devices = ["/cpu:0", "/cpu:1", *(f"/gpu:{index}" for index in range(gpus))]
    x = tf.placeholder(tf.float32, [8, 8])
    values = [x]
    for _ in range(40):
        with tf.device(devices[chance.randint(len(devices))]):
            one, other = (values[chance.randint(len(values))] for _ in range(2))
            if chance.rand() < 0.6:
                values.append(tf.matmul(one, other, transpose_a=chance.rand() < 0.5) * 0.1)
            else:
                values.append(tf.tanh(one + other))
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=level))
    fed = chance.rand(8, 8).astype(np.float32)

    def run(threads: int) -> list[Any]:
        config = tf.ConfigProto(
            device_count={"CPU": 2},
            gpu_options=tf.GPUOptions(virtual_gpus=gpus),
            graph_options=options,
            inter_op_parallelism_threads=threads,
        )
        with tf.Session(config=config) as session:
            assert ("at the same time" in str(session.explain(values[1:], {x: fed}))) == (
                threads == 0
            )
            first = session.run(values[1:], {x: fed})
            for _ in range(5):
                again = session.run(values[1:], {x: fed})
                assert all(np.array_equal(a, b) for a, b in zip(first, again))
            return first

    for one, other in zip(run(1), run(0), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_run_in_the_calling_thread_alone_and_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.float32, [4, 4])
    feeds = {x: np.ones([4, 4])}
    fetches = [tf.matmul(x, x), tf.matmul(x, x + 1)]
    with tf.Session() as session:
        session.run(fetches, feeds)
        metadata = tf.RunMetadata()
        session.run(fetches, feeds, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
        names = str(metadata.step_stats)
        assert "MatMul" in names and "MatMul_1" in names
        monkeypatch.setattr(threading.Thread, "start", None)
        session.run(fetches, feeds, options=tf.RunOptions(inter_op_thread_pool=-1))
        with pytest.raises(tf.errors.UnknownError, match="NoneType"):
            session.run(fetches, feeds)
        monkeypatch.undo()
        assert session.run(fetches, feeds)[0][0, 0] == 4
