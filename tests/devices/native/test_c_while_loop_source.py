"""Native loops: numbers and vectors that change until a condition fails."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.devices.native import Fusion, NotNativeError, prepare_loops

from ..native_programs import SUM, needs_compiler

pytestmark = needs_compiler


class Writer(Fusion):
    """Shorter to write."""

    def number(self, dtype: tf.DType = tf.int32) -> int:
        return self.input(dtype, ())

    def less(self, x: int, limit: float, dtype: tf.DType = tf.int32) -> int:
        return self.apply("x < y", [x, self.constant(limit, dtype)], tf.bool)

    def more(self, x: int, dtype: tf.DType = tf.int32) -> int:
        return self.apply("x + (T)1", [x], dtype)

    def single(self, text: str, *inputs: int) -> int:
        return self.apply(text, inputs, tf.float32)

    def bind(
        self, condition: int, changing: dict[int, int], arrays: list[np.ndarray], **options: Any
    ) -> Callable[[], int]:
        loop, sizes = self.finish_loop(condition, changing)
        [prepared] = prepare_loops([loop])
        function = prepared.get(wait=True)
        assert function is not None, prepared.reason
        return function.bind(arrays, sizes, **options)


def number(value: Any, dtype: Any = np.int32) -> np.ndarray:
    return np.array(value, dtype)


def vector(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size).astype(np.float32)


def test_a_number_counts() -> None:
    loop, i = Writer(), number(3)
    x = loop.number()
    run = loop.bind(loop.less(x, 1000), {x: loop.more(x)}, [i])
    assert run() == 997
    assert i == 1000
    assert run() == 0
    i[()] = -5
    assert run() == 1005


def test_a_limit_ends_it() -> None:
    loop, i = Writer(), number(0)
    x = loop.number()
    run = loop.bind(loop.less(x, 1000), {x: loop.more(x)}, [i], limit=10)
    assert (run(), int(i)) == (10, 10)
    assert (run(), int(i)) == (10, 20)


def test_all_next_values_are_of_the_present_ones() -> None:
    """Fibonacci: two numbers, each next one of both; and a swap."""
    loop = Writer()
    x, y, n = (loop.number(tf.int64) for _ in range(3))
    following = loop.apply("x + y", [x, y], tf.int64)
    a, b, count = (number(value, np.int64) for value in (0, 1, 0))
    changing = {x: y, y: following, n: loop.more(n, tf.int64)}
    loop.bind(loop.less(n, 50, tf.int64), changing, [a, b, count])()
    assert (int(a), int(b)) == (12586269025, 20365011074)


@pytest.mark.parametrize("size", [2, 64, 1000, 5000])
def test_vectors_change_with_what_does_not(size: int) -> None:
    loop = Writer()
    i, y, w, x = (loop.number(), *(loop.input(tf.float32, (size,)) for _ in range(3)))
    following = loop.single("x + y", loop.single("tanh(x)", loop.single("x * y", y, w)), x)
    arrays = [number(0), vector(size), vector(size, 1), vector(size, 2)]
    wanted = arrays[1].astype(np.float64)
    for _ in range(40):
        wanted = np.tanh(wanted * arrays[2]) + arrays[3]
    assert loop.bind(loop.less(i, 40), {i: loop.more(i), y: following}, arrays)() == 40
    np.testing.assert_allclose(arrays[1], wanted, 2e-5, 1e-6)


def test_vectors_may_change_places() -> None:
    loop = Writer()
    i, x, y = loop.number(), loop.input(tf.float32, (100,)), loop.input(tf.float32, (100,))
    a, b = vector(100), vector(100, 1)
    before = a.copy(), b.copy()
    run = loop.bind(loop.less(i, 7), {i: loop.more(i), x: y, y: x}, [number(0), a, b])
    run()
    assert (a.tobytes(), b.tobytes()) == (before[1].tobytes(), before[0].tobytes())


def test_a_vector_may_become_one_number() -> None:
    loop = Writer()
    i, x, v = loop.number(), loop.number(tf.float32), loop.input(tf.float32, (9,))
    a, vec = number(1.5, np.float32), vector(9)
    run = loop.bind(loop.less(i, 3), {i: loop.more(i), v: x}, [number(0), a, vec])
    run()
    assert vec.tolist() == [1.5] * 9


def test_the_condition_may_be_of_a_sum() -> None:
    """Newton's square roots, until the squares are right."""
    loop = Writer()
    a, x, last = (loop.input(tf.float64, (100,)) for _ in range(3))
    wrong = loop.apply("x * x - y", [x, a], tf.float64)
    error = loop.reduce(SUM, loop.apply("x * x", [wrong], tf.float64))
    condition = loop.apply("x > y", [error, loop.constant(1e-18, tf.float64)], tf.bool)
    following = loop.apply("x - y / ((T)2 * x)", [x, wrong], tf.float64)
    squares = np.random.default_rng(0).uniform(1, 9, 100)
    roots, before = np.ones(100), np.zeros(100)
    turns = loop.bind(condition, {x: following, last: x}, [squares, roots, before])()
    assert 4 <= turns <= 8
    np.testing.assert_allclose(roots, np.sqrt(squares), 1e-12)
    assert 0 < np.abs(roots - before).max() < 1e-4


