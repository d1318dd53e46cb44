"""Loops whose variables change their size in each iteration: one program runs all iterations.

Results equal those of a new session for each feed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

_WIDTH = 6
_OPEN = tf.TensorShape([None, _WIDTH])
_OPEN_PAST = tf.TensorShape([None, None, _WIDTH])
_NUMBER = tf.TensorShape([])


@pytest.fixture(autouse=True)
def _native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")


def _numbers(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape), dtype="f") * 1.7).reshape(shape)


def _grown(n: Any, x: Any, more: Callable[[Any], Any]) -> Any:
    """Return `x` after `n` iterations, each of which appends the rows `more(y)`."""
    body = lambda i, y: (i + 1, tf.concat([y, more(y)], 0))  # noqa: E731
    shapes = [_NUMBER, _OPEN]
    return tf.while_loop(lambda i, _: i < n, body, [0, x], shape_invariants=shapes)[1]


def _cached_past(x: Any, n: Any) -> Any:
    """Two layers of attention over keys and values of all earlier steps, which start empty."""
    weights = [tf.constant(_numbers(_WIDTH, _WIDTH) * (0.2 + 0.1 * k)) for k in range(4)]

    def body(i: Any, h: Any, *past: Any) -> Any:
        grown = []
        for layer in range(2):
            new = [tf.matmul(h, weights[k])[:, None] for k in range(2)]
            keys, values = (tf.concat([past[2 * layer + k], new[k]], 1) for k in range(2))
            scores = tf.matmul(tf.matmul(h, weights[2])[:, None], keys, transpose_b=True)
            seen = tf.squeeze(tf.matmul(tf.nn.softmax(scores), values), 1)
            h = tf.tanh(h + tf.matmul(seen, weights[3]))
            grown += [keys, values]
        return (i + 1, h, *grown)

    past = [tf.zeros([tf.shape(x)[0], 0, _WIDTH])] * 4
    shapes = [_NUMBER, _OPEN, *[_OPEN_PAST] * 4]
    results = tf.while_loop(lambda i, *_: i < n, body, [0, x, *past], shape_invariants=shapes)
    return [results[1], results[2], tf.reduce_sum(results[3], 1), tf.shape(results[4])]


def _beam_search(x: Any, n: Any) -> Any:
    scores = tf.constant(_numbers(_WIDTH, 9))

    def body(i: Any, words: Any, total: Any) -> Any:
        last = tf.one_hot(words[:, -1] % _WIDTH, _WIDTH)
        all_scores = tf.reshape(tf.nn.log_softmax(tf.matmul(last, scores)) + total[:, None], [-1])
        best, places = tf.nn.top_k(all_scores, 3)
        return i + 1, tf.concat([tf.gather(words, places // 9), places[:, None] % 9], 1), best

    start = tf.argsort(x[:3, :1], 0), tf.zeros([3])
    shapes = [_NUMBER, tf.TensorShape([None, None]), tf.TensorShape([3])]
    return tf.while_loop(lambda i, *_: i < n, body, [0, *start], shape_invariants=shapes)[1:]


def _shrinking(x: Any, n: Any) -> Any:
    body = lambda y, s: (y[:-1] * 1.1, s + tf.reduce_sum(y))  # noqa: E731
    go_on = lambda y, _: tf.shape(y)[0] > 2  # noqa: E731
    return tf.while_loop(go_on, body, [x, 0.0], shape_invariants=[_OPEN, _NUMBER])


def _dependent(x: Any, n: Any) -> Any:
    body = lambda i, a, b: (i + 1, b, tf.concat([a, b], 0) * 0.9)  # noqa: E731
    start = [0, x, tf.concat([x, x], 0)]
    shapes = [_NUMBER, _OPEN, _OPEN]
    _, a, b = tf.while_loop(lambda i, *_: i < n, body, start, shape_invariants=shapes)
    return [a, b, tf.size(b)]


def _nested(x: Any, n: Any) -> Any:
    def outer(i: Any, y: Any) -> Any:
        inner = _grown(n + i - 2, y[:2], lambda z: z[-1:] * 0.5)
        return i + 1, tf.concat([y, tf.reduce_sum(inner, 0, keepdims=True)], 0)

    shapes = [_NUMBER, _OPEN]
    y = tf.while_loop(lambda i, _: i < n, outer, [0, x], shape_invariants=shapes)[1]
    return [y, tf.reduce_mean(y, 0)]


def _inside(x: Any, n: Any) -> Any:
    def outer(i: Any, h: Any) -> Any:
        rows = _grown(n - i, h[:1], lambda y: tf.tanh(y[-1:]) + 0.1)
        return i + 1, h * 0.9 + tf.reduce_mean(rows, 0)

    return [tf.while_loop(lambda i, _: i < n, outer, [0, x])[1]]


def _written(x: Any, n: Any) -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, _WIDTH])

    def body(i: Any, y: Any, array: Any) -> Any:
        mean = tf.reduce_mean(y, 0, keepdims=True)
        return i + 1, tf.concat([y, mean * 0.3], 0), array.write(i, mean)

    shapes = [_NUMBER, _OPEN, _NUMBER]
    results = tf.while_loop(lambda i, *_: i <= n, body, [0, x, array], shape_invariants=shapes)
    return [results[1], results[2].stack()]


def _branching(x: Any, n: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        mean = lambda: tf.reduce_mean(y, 0, keepdims=True)  # noqa: E731
        return i + 1, tf.concat([y, tf.cond(tf.equal(i % 2, 0), mean, lambda: y[-1:] * 0.5)], 0)

    shapes = [_NUMBER, _OPEN]
    return tf.while_loop(lambda i, _: i < n, body, [0, x], shape_invariants=shapes)[1:]


def _one_after_another(x: Any, n: Any) -> Any:
    first = _grown(n, x, lambda y: tf.tanh(y[-1:]))
    second = _grown(n, tf.concat([first, x], 0), lambda y: y[:2])
    kept = tf.boolean_mask(second, second[:, 0] > 0.3)
    return [first, second, kept, tf.range(tf.shape(second)[0])]


def _exchanged(x: Any, n: Any) -> Any:
    body = lambda i, a, b: (i + 1, b, tf.concat([a, a[:1] * 0.5], 0))  # noqa: E731
    shapes = [_NUMBER, _OPEN, _OPEN]
    return tf.while_loop(lambda i, *_: i < n, body, [0, x, x * 2.0], shape_invariants=shapes)[1:]


def _masked(x: Any, n: Any) -> Any:
    kept = tf.boolean_mask(x, x[:, 0] > -0.5)
    return [_grown(n, kept, lambda _: kept), tf.reduce_sum(kept)]


def _one_row(x: Any, n: Any) -> Any:
    more = lambda y: tf.reduce_sum(y * tf.reduce_max(y, 0, keepdims=True), 0, keepdims=True)  # noqa: E731
    y = _grown(n, x[:1], lambda y: more(y) * 0.1)
    return [y, tf.nn.softmax(y, 0), tf.transpose(y)]


def _masked_in_each(x: Any, n: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        kept = tf.boolean_mask(x, x[:, 0] > tf.cast(i, tf.float32) * 0.3 - 1.0)
        return i + 1, total * 0.5 + tf.reduce_sum(tf.nn.softmax(kept, 1) * 2.0, 0)

    return tf.while_loop(lambda i, _: i < n, body, [0, x[0]])


def _cut_in_each(x: Any, n: Any) -> Any:
    lengths = tf.range(tf.shape(x)[0]) % 4 + 1
    wide = tf.stack([x, x * 0.5, x + 1.0, x * x], 1)
    cut = lambda pair: tf.reduce_max(pair[0][: pair[1]] * 2.0, 0)  # noqa: E731
    return [tf.map_fn(cut, (wide, lengths), dtype=tf.float32), tf.shape(x)[0] + n]


def _different_in_each(x: Any, n: Any) -> Any:
    def body(i: Any, y: Any, count: Any) -> Any:
        values, places = tf.unique(tf.range(tf.shape(x)[0] + i) % (i + 2))
        sums = tf.segment_sum(tf.cast(tf.sort(places), tf.float32), tf.sort(places))
        return i + 1, y + tf.reduce_sum(sums * tf.cast(values, tf.float32)), count + tf.size(values)

    return tf.while_loop(lambda i, *_: i < n, body, [0, x, 0])[1:]


def _masked_and_grown(x: Any, n: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        large = tf.boolean_mask(y, y[:, 0] > 0.1)
        return i + 1, tf.concat([y, tf.reduce_sum(large, 0, keepdims=True) * 0.2], 0)

    shapes = [_NUMBER, _OPEN]
    return tf.while_loop(lambda i, _: i < n, body, [0, x], shape_invariants=shapes)[1:]


def _masked_inside(x: Any, n: Any) -> Any:
    def outer(i: Any, y: Any) -> Any:
        kept = tf.boolean_mask(y, y[:, 1] > 0.05 * tf.cast(i, tf.float32))
        inner = tf.while_loop(
            lambda j, s: j < i,
            lambda j, s: (j + 1, s * 0.5 + tf.reduce_mean(tf.concat([kept, y[:1]], 0), 0)),
            [0, y[0]],
        )
        return i + 1, y * 0.9 + inner[1]

    return tf.while_loop(lambda i, _: i < n, outer, [0, x])[1:]


_PROGRAMS = (_cached_past, _nested, _written, _one_after_another, _masked_and_grown)
_MORE_PROGRAMS = (
    *(_beam_search, _shrinking, _dependent, _inside, _branching, _exchanged, _masked, _one_row),
    *(_masked_in_each, _cut_in_each, _different_in_each, _masked_inside),
)


def _feeds(x: Any, n: Any) -> Sequence[dict[Any, Any]]:
    sizes = [(4, 3), (3, 0), (6, 5), (3, 7), (5, 1)]
    return [{x: _numbers(rows, _WIDTH) + 0.2, n: count} for rows, count in sizes]


def _placeholders() -> tuple[Any, Any]:
    return tf.placeholder(tf.float32, [None, _WIDTH]), tf.placeholder(tf.int32, [])


def _plans(session: tf.Session) -> list[Any]:
    runners = session._backend.runners.values()  # type: ignore[attr-defined]
    plans = {id(c.plan): c.plan for runner in runners for c in runner.plans.exact.values()}
    return [plan.sizes for plan in plans.values() if plan.sizes is not None]


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda program: program.__name__[1:])
def test_a_loop_whose_variables_grow_runs_as_one_program(program: Callable[..., Any]) -> None:
    _check(program)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", _MORE_PROGRAMS, ids=lambda program: program.__name__[1:])
def test_more_loops_run_as_one_program(program: Callable[..., Any]) -> None:
    _check(program)


def _check(program: Callable[..., Any]) -> None:
    """Compare runs of one session with runs of a new session for each feed."""
    x, n = _placeholders()
    fetches = program(x, n)
    expected = []
    for feed in _feeds(x, n):
        with tf.Session() as fresh:
            expected.append(fresh.run(fetches, feed))
    with tf.Session() as session:
        for _ in range(4):
            for feed, results in zip(_feeds(x, n), expected):
                for one, other in zip(session.run(fetches, feed), results, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
        plans = _plans(session)
        assert plans and all(plan.program.loop_stages for plan in plans)


def test_a_loop_of_one_set_of_shapes_runs_as_one_program_too() -> None:
    x, n = _placeholders()
    y = _grown(n, x, lambda y: y[-1:] * 0.5)
    with tf.Session() as session:
        for count in range(40):
            rows = session.run(y, {x: np.ones((3, _WIDTH)), n: count % 20})
            assert rows.shape == (3 + count % 20, _WIDTH)
            np.testing.assert_allclose(rows[3:, 0], 0.5 ** np.arange(1, 1 + count % 20))
        assert _plans(session)


def test_random_numbers_in_a_growing_loop_go_on_after_a_run_that_needs_more_memory() -> None:
    x, n = _placeholders()
    more = lambda y: tf.random_uniform([1, _WIDTH], seed=3)  # noqa: E731
    y = _grown(n, x, more)
    counts = [2, 3, 1, 4, 2, 5, 3, 60, 2, 200, 1]
    results = []
    for setting in (tf.OptimizerOptions.OFF, tf.OptimizerOptions.ON_1):
        options = tf.OptimizerOptions(global_jit_level=setting)
        config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
        with tf.Session(config=config) as session:
            feeds = [{x: np.ones((rows % 4 + 1, _WIDTH)), n: rows} for rows in counts * 3]
            results.append([session.run(y, feed) for feed in feeds])
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_a_variable_is_updated_once_after_a_loop_that_needs_more_memory() -> None:
    x, n = _placeholders()
    total = tf.Variable(0.0)
    y = _grown(n, x, lambda y: y[-1:])
    update = tf.assign_add(total, tf.reduce_sum(y[:, 0]))
    with tf.Session() as session:
        session.run(total.initializer)
        expected = 0.0
        for count in [1, 2, 3, 4, 5, 6, 40, 3, 300, 2] * 3:
            rows = count % 3 + 1
            expected += rows + count
            got = session.run(update, {x: np.ones((rows, _WIDTH)), n: count})
            assert got == expected
        assert _plans(session)


def test_an_error_in_a_growing_loop_is_that_of_the_iteration_and_the_next_run_works() -> None:
    x, n = _placeholders()
    y = _grown(n, x, lambda y: tf.gather(y, [4]))
    with tf.Session() as session:
        for rows in (6, 5, 7, 6, 5, 7) * 3:
            assert session.run(y, {x: np.ones((rows, _WIDTH)), n: 3}).shape[0] == rows + 3
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 4"):
                session.run(y, {x: np.ones((3, _WIDTH)), n: 3})
            assert session.run(y, {x: np.ones((5, _WIDTH)), n: 2}).shape[0] == 7


def test_a_predicate_of_a_loops_size_is_no_constant() -> None:
    x, n = _placeholders()
    go_on = lambda y: tf.logical_not(tf.equal(tf.shape(y)[0], n))  # noqa: E731
    y = tf.while_loop(go_on, lambda y: tf.concat([y, y[:1]], 0), [x], shape_invariants=[_OPEN])
    with tf.Session() as session:
        for rows in (1, 2, 3, 1, 4, 5) * 4:
            assert session.run(y, {x: np.ones((rows, _WIDTH)), n: 6}).shape[0] == 6
