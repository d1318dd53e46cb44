"""Compiling large graphs of branches and loops takes time in proportion to their size."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import gpugraph as tf

from ..stages import make_plan, make_target


def conds(count: int) -> tf.Tensor:
    x = tf.placeholder_with_default([1.0, 2.0], [2])
    for index in range(count):
        number = float(index)
        x = tf.cond(x[0] > number, lambda x=x: x + 1.0, lambda x=x: tf.tanh(x))
    return x


def loops(count: int) -> tf.Tensor:
    x = tf.placeholder_with_default([1.0, 2.0], [2])
    for _ in range(count):
        x = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(x) + 1.0), [0, x])[1]
    return x


def variables_of_one_loop(count: int) -> tf.Tensor:
    """Half of them rotate: each has its predecessor's value in the next iteration."""
    x = tf.placeholder_with_default([1.0, 2.0], [2])

    def body(i: tf.Tensor, *held: tf.Tensor) -> list[tf.Tensor]:
        half = len(held) // 2
        return [
            i + 1,
            *(tf.tanh(variable) for variable in held[:half]),
            *held[half + 1 :],
            held[half],
        ]

    start = [x * float(index) for index in range(count)]
    return tf.add_n(tf.while_loop(lambda i, *_: i < 3, body, [0, *start])[1:])


@pytest.mark.parametrize(
    ("make", "count"), [(conds, 80), (loops, 60), (variables_of_one_loop, 120)]
)
def test_time_is_in_proportion(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], tf.Tensor], count: int
) -> None:
    """Four times as much takes less than ten times as long; a square law would take sixteen."""
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    target = make_target()._replace(verify=False)
    seconds = []
    for size in (count, 4 * count):
        with tf.Graph().as_default():
            fetch = make(size)
            times = []
            for _ in range(2):
                start = time.process_time()
                make_plan([fetch], target=target).release()
                times.append(time.process_time() - start)
            seconds.append(min(times))
    assert seconds[1] < 10 * seconds[0]


@pytest.mark.parametrize("size", [4_000, pytest.param(20_000, marks=pytest.mark.exhaustive)])
def test_many_operations(size: int) -> None:
    """Two branches and a loop, nested again and again."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder_with_default([1.0, 2.0], [2])
        while len(graph.get_operations()) < size:

            def looped(x: tf.Tensor = x) -> tf.Tensor:
                return tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x * 0.5), [0, x])[1]

            x = tf.cond(x[0] > 0.0, looped, lambda x=x: tf.cond(x[1] > 0.0, lambda: x, looped))
        start = time.process_time()
        make_plan([x], target=make_target()._replace(verify=False)).release()
        assert time.process_time() - start < 30 * size / 20_000
