"""Plans that run many sets of shapes: native calls whose sizes change in place.

Results equal, to the bit, those of a new session for each set.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.binding import open_plan

from .test_open_shapes import STEPS, WIDTH

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

LOOPS: set[str] = set()
"""Steps with loops and branches, whose plans are for one set of shapes each."""

SIZE_IN_CODE = {"gather": {"range"}}
"""The steps that have no native code with open sizes: the bounds of a range would be in it."""

SIZES = [(4, 9), (5, 10), (6, 12), (6, 30), (3, 8), (5, 10), (9, 40), (4, 9), (60, 20)]


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def opened(session: tf.Session) -> list[Any]:
    """Return the opened plans of a session, as `OpenPlan`s."""
    runners = session._backend.runners.values()  # type: ignore[attr-defined]
    plans = {id(c.plan): c.plan for runner in runners for c in runner.plans.exact.values()}
    return [plan.sizes for plan in plans.values() if plan.sizes is not None]


def value_of(shape: Sequence[int]) -> np.ndarray:
    """Return numbers that differ, for a feed of this shape."""
    return np.sin(np.arange(np.prod(shape), dtype="f")).reshape(shape)


def check(graph: tf.Graph, fetches: Any, feeds: Sequence[Callable[[], dict[Any, Any]]]) -> Any:
    """Compare runs of one session with those of a new session each; return the first session."""
    varying = tf.Session(graph=graph)
    for feed in feeds:
        for _ in range(2):
            got = varying.run(fetches, feed())
        with tf.Session(graph=graph) as fresh:
            expected = fresh.run(fetches, feed())
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    return varying


def program(names: Sequence[str]) -> tuple[tf.Graph, Any, list[Any]]:
    """Return a graph of these steps, its placeholder and fetches."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, WIDTH])
        y = x
        for name in names:
            y = STEPS[name](tf.nn.relu(y + 0.5) * 0.5)
        loss = tf.reduce_mean(tf.square(y))
        return graph, x, [y, loss, tf.gradients(loss, x)[0]]


@pytest.mark.parametrize("name", sorted(set(STEPS) - LOOPS))
def test_each_step_of_any_size_is_that_of_a_new_session(name: str) -> None:
    graph, x, fetches = program([name])
    feeds = [lambda shape=shape: {x: value_of((*shape, WIDTH))} for shape in SIZES]
    with check(graph, fetches, feeds) as session:
        plans = opened(session)
        assert plans
        for plan in plans:
            assert plan.num_native[1] > 0
            assert set(plan.reasons) == SIZE_IN_CODE.get(name, set()), plan.reasons


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_of_any_size(seed: int) -> None:
    random = Random(seed)
    graph, x, fetches = program(random.sample(sorted(set(STEPS) - LOOPS), 4))
    shapes = [(random.randint(2, 20), random.randint(2, 30)) for _ in range(8)]
    feeds = [lambda shape=shape: {x: value_of((*shape, WIDTH))} for shape in shapes]
    with check(graph, fetches, feeds) as session:
        assert opened(session)


def test_products_change_their_library_with_their_sizes() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 256])
        weights = tf.constant(value_of((256, 256)) / 16)
        y = tf.nn.relu(tf.matmul(tf.nn.relu(x), weights) + 1.0)
        z = tf.matmul(x, y, transpose_a=True)
    rows = [40, 50, 3, 60, 7, 100, 2, 40]  # fewer than 8 rows are left to the BLAS
    with check(graph, [y, z], [lambda n=n: {x: value_of((n, 256))} for n in rows]) as session:
        assert opened(session)


def test_reductions_over_an_axis_between_others_are_native_for_all_sizes() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, 24])
        whole = tf.cast(x * 100.0, tf.int32)
        kinds = tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod
        fetches = [reduce(x + 1.0, 1) for reduce in kinds]
        fetches += [tf.reduce_sum(whole, 1), tf.reduce_max(tf.reshape(x, [-1, 7, 3, 8]), [1, 2])]
    sizes = [(7, 9), (14, 12), (21, 30), (28, 2), (7, 600)]
    feeds = [lambda shape=shape: {x: value_of((*shape, 24))} for shape in sizes]
    with check(graph, fetches, feeds) as session:
        (plan,) = opened(session)
        assert not plan.program.by_python
        got = session.run(fetches, feeds[3]())
        fed = feeds[3]()[x]
    np.testing.assert_array_equal(got[0], (fed + 1).sum(1))
    np.testing.assert_array_equal(got[2], (fed + 1).max(1))
    np.testing.assert_array_equal(got[6], fed.reshape(-1, 7, 3, 8).max((1, 2)))


def training() -> tuple[tf.Graph, list[Any], list[Any]]:
    """Return the graph of a training step, its placeholders and its fetches."""
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.int32, [None])
        hidden = tf.layers.dense(x, 16, tf.nn.relu, kernel_initializer=tf.ones_initializer())
        logits = tf.layers.dense(hidden, 4, kernel_initializer=tf.zeros_initializer())
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        return graph, [x, y], [train, loss, tf.global_variables_initializer()]


