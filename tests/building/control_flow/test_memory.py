"""The memory that a loop keeps for its gradient grows with its iterations, and is freed
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.tensor_arrays.element_stack import SMALL_STACK

STEPS = (250, 500, 1000)
SIZE, BATCH, UNITS = 64, 4, 16
ROW = 4 * SIZE
"""Bytes of a float32 [SIZE], and of a float32 [BATCH, UNITS] too."""

Feeds = Callable[[int], dict[tf.Tensor, Any]]


def while_loop() -> tuple[Any, Feeds]:
    """Return a loop that keeps two rows per iteration: the left operand of `w`, and the product's
    tanh.
    """
    n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [SIZE])
    w = tf.Variable(np.full(SIZE, 0.5, np.float32))
    last = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, tf.tanh(a * w) + x), (0, x))[1]
    return tf.gradients(last, [x, w]), lambda steps: {n: steps, x: np.ones(SIZE)}


def dynamic_rnn() -> tuple[Any, Feeds]:
    """Return an RNN that keeps eight rows per step.

    These are four gates, the memory and its tanh, [input, output], and the output.
    """
    x = tf.placeholder(tf.float32, [BATCH, None, 1])
    cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
    _, last = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    found = tf.gradients(last.h, tf.trainable_variables())
    return found, lambda steps: {x: np.ones((BATCH, steps, 1))}


PROGRAMS = {"while_loop": (while_loop, 2), "dynamic_rnn": (dynamic_rnn, 8)}


def opened(device: str) -> tf.Session:
    options = tf.GPUOptions(virtual_gpus=int(device.startswith("GPU")))
    return tf.Session(config=tf.ConfigProto(allow_soft_placement=True, gpu_options=options))


def in_use(session: tf.Session) -> int:
    return sum(each.bytes_in_use for each in session.memory_stats().values())


def peak(session: tf.Session) -> int:
    return sum(each.peak_bytes_in_use for each in session.memory_stats().values())


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_takes_memory_by_the_step_and_gives_it_back(name: str, device: str) -> None:
    make, rows = PROGRAMS[name]
    grown = []
    for steps in STEPS:
        with tf.Graph().as_default(), tf.device(device), opened(device) as session:
            fetches, feeds = make()
            session.run(tf.global_variables_initializer())
            session.explain(fetches, feeds(steps))  # makes the plan, which has separate memory
            before = in_use(session)
            session.run(fetches, feeds(steps))
            assert before <= in_use(session) <= before + rows * SMALL_STACK
            grown.append(peak(session) - before)
    for steps, size in zip(STEPS, grown):
        assert rows * steps * ROW <= size < 1.25 * rows * steps * ROW
    assert grown[1:] == pytest.approx([2 * grown[0], 4 * grown[0]], rel=0.1)


def test_a_run_takes_no_more_than_the_one_before() -> None:
    with tf.Graph().as_default(), opened("CPU:0") as session:
        fetches, feeds = while_loop()
        session.run(tf.global_variables_initializer())
        session.run(fetches, feeds(500))
        session.run(fetches, feeds(500))  # small stacks now have room for all elements, and stay
        first = in_use(session), peak(session)
        for _ in range(5):
            session.run(fetches, feeds(500))
            assert (in_use(session), peak(session)) == first


@pytest.mark.parametrize("on_the_way_back", [False, True])
def test_a_run_that_fails_gives_back_what_was_kept(on_the_way_back: bool) -> None:
    left = [100]

    def tire(value: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if not left[0]:
            raise ValueError("tired")
        return value

    @tf.custom_gradient
    def tiring(a: tf.Tensor) -> Any:
        def tired(value: tf.Tensor) -> tf.Tensor:
            found = tf.py_func(tire, [value], tf.float32)
            found.set_shape(value.shape)
            return found

        if on_the_way_back:
            return tf.tanh(a), tired
        return tired(a), lambda grad: grad

    with tf.Graph().as_default(), opened("CPU:0") as session:
        n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [SIZE])
        last = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, tiring(a * x) * a), (0, x))
        grad = tf.gradients(last[1], x)
        session.explain(grad, {n: 300, x: np.ones(SIZE)})
        before = in_use(session)
        with pytest.raises(tf.errors.InvalidArgumentError, match="tired"):
            session.run(grad, {n: 300, x: np.ones(SIZE)})
        assert peak(session) > before + 2 * 100 * ROW
        assert in_use(session) == before
