"""Copies of variables on devices that share memory: one memory, one change, the same values."""

from __future__ import annotations

import random
import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import RunAccess
from gpugraph.library.distribute import mirrored_strategy

DEVICES = ("/cpu:0", "/cpu:1", "/cpu:2")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as current:
        yield current


def session(count: int = 3) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": count}))


def held(running: tf.Session, name: str) -> list[int]:
    """The bytes that copies of a variable hold, by device."""
    return [
        sum(size for owner, size in use.owners.items()
            if re.fullmatch(rf"{name}(/replica_\d)?", owner))
        for use in running.memory_stats().values()
    ]  # fmt: skip


def mirrored(count: int = 3, value: Any = (1.0, 2.0)) -> tuple[Any, Any]:
    strategy = tf.distribute.MirroredStrategy(DEVICES[:count])
    with strategy.scope():
        return strategy, tf.Variable(value, name="v")


def test_equal_copies_hold_one_memory_and_change_once():
    strategy, v = mirrored()
    with strategy.scope():
        change = v.assign_add([10.0, 20.0])
    parts = strategy.experimental_local_results(v)
    with session() as running:
        running.run(tf.global_variables_initializer())
        running.run(change)
        assert [value.tolist() for value in running.run(parts)] == [[11, 22]] * 3
        assert held(running, "v") == [8, 0, 0]
        explained = running.explain(change).of_pass("shared_copies")
    assert "the copies of 1 variables share memory, 2 changes are dropped" in explained


def test_each_replica_reads_on_its_device_and_sends_no_copy():
    strategy, v = mirrored(2)
    with strategy.scope():
        sums = strategy.experimental_run_v2(lambda: tf.reduce_sum(tf.exp(v)))
    with session() as running:
        running.run(tf.global_variables_initializer())
        first, second = running.run(strategy.experimental_local_results(sums))
        assert first == second == pytest.approx(np.exp([1, 2]).sum())
        explained = running.explain(strategy.experimental_local_results(sums))
    assert "0 tensors are sent" in explained.of_pass("graph_partition")


def test_a_copy_that_changes_alone_gets_its_own_memory():
    strategy, v = mirrored()
    with strategy.scope():
        change = v.assign_add([10.0, 20.0])
    parts = strategy.experimental_local_results(v)
    alone = parts[1].assign([5.0, 6.0])
    with session() as running:
        running.run(tf.global_variables_initializer())
        running.run(change)
        running.run(alone)
        assert [value.tolist() for value in running.run(parts)] == [[11, 22], [5, 6], [11, 22]]
        assert held(running, "v") == [8, 8, 8]
        running.run(change)
        assert [value.tolist() for value in running.run(parts)] == [[21, 42], [15, 26], [21, 42]]


def test_copies_are_initialized_one_by_one():
    strategy, v = mirrored()
    parts = strategy.experimental_local_results(v)
    with session() as running:
        running.run(parts[2].initializer)
        ready = running.run([tf.is_variable_initialized(part) for part in parts])
        assert ready == [False, False, True]
        with pytest.raises(tf.errors.FailedPreconditionError):
            running.run(parts[0])
        running.run(v.initializer)
        assert [value.tolist() for value in running.run(parts)] == [[1, 2]] * 3


def test_changes_that_wait_for_each_other_stay_apart():
    strategy, v = mirrored(2, 1.0)
    first, second = strategy.experimental_local_results(v)
    one = first.assign_add(1.0)
    with tf.control_dependencies([one]):
        seen = first.read_value()
        with tf.control_dependencies([seen]):
            two = second.assign_add(1.0)
    with session() as running:
        running.run(v.initializer)
        assert running.run([seen, two])[0] == 2.0
        assert running.run([first, second]) == [2.0, 2.0]


def test_the_same_change_twice_counts_twice():
    strategy, v = mirrored(2, 1.0)
    with strategy.scope():
        change = [v.assign_add(1.0), v.assign_add(1.0)]
    with session() as running:
        running.run(v.initializer)
        running.run(change)
        assert running.run(list(strategy.experimental_local_results(v))) == [3.0, 3.0]
        assert held(running, "v")[1] == 0