def test_sums_of_the_next_values_are_numbers_too() -> None:
    loop = Writer()
    x, total = loop.input(tf.float32, (2000,)), loop.number(tf.float32)
    half = loop.single("x * y", x, loop.constant(0.5, tf.float32))
    condition = loop.apply("x > (T)1", [total], tf.bool)
    values, sums = np.ones(2000, np.float32), number(np.inf, np.float32)
    assert loop.bind(condition, {x: half, total: loop.reduce(SUM, half)}, [values, sums])() == 11
    assert sums == 2000 / 2**11
    assert values.tolist() == [1 / 2**11] * 2000


def test_booleans_may_change() -> None:
    loop = Writer()
    go, i = loop.number(tf.bool), loop.number()
    following = loop.less(loop.more(i), 5)
    flag, count = number(True, np.bool_), number(0)
    assert loop.bind(go, {go: following, i: loop.more(i)}, [flag, count])() == 5
    assert not flag and count == 5


def endless(stop: np.ndarray | None = None) -> Callable[[], int]:
    loop = Writer()
    x = loop.number(tf.int64)
    condition = loop.apply("x >= (T)0", [x], tf.bool)
    following = loop.apply("(x + (T)1) % (T)1000", [x], tf.int64)
    return loop.bind(condition, {x: following}, [number(0, np.int64)], stop=stop)


def test_a_flag_ends_it_from_another_thread() -> None:
    stop = np.zeros(1, np.int64)
    run = endless(stop)
    timer = threading.Timer(0.1, stop.__setitem__, (0, 1))
    timer.start()
    assert run() > 1000
    timer.join()
    assert run() <= 1024


def test_ctrl_c_ends_it(interruptible: None) -> None:
    run = endless()
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    timer.join()


def test_integers_divided_by_zero_are_an_error() -> None:
    loop = Writer()
    x, y = loop.number(), loop.number()
    quotient = loop.apply("y == (T)0 ? (T)0 : x / y", [y, x], tf.int32)
    condition = loop.apply("x > (T)-3", [x], tf.bool)
    run = loop.bind(
        condition, {x: loop.apply("x - (T)1", [x], tf.int32), y: quotient}, [number(2), number(9)]
    )
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        run()


def test_what_is_no_loop_is_refused_with_a_reason() -> None:
    loop = Writer()
    matrix, rows = loop.input(tf.float32, (3, 4)), loop.input(tf.float32, (4,))
    condition = loop.apply("x > (T)0", [loop.number(tf.float32)], tf.bool)
    refused, _ = loop.finish_loop(condition, {matrix: loop.single("x + y", matrix, rows)})
    with pytest.raises(NotNativeError, match="numbers or vectors of one size"):
        prepare_loops([refused])

    loop = Writer()
    x = loop.number()
    refused, _ = loop.finish_loop(x, {x: loop.more(x)})
    with pytest.raises(NotNativeError, match="must be one bool"):
        prepare_loops([refused])

    loop = Writer()
    x = loop.number()
    refused, _ = loop.finish_loop(loop.less(x, 9), {x: loop.apply("(U)x", [x], tf.float32)})
    with pytest.raises(NotNativeError, match="changes its dtype"):
        prepare_loops([refused])

    loop = Writer()
    i, x = loop.number(tf.float32), loop.input(tf.float32, (4,))
    refused, _ = loop.finish_loop(loop.less(i, 9, tf.float32), {i: loop.single("x + y", i, x)})
    with pytest.raises(NotNativeError, match="changes its shape"):
        prepare_loops([refused])


def test_arrays_that_do_not_fit_are_refused() -> None:
    loop = Writer()
    x = loop.number()
    with pytest.raises(InternalError, match="int32 with 1 elements, but is int64"):
        loop.bind(loop.less(x, 1000), {x: loop.more(x)}, [number(0, np.int64)])
