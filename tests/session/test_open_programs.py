"""Programs with loops, branches and sizes by values, over shapes that vary: one program runs them.

Results equal those of a new session for each set of shapes; errors are the same.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .test_open_plans import opened, value_of
from .test_open_shapes import STEPS, WIDTH, Step

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices"),
]


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def _gru(x: Any) -> Any:
    with tf.variable_scope(None, "gru", initializer=tf.constant_initializer(0.1)):
        return tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(WIDTH), x, dtype=tf.float32)[0]


def _lstm(x: Any) -> Any:
    lengths = tf.range(tf.shape(x)[0]) % tf.shape(x)[1] + 1
    with tf.variable_scope(None, "lstm", initializer=tf.constant_initializer(0.1)):
        cells = [tf.nn.rnn_cell.LSTMCell(WIDTH) for _ in range(2)]
        both, _ = tf.nn.bidirectional_dynamic_rnn(
            *cells, x, sequence_length=lengths, dtype=tf.float32
        )
    return both[0] + both[1]


def _trips(x: Any) -> Any:
    count = tf.shape(x)[0] % 4
    return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, y * 0.9 + 0.1), [0, x])[1]


def _until(x: Any) -> Any:
    return tf.while_loop(lambda y: tf.reduce_max(tf.abs(y)) > 0.5, lambda y: y * 0.7, [x])


def _swapped(x: Any) -> Any:
    start = [0, x, x * 2.0]
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, a), start)[1]


def _nested(x: Any) -> Any:
    def outer(i: Any, y: Any) -> Any:
        inner = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * 0.8 + 0.05), [0, y])
        return i + 1, inner[1]

    return tf.while_loop(lambda i, y: i < 3, outer, [0, x])[1]


def _by_value(x: Any) -> Any:
    small = lambda: tf.cond(tf.shape(x)[0] > 5, lambda: x * 3.0, lambda: tf.sin(x))  # noqa: E731
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.nn.softmax(x), small)


def _numbers(x: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return i + 1, s * 0.5 + tf.cast(i, tf.float32)

    return x + tf.while_loop(lambda i, s: i < tf.shape(x)[0], body, [0, 1.0])[1]


def _masked(x: Any) -> Any:
    score = tf.reduce_sum(x, [1, 2])
    return tf.boolean_mask(x, score > tf.reduce_mean(score) - 0.1)


def _unique(x: Any) -> Any:
    ids = tf.cast(tf.floor(tf.abs(x[:, 0, 0]) * 5.0), tf.int32)
    different, positions = tf.unique(ids)
    return x + tf.gather(tf.one_hot(different % WIDTH, WIDTH), positions)[:, None, :]


def _where(x: Any) -> Any:
    found = tf.where(tf.reduce_max(x, 2) > 0.2)
    ones = tf.scatter_nd(found, tf.ones([tf.shape(found)[0]]), tf.shape(x, out_type=tf.int64)[:2])
    return x + tf.cast(tf.shape(found)[0], tf.float32) * 0.01 + ones[:, :, None]


def _boxes(x: Any) -> Any:
    first, sizes = x[:, 0, :2], 0.5 + tf.abs(x[:, 0, 2:])
    boxes = tf.concat([first, first + sizes], 1)
    chosen = tf.image.non_max_suppression(boxes, tf.reduce_sum(first, 1), 5, 0.5)
    return tf.gather(x, chosen)


def _partitioned(x: Any) -> Any:
    rows = tf.reshape(x, [-1, WIDTH])
    numbers = tf.cast(tf.floor(tf.abs(rows[:, 0]) * 50.0), tf.int32) % 3
    places = tf.dynamic_partition(tf.range(tf.shape(rows)[0]), numbers, 3)
    parts = tf.dynamic_partition(rows, numbers, 3)
    merged = tf.dynamic_stitch(places, [tf.tanh(part) * i for i, part in enumerate(parts, 1)])
    return tf.reshape(merged, tf.shape(x))


def _segments(x: Any) -> Any:
    ids = tf.cumsum(tf.cast(x[:, 0, 0] > 0.2, tf.int32))
    return x - tf.gather(tf.segment_max(x, ids), ids) * 0.5


BY_VALUES = {
    "masked rows": _masked,
    "unique": _unique,
    "where": _where,
    "boxes": _boxes,
    "partitioned": _partitioned,
    "segments": _segments,
}
"""Steps whose sizes depend on values."""

LOOPS = {
    "gru": _gru,
    "lstm": _lstm,
    "trips": _trips,
    "until": _until,
    "swapped": _swapped,
    "nested": _nested,
    "by value": _by_value,
    "numbers": _numbers,
}

ALL: dict[str, Step] = {**STEPS, **BY_VALUES, **LOOPS}

BY_NUMPY = {
    *("ReverseSequence", "TensorArrayV3", "TensorArrayScatterV3", "TensorArrayGatherV3"),
    *(
        "Range",
        "Sum",
        "Max",
        "FloorMod",
        "TensorArraySizeV3",
        "AddN",
        "Fill",
        "Assert",
        "Softmax",
        "Mul",
    ),
}
"""The ops of these steps that are bound to arrays for each set of shapes."""

SIZES = [(4, 9), (5, 10), (6, 12), (6, 30), (3, 8), (5, 10), (9, 40), (4, 9), (60, 20)]


def built(names: Sequence[str]) -> tuple[tf.Graph, Any, list[Any], Any]:
    """Return a graph of these steps with a training step: placeholder, fetches, initializer."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, WIDTH])
        weight = tf.get_variable("weight", initializer=np.full(WIDTH, 0.5, "f"))
        y = x
        for name in names:
            y = ALL[name](tf.nn.relu(y * weight + 0.3) * 0.5 + 0.1 * y)
        loss = tf.reduce_mean(tf.square(y))
        grad = tf.gradients(loss, weight)[0]
        update = tf.assign_sub(weight, 0.01 * tf.clip_by_value(grad, -1.0, 1.0))
        return graph, x, [y, loss, update], tf.global_variables_initializer()