def test_an_optimizer_with_slots_shares_them():
    strategy = tf.distribute.MirroredStrategy(DEVICES)
    with strategy.scope():
        optimizer = tf.train.AdamOptimizer(0.1)

        def step() -> Any:
            w = tf.get_variable("w", [100], initializer=tf.ones_initializer())
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return optimizer.minimize(tf.reduce_sum(w**2) * (1.0 + tf.to_float(replica)))

        done = strategy.experimental_run_v2(step)
        train = tf.group(*strategy.experimental_local_results(done))
    w = tf.trainable_variables()[0]
    with session() as running:
        running.run(tf.global_variables_initializer())
        for _ in range(3):
            running.run(train)
        copies = running.run(strategy.experimental_local_results(w))
        assert all((copy == copies[0]).all() for copy in copies) and copies[0][0] < 0.8
        assert [held(running, name)[1:] for name in ("w", "w/Adam", "w/Adam_1")] == [[0, 0]] * 3


def test_loading_a_value_keeps_copies_together():
    strategy, v = mirrored()
    with session() as running:
        running.run(v.initializer)
        v.load([7.0, 8.0], running)
        parts = running.run(strategy.experimental_local_results(v))
        assert [value.tolist() for value in parts] == [[7, 8]] * 3
        assert held(running, "v") == [8, 0, 0]


def test_virtual_gpus_have_memories_of_their_own():
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))) as running:
        running.run(v.initializer)
        assert held(running, "v") == [0, 8, 8]


# -- random programs


