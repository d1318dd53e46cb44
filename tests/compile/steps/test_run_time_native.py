"""Steps that are bound at each run go by native code, and give the numbers of NumPy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import run_time_native
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.ops.strings.native_texts import cuts

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

WAITING = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
NUMPY = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.OFF)


def config(options: Any) -> Any:
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the op types of steps that run by native code, in order."""
    seen: list[str] = []
    bound = run_time_native.RunTimeNative._bound

    def noted(self: Any, *arguments: Any) -> Any:
        seen.append(self.bound.node.type)
        return bound(self, *arguments)

    monkeypatch.setattr(run_time_native.RunTimeNative, "_bound", noted)
    return seen


def trained(options: Any, optimizer: Any, steps: int = 4) -> Any:
    """Return a table after steps in which rows come several times."""
    random = np.random.default_rng(3)
    with tf.Graph().as_default():
        table = tf.Variable(random.normal(size=(300, 7)).astype(np.float32))
        ids = tf.placeholder(tf.int64, [None])
        rows = tf.nn.embedding_lookup(table, ids)
        train = optimizer().minimize(tf.reduce_sum(tf.square(rows - 1.0)))
        with tf.Session(config=config(options)) as session:
            session.run(tf.global_variables_initializer())
            for count in range(60, 60 + steps):
                session.run(train, {ids: random.integers(0, 90, count)})
            return session.run(table)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf.train.AdamOptimizer(0.01),
        lambda: tf.train.RMSPropOptimizer(0.01),
    ],
    ids=["Adagrad", "Momentum", "Adam", "RMSProp"],
)
def test_training_of_a_table_gives_the_numbers_of_numpy(optimizer: Any, calls: list[str]) -> None:
    native = trained(WAITING, optimizer)
    assert calls
    np.testing.assert_array_equal(native, trained(NUMPY, optimizer))


def test_steps_of_known_sizes_give_the_numbers_of_numpy() -> None:
    def optimizer() -> Any:
        return tf.train.GradientDescentOptimizer(0.01)

    np.testing.assert_array_equal(trained(WAITING, optimizer), trained(NUMPY, optimizer))


def test_outputs_that_are_counted_come_whole(calls: list[str]) -> None:
    x = tf.placeholder(tf.int32, [None])
    fetches = tf.unique_with_counts(x)
    with tf.Session(config=config(WAITING)) as session:
        for values in ([3, 3, -1, 7, 3], [5], list(range(1000)) * 2, []):
            y, where, counts = session.run(fetches, {x: values})
            wanted = list(dict.fromkeys(values))
            assert y.tolist() == wanted
            assert [wanted[place] for place in where] == values
            assert counts.tolist() == [values.count(value) for value in wanted]
    assert calls.count("UniqueWithCounts") >= 3


def test_an_index_outside_is_numpys_error_and_changes_nothing() -> None:
    table = tf.Variable(tf.ones([4, 2]))
    ids = tf.placeholder(tf.int32, [None])
    added = tf.scatter_add(table, ids, tf.ones([tf.size(ids), 2]))
    with tf.Session(config=config(WAITING)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(added, {ids: [1, 1, 3]})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2\] = 4 is not in \[0, 4"):
                session.run(added, {ids: [0, 1, 4]})
        assert session.run(table)[:, 0].tolist() == [1, 5, 1, 3]


def test_code_with_other_numbers_is_an_error_where_runs_are_verified(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_time_native, "are_equal", lambda *_: False)
    x = tf.placeholder(tf.int32, [None])
    y, _ = tf.unique(x)
    for value in "10":
        monkeypatch.setenv("GPUGRAPH_VERIFY", value)
        with tf.Session(config=config(WAITING)) as session:
            if value == "0":
                assert session.run(y, {x: [4, 4, 2]}).tolist() == [4, 2]
                continue
            with pytest.raises(tf.errors.InternalError, match="other numbers than NumPy"):
                session.run(y, {x: [4, 4, 2]})
    assert calls == ["Unique"] * 2


def test_small_steps_that_run_often_are_compiled(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "1")
    x = tf.placeholder(tf.int32, [None])
    y, _ = tf.unique(x)
    with tf.Session() as session:
        ends = time.monotonic() + 60
        session.run(y, {x: [4, 4, 2]})
        assert "an estimated 10 ms" in str(session.explain(y, {x: [4, 4, 2]}))
        while not calls and time.monotonic() < ends:
            for _ in range(1000):
                assert session.run(y, {x: [4, 4, 2]}).tolist() == [4, 2]
    assert calls


def test_a_repeated_call_reads_new_values_and_keeps_earlier_results(calls: list[str]) -> None:
    data = tf.Variable(tf.zeros([6, 2]))
    ids = tf.Variable(np.array([0, 0, 1, 2, 2, 2], np.int32))
    sums = tf.segment_sum(data, ids)
    with tf.Session(config=config(WAITING)) as session:
        session.run(tf.global_variables_initializer())
        kept = []
        for number in range(4):
            data.load(np.full([6, 2], number, np.float32), session)
            kept.append(session.run(sums))
        ids.load(np.array([0, 1, 1, 1, 3, 3], np.int32), session)
        assert session.run(sums).tolist() == [[3, 3], [9, 9], [0, 0], [6, 6]]
        ids.load(np.array([0, 1, 0, 1, 3, 3], np.int32), session)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(sums)
    for number, result in enumerate(kept):
        assert result.tolist() == [[2 * number] * 2, [number] * 2, [3 * number] * 2]
    assert len(calls) < 4


def test_native_updates_that_lock_a_variable_are_whole() -> None:
    table = tf.Variable(tf.zeros([5000, 2]))
    updates = tf.placeholder(tf.float32, [5000, 2])
    order = tf.constant(np.random.default_rng(4).permutation(5000).astype(np.int32))
    updated = tf.scatter_update(table, order, updates)
    refused = tf.scatter_update(table, order + 1, updates)
    with tf.Session(config=config(WAITING)) as session:
        session.run(table.initializer)
        fed = [{updates: np.full([5000, 2], number, np.float32)} for number in range(4)]

        def update(number: int) -> Any:
            return session.run(updated, fed[number])

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(update, [0, 1, 2, 3] * 5))
        assert all(len(np.unique(result)) <= 4 for result in results)
        codes = session.explain(updated, fed[0]).codes
        assert [code.state for code in codes if code.op_type == "ScatterUpdate"] == ["native"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="5000 is not in"):
            session.run(refused, fed[0])
        assert len(np.unique(session.run(table))) == 1


def test_a_step_whose_strings_are_freed_has_no_code() -> None:
    """Between runs, the strings of the last one are None."""
    step = object.__new__(run_time_native.RunTimeNative)
    step.native = cuts(lambda attrs: (2, -1))
    context: Any = SimpleNamespace(attrs={})
    assert step.prepared(context, [np.full(3, None, object), np.array(b" ", object)]) is None