def outcome(session: tf.Session, fetches: Any, feeds: Any) -> Any:
    """Return the values of a run, or its error as text."""
    try:
        return session.run(fetches, feeds)
    except tf.errors.OpError as error:
        text = error.message.splitlines()[0].partition(" by allocator")[0]
        return [f"{type(error).__name__}: {text}"]


def compare(names: Sequence[str], sizes: Sequence[tuple[int, int]]) -> list[Any]:
    """Compare two sessions over the sizes, one of which has new plans for each run; return the
    opened plans of the other.
    """
    graph, x, fetches, start = built(names)
    with tf.Session(graph=graph) as varying, tf.Session(graph=graph) as fresh:
        for session in (varying, fresh):
            session.run(start)
        for number, shape in enumerate(sizes):
            feeds = {x: value_of((*shape, WIDTH)) * (1 + number % 3)}
            for _ in range(2):
                fresh._backend.runners.clear()  # type: ignore[attr-defined]
                expected = outcome(fresh, fetches, feeds)
                got = outcome(varying, fetches, feeds)
                for one, other in zip(got, expected, strict=True):
                    if isinstance(other, str):
                        assert one == other
                    else:  # a new session computes some steps by NumPy
                        np.testing.assert_allclose(one, other, 2e-5, 2e-6)
        return [*opened(varying)]