class Program:
    """A random program on copies of two variables: runs whose statements follow each other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.strategy = tf.distribute.MirroredStrategy(DEVICES)
        with self.strategy.scope():
            self.variables = [tf.Variable([1.0, 2.0], name=name) for name in "vw"]
        self.rate_of_lone_changes = self.random.choice([0.0, 0.0, 0.05, 0.3])

    def values(self) -> list[Any]:
        """The values of several runs, each run twice."""
        runs = [self._run() for _ in range(3)]
        everything = [part for v in self.variables
                      for part in self.strategy.experimental_local_results(v)]  # fmt: skip
        results = []
        with session() as running:
            running.run(tf.global_variables_initializer())
            for fetches in [*runs, *runs]:
                results.append([value.tolist() for value in running.run(fetches)])
                results.append([value.tolist() for value in running.run(everything)])
        return results

    def _run(self) -> list[Any]:
        with self.strategy.scope():
            fetches = [tf.constant(0.0)]
            for _ in range(self.random.randint(1, 5)):
                with tf.control_dependencies(fetches[-1:]):
                    fetches.append(self._statement())
        return fetches

    def _statement(self) -> Any:
        choose = self.random
        kind = choose.choice(["read", "change", "change", "cond", "loop", "replicas"])
        if kind == "read":
            return tf.identity(self._copy().read_value())
        if kind == "change":
            return self._change()
        if kind == "cond":
            takes = tf.constant(choose.random()) < 0.5
            return tf.cond(takes, self._change, lambda: tf.identity(self._copy().read_value()))
        if kind == "loop":
            return tf.while_loop(
                lambda i, _: i < 2, lambda i, _: (i + 1, self._change()), [0, tf.zeros([2])]
            )[1]
        return self._replicas()

    def _copy(self) -> Any:
        variable = self.random.choice(self.variables)
        return self.random.choice(self.strategy.experimental_local_results(variable))

    def _change(self) -> Any:
        if self.random.random() < self.rate_of_lone_changes:
            target: Any = self._copy()
            changed = target.assign(target.read_value() * 0.5 + 1.0)
        else:
            target = self.random.choice(self.variables)
            method = self.random.choice([target.assign_add, target.assign_sub, target.assign])
            amount = self._copy().read_value() * 0.25 + float(self.random.randint(-2, 2))
            changed = method(amount)
            changed = self.strategy.experimental_local_results(changed)[0]
        with tf.control_dependencies([getattr(changed, "op", changed)]):
            return tf.identity(self._copy().read_value())

    def _replicas(self) -> Any:
        variable = self.random.choice(self.variables)

        def step() -> Any:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.identity(variable.read_value() * (1.0 + tf.to_float(replica)))

        return self.strategy.reduce("SUM", self.strategy.experimental_run_v2(step), axis=None)


def results_of(seed: int) -> list[Any]:
    with tf.Graph().as_default():
        return Program(seed).values()


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_get_the_values_of_separate_copies(seed, monkeypatch):
    shared = results_of(seed)
    monkeypatch.setattr(mirrored_strategy, "_note_copies", lambda values: None)
    assert shared == results_of(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6, 300))
def test_more_random_programs(seed, monkeypatch):
    test_random_programs_get_the_values_of_separate_copies(seed, monkeypatch)


# -- separation beside runs of other threads


def training(size: int) -> tuple[Any, Any, Any]:
    """A session, an update of all copies of a variable, and its copies."""
    strategy, v = mirrored(3, np.zeros(size, np.float32))
    with strategy.scope():
        change = v.assign_add(np.ones(size, np.float32))
    running = session()
    running.run(v.initializer)
    return running, change.op if hasattr(change, "op") else change, list(
        strategy.experimental_local_results(v)
    )  # fmt: skip


def repeated(action: Any, times: int, done: list[Any]) -> threading.Thread:
    def repeat() -> None:
        for _ in range(times):
            action()
        done.append(times)

    thread = threading.Thread(target=repeat)
    thread.start()
    return thread


@pytest.mark.parametrize("seed", range(4))
def test_a_separation_beside_runs_of_other_threads_loses_no_update(seed):
    times, size, done = 150, 20_000, []
    running, change, copies = training(size)
    alone = copies[1].assign_add(np.full(size, 1000, np.float32), read_value=False)
    with running:
        threads = [repeated(lambda: running.run(change), times, done) for _ in range(2)]
        time.sleep(random.Random(seed).uniform(0, 0.02))
        for _ in range(3):
            running.run(alone)
            for value in running.run(copies):
                assert value.min() == value.max(), "a run read a part of an update"
        for thread in threads:
            thread.join()
        assert done == [times, times]
        values = [(value.min(), value.max()) for value in running.run(copies)]
    assert values == [(2 * times,) * 2, (2 * times + 3000,) * 2, (2 * times,) * 2]


def test_a_run_that_was_about_to_begin_uses_the_separate_copies(monkeypatch):
    """The thread of a run stops between the choice of its plan and its entry into the table."""
    running, change, copies = training(4)
    alone = copies[1].assign_add([1000.0] * 4, read_value=False)
    chosen, may_enter, done = threading.Event(), threading.Event(), []
    enter = RunAccess.enter
    with running:
        running.run(change)

        def waiting(access: RunAccess, check: Any) -> None:
            if threading.current_thread() is not threading.main_thread() and not chosen.is_set():
                chosen.set()
                may_enter.wait()
            enter(access, check)

        monkeypatch.setattr(RunAccess, "enter", waiting)
        thread = repeated(lambda: running.run(change), 2, done)
        chosen.wait()
        running.run(alone)
        may_enter.set()
        thread.join()
        assert done == [2]
        assert [value[0] for value in running.run(copies)] == [3, 1003, 3]


@pytest.mark.parametrize("has_other", [False, True])
def test_a_run_that_waits_in_a_step_changes_the_separate_copies(has_other):
    """A separation happens while a run has left the table, with its change still to come."""
    strategy, v = mirrored(3, np.zeros(4, np.float32))
    waits, may_go_on = threading.Event(), threading.Event()

    def wait() -> np.float32:
        waits.set()
        may_go_on.wait()
        return np.float32(1)

    with strategy.scope():
        change = v.assign_add(tf.fill([4], tf.reshape(tf.py_func(wait, [], tf.float32), [])))
    copies = list(strategy.experimental_local_results(v))
    alone = copies[1].assign([1000.0] * 4, read_value=False)
    done: list[Any] = []
    with session() as running:
        running.run(v.initializer)
        thread = repeated(lambda: running.run(change), 1, done)
        waits.wait()
        running.run(alone)
        if has_other:
            assert [value[0] for value in running.run(copies)] == [0, 1000, 0]
        may_go_on.set()
        thread.join()
        assert done == [1]
        assert [value[0] for value in running.run(copies)] == [1, 1000, 1]
        running.run(change)
        assert [value[0] for value in running.run(copies)] == [2, 1001, 2]


def test_a_separation_beside_varying_shapes():
    strategy, v = mirrored(2, np.zeros(3, np.float32))
    x = tf.placeholder(tf.float32, [None])
    with strategy.scope():
        change = v.assign_add(tf.fill([3], tf.reduce_sum(x)))
    copies = list(strategy.experimental_local_results(v))
    alone = copies[1].assign([1000.0] * 3, read_value=False)
    with session() as running:
        running.run(v.initializer)
        for size in (1, 2, 3, 4):
            running.run(change, {x: np.ones(size)})
        running.run(alone)
        for size in (1, 2, 5, 6):
            running.run(change, {x: np.ones(size)})
        assert [value[0] for value in running.run(copies)] == [24, 1014]