def test_a_training_step_over_batches_and_the_last_smaller_one() -> None:
    losses = []
    for keeps in (True, False):
        graph, (x, y), (train, loss, start) = training()
        with tf.Session(graph=graph) as session:
            session.run(start)
            results = []
            for rows in [32, 32, 17, 32, 32, 9, 32, 21, 32]:
                if not keeps:
                    session._backend.runners.clear()  # type: ignore[attr-defined]
                feeds = {x: value_of((rows, 8)), y: np.arange(rows) % 4}
                results.append(session.run([train, loss], feeds)[1])
            assert bool(opened(session)) is keeps
        losses.append(results)
    assert losses[0] == losses[1]


def test_a_call_that_refuses_its_input_raises_the_error_of_the_current_shapes() -> None:
    with tf.Graph().as_default() as graph:
        x, ids = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
        y = tf.gather(tf.exp(x), ids) * 2.0
    with tf.Session(graph=graph) as session:
        for rows in (3, 4, 5, 6):
            session.run(y, {x: np.ones((rows, 3)), ids: np.arange(rows + 2) % rows})
        assert opened(session)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 9 is not in \[0, 9\)"):
            session.run(y, {x: np.ones((9, 3)), ids: np.arange(10)})
        got = session.run(y, {x: np.zeros((10, 3)), ids: np.arange(10)})
        np.testing.assert_array_equal(got, np.full((10, 3), 2.0))


def test_sizes_whose_product_is_too_large_raise_what_a_new_session_raises() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        n = tf.shape(x)[0]
        y = tf.reduce_sum(tf.fill([n, n, n, n], tf.reduce_sum(x)) * 2.0)
    with tf.Session(graph=graph) as session:
        for size in (2, 3, 4, 5):
            session.run(y, {x: np.ones(size)})
        assert opened(session)
        with tf.Session(graph=graph) as fresh, pytest.raises(tf.errors.OpError) as expected:
            fresh.run(y, {x: np.ones(100_000)})
        with pytest.raises(type(expected.value)):
            session.run(y, {x: np.ones(100_000)})
        assert session.run(y, {x: np.ones(6)}) == 2 * 6**5


def test_shapes_beyond_those_that_are_kept_are_bound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_plan, "MOST_SETS", 3)
    graph, x, fetches = program(["softmax", "gather"])  # with a step by NumPy
    shapes = [(4, n) for n in (9, 10, 11, 12, 13, 14, 9, 10, 11, 30, 9)]
    feeds = [lambda shape=shape: {x: value_of((*shape, WIDTH))} for shape in shapes]
    with check(graph, fetches, feeds) as session:
        [plan] = opened(session)
        assert 1 <= len(plan._sets) <= 3


def test_strings_of_any_number_are_gathered() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        texts, places = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [None])
        gathered = tf.gather(texts, places)
        for number in [*range(5, 30), 7, 100]:
            values = [b"%d" % n for n in range(number)]
            found = session.run(gathered, {texts: values, places: np.arange(0, number, 2)})
            assert found.tolist() == values[::2]


def test_threads_that_run_different_shapes_get_their_results() -> None:
    graph, x, fetches = program(["softmax", "scores"])
    expected = {}
    for rows in range(2, 8):
        with tf.Session(graph=graph) as fresh:
            expected[rows] = fresh.run(fetches[0], {x: value_of((3, rows, WIDTH))})
    session = tf.Session(graph=graph)
    for rows in range(2, 8):
        session.run(fetches[0], {x: value_of((3, rows, WIDTH))})
    wrong: list[int] = []

    def work(seed: int) -> None:
        random = Random(seed)
        for _ in range(60):
            rows = random.randint(2, 7)
            got = session.run(fetches[0], {x: value_of((3, rows, WIDTH))})
            if not np.array_equal(got, expected[rows]):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.close()
    assert not wrong


def test_traces_and_reports_are_those_of_the_shapes_of_the_run() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 64], "x")
        y = tf.matmul(tf.nn.softmax(x), x, transpose_b=True)
    with tf.Session(graph=graph) as session:
        for rows in (2, 3, 4, 5, 300):
            session.run(y, {x: np.zeros((rows, 64))})
        assert opened(session)
        report = session.explain(y, {x: np.zeros((300, 64))}).of_pass("memory_planning")
        assert "KiB" in report
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        got = session.run(y, {x: np.ones((7, 64))}, options, metadata)
        np.testing.assert_allclose(got, np.ones((7, 7)), 1e-6)
        assert metadata.step_stats.dev_stats


def test_arenas_grow_with_the_largest_run_and_stay() -> None:
    graph, x, fetches = program(["normalize"])
    with tf.Session(graph=graph) as session:
        for rows in (2, 3, 4, 1000, 5, 700, 1001, 6):
            session.run(fetches, {x: value_of((rows, 7, WIDTH))})
        [plan] = opened(session)
        [lease] = plan.binder.holdings.arenas.values()
        largest = plan.described(((1001, 7, WIDTH),)).arena_bytes
        assert lease.block.num_bytes <= 1.05 * max(largest.values())