@pytest.mark.parametrize("name", sorted({*LOOPS, *BY_VALUES}))
def test_a_loop_or_size_by_value_of_any_shape_is_that_of_a_new_session(name: str) -> None:
    plans = compare([name], SIZES)
    assert plans
    for plan in plans:
        assert plan.num_native[0] > 0
        assert not plan.reasons, plan.reasons
        by_numpy = {step.node.type for step in plan.program.bound if hasattr(step, "node")}
        assert by_numpy <= BY_NUMPY, by_numpy


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_with_loops_and_values(seed: int) -> None:
    random = Random(seed)
    names = random.sample(sorted({*LOOPS, *BY_VALUES}), 2) + random.sample(sorted(STEPS), 1)
    compare(names, [(random.randint(2, 12), random.randint(2, 14)) for _ in range(6)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_programs(seed: int) -> None:
    random = Random(seed)
    names = random.sample(sorted(ALL), random.randint(1, 4))
    sizes = [(random.randint(2, 12), random.randint(2, 14)) for _ in range(7)]
    sizes += random.sample([(1, 4), (5, 1), (1, 1), (0, 4), (3, 0)], random.randint(0, 3))
    compare(names, [*sizes, *sizes[:2], (17, 11)])


def test_a_new_size_by_value_is_written_in_the_run_that_reports_it() -> None:
    graph, x, [y, *_], start = built(["masked rows"])
    with tf.Session(graph=graph) as session:
        session.run(start)
        for rows in (5, 6, 7, 8):
            session.run(y, {x: value_of((rows, 3, WIDTH))})
        for kept in (1, 8, 0, 5, 8, 2):
            value = np.full((8, 3, WIDTH), -4.0, "f")
            value[:kept] = 4.0
            expected = 8 if kept in (0, 8) else kept
            assert len(session.run(y, {x: value})) == expected
        assert opened(session)


def test_random_numbers_are_the_same_in_a_run_that_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        x = tf.placeholder(tf.float32, [None, 4])
        kept = tf.boolean_mask(x, tf.random_uniform([tf.shape(x)[0]]) > 0.3)
        fetches = [tf.random_normal([3]), tf.reduce_sum(kept, 0), tf.shape(kept)[0]]
    runs = []
    for setting in ("wait", "0"):
        monkeypatch.setenv("GPUGRAPH_NATIVE", setting)
        random = Random(1)
        with tf.Session(graph=graph) as session:
            feeds = [{x: value_of((random.randint(0, 60), 4))} for _ in range(90)]
            runs.append([session.run(fetches, feed) for feed in feeds])
            assert bool(opened(session)) is (setting == "wait")
    for values, expected in zip(*runs, strict=True):
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, other, rtol=1e-5)


def test_a_unit_for_other_reported_sizes_is_compiled_if_its_own_conditions_fail() -> None:
    with tf.Graph().as_default() as graph:
        x, numbers = tf.placeholder(tf.float32, [12, 4]), tf.placeholder(tf.int32, [12])
        parts = tf.dynamic_partition(x, numbers, 3)
        weights = tf.constant(value_of((4, 4)))
        sums = [tf.reduce_sum(tf.nn.relu(tf.matmul(part, weights))) for part in parts]
    with tf.Session(graph=graph) as session:
        feed = {x: value_of((12, 4))}
        product = np.maximum(feed[x] @ value_of((4, 4)), 0.0)
        for count in (3, 2, 3):  # the last part is empty in between
            for _ in range(40):
                feed[numbers] = np.random.permutation(np.arange(12) % count)
                expected = [product[feed[numbers] == i].sum() for i in range(3)]
                np.testing.assert_allclose(session.run(sums, feed), expected, rtol=1e-5)
        assert opened(session)


def test_memory_grows_in_the_run_that_reports_a_larger_size() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        rows = tf.exp(tf.boolean_mask(x, x > 0.0))
        y = tf.reduce_sum(tf.matmul(rows[:, None], rows[None, :]) * 2.0)
    with tf.Session(graph=graph) as session:
        for size in (10, 20, 30, 40):
            session.run(y, {x: value_of([size])})
        [plan] = opened(session)
        for kept in (3, 900, 2, 1000):
            value = np.full(1000, -1.0, "f")
            value[:kept] = 1e-9
            assert session.run(y, {x: value}) == pytest.approx(2 * kept**2)
        assert opened(session) == [plan]


def _negative(x: Any) -> Any:
    return tf.reduce_sum(tf.zeros([tf.shape(x)[0] - 5])) + tf.reduce_sum(x)


def _beyond(x: Any) -> Any:
    return tf.reduce_sum(tf.slice(tf.exp(x) * 2.0, [3, 0], [2, 2]))


def _cube(x: Any) -> Any:
    n = tf.shape(x)[0]
    return tf.reduce_sum(tf.fill([n, n, n], tf.reduce_sum(x)) * 2.0)


def _fourth_power(x: Any) -> Any:
    n = tf.shape(x)[0]
    return tf.reduce_sum(tf.fill([n, n, n, n], tf.reduce_sum(x)) * 2.0)


def _reported(x: Any) -> Any:
    return tf.shape(tf.where(x[:, 0] > 0.0))[0]


def _negative_report(x: Any) -> Any:
    return tf.reduce_sum(tf.zeros([_reported(x) - 3])) + tf.reduce_sum(tf.exp(x))


def _reshaped_report(x: Any) -> Any:
    kept = tf.boolean_mask(x, x[:, 0] > 0.0)
    return tf.reduce_sum(tf.reshape(tf.exp(kept), [-1, 8]))


def _large_report(x: Any) -> Any:
    square = tf.square(_reported(x))
    return tf.reduce_sum(tf.fill([square, square], tf.reduce_sum(x)) * 2.0)


def _in_branch(x: Any) -> Any:
    inside = lambda: tf.reduce_sum(tf.slice(x, [3, 0], [2, 2]))  # noqa: E731
    return tf.cond(tf.reduce_sum(x) > 0.0, inside, lambda: tf.reduce_sum(x * 2.0))


def _in_loop(x: Any) -> Any:
    elements = tf.TensorArray(tf.float32, tf.shape(x)[0])
    body = lambda i, t: (i + 1, t.write(i, x[0] * 2.0))  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda i, t: i < 6, body, [0, elements])[1].stack()[:6])


def _rows(size: int, positive: int | None = None) -> np.ndarray:
    value = np.ones((size, 4), "f")
    value[size if positive is None else positive :] = -1.0
    return value


BAD: dict[str, tuple[Callable[[Any], Any], list[np.ndarray], np.ndarray]] = {
    "a negative size": (_negative, [_rows(n) for n in (6, 7, 8, 9)], _rows(3)),
    "a slice beyond the end": (_beyond, [_rows(n) for n in (6, 7, 8, 9)], _rows(4)),
    "more than 2**63 elements": (_fourth_power, [_rows(n) for n in (2, 3, 4, 5)], _rows(100_000)),
    "more memory than there is": (_cube, [_rows(n) for n in (2, 3, 4, 5)], _rows(30_000)),
    "a negative reported size": (
        *(_negative_report, [_rows(9, k) for k in (4, 5, 6, 7)] + [_rows(10, 5)]),
        _rows(9, 1),
    ),
    "a reported size that does not fit": (
        *(_reshaped_report, [_rows(9, k) for k in (4, 6, 8, 4)] + [_rows(10, 4)]),
        _rows(9, 3),
    ),
    "too much memory for a reported size": (
        *(_large_report, [_rows(9, k) for k in (2, 3, 4, 2)] + [_rows(10, 3)]),
        _rows(2000, 1500),
    ),
    "a slice in a branch": (_in_branch, [_rows(n) for n in (6, 7, 8, 9)], _rows(4)),
    "a write in a loop": (_in_loop, [_rows(n) for n in (6, 7, 8, 9)], _rows(4)),
}
"""Programs, the feeds of runs that open a plan, and a feed that they refuse."""


@pytest.mark.parametrize("name", BAD)
def test_bad_sizes_raise_the_errors_of_a_new_session(name: str) -> None:
    step, good, bad = BAD[name]
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4])
        y = step(x)
    with tf.Session(graph=graph) as session:
        for value in good * 9:
            session.run(y, {x: value})
        assert opened(session)
        expected = []
        for value in (bad, good[1]):
            with tf.Session(graph=graph) as fresh:
                expected.append(outcome(fresh, y, {x: value}))
        assert isinstance(expected[0], list), "an error"
        for _ in range(2):
            assert outcome(session, y, {x: bad}) == expected[0]
            np.testing.assert_allclose(outcome(session, y, {x: good[1]}), expected[1], 1e-5)


def test_a_program_is_explained_as_instructions() -> None:
    graph, x, fetches, start = built(["masked rows", "until", "by value"])
    with tf.Session(graph=graph) as session:
        session.run(start)
        for rows in (4, 6, 7, 8, 9):
            session.run(fetches, {x: value_of((rows, rows, WIDTH))})
        text = session.explain(fetches, {x: value_of((5, 6, WIDTH))}).of_pass("program")
        for kind in ("call", "again", "unless", "set", "report", "sizes"):
            assert f"  {kind} " in text, kind
        assert "s1" in text and "boolean_mask/Where" in text


def test_a_trace_shows_the_steps_and_the_loops_of_a_program() -> None:
    graph, x, fetches, start = built(["softmax", "gru"])
    with tf.Session(graph=graph) as session:
        session.run(start)
        for rows in (4, 5, 6, 7):
            session.run(fetches, {x: value_of((rows, rows, WIDTH))})
        assert opened(session)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        feeds = {x: value_of((5, 6, WIDTH))}
        traced = session.run(fetches, feeds, options, metadata)
        types = [node.timeline_label for node in metadata.step_stats.dev_stats[0].node_stats]
        assert sum("While" in label for label in types) == 2
        assert len(types) > 10
        again = session.run(fetches[0], feeds)
        assert traced[0].shape == again.shape


def test_unique_numbers_of_any_count_and_calls_bound_for_single_sets() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, 24])
        y = x
        for _ in range(2):
            ids = tf.cast(tf.reshape(y[:, :, 0], [-1]) * 8.0, tf.int32)
            values, places = tf.unique(ids)
            found = tf.gather(tf.cast(values, tf.float32), places) * 0.125
            y = y + tf.reshape(found, [tf.shape(x)[0], tf.shape(x)[1], 1])
        fetches = [tf.reduce_mean(tf.square(y)), y[:, -1]]
    random = Random(1)
    with tf.Session(graph=graph) as session:
        shapes = [(1, 2), *((random.randint(2, 12), random.randint(2, 20)) for _ in range(40))]
        for shape in shapes:
            value = np.random.RandomState(sum(shape)).randn(*shape, 24).astype("f")
            mean, last = session.run(fetches, {x: value})
            for _ in range(2):
                value = value + np.trunc(value[:, :, :1] * 8) * np.float32(0.125)
            np.testing.assert_allclose(mean, np.mean(np.square(value)), 1e-4)
            np.testing.assert_array_equal(last, value[:, -1])
        assert opened(session)
