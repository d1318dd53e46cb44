"""Moves: values in all kinds of storage are exchanged between the iterations of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

from ..raw_loop import RawLoop, times
from ..stages import run

UNKNOWN = tf.TensorShape(None)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def array(value: tf.Tensor) -> tf.Tensor:
    """Return the handle of a TensorArray that holds this value."""
    elements = tf.TensorArray(tf.float64, 1, clear_after_read=False)
    with tf.control_dependencies([elements.write(0, value).flow]):
        return tf.identity(elements.handle)


def read_first(handle: tf.Tensor) -> tf.Tensor:
    return raw_ops.TensorArrayReadV3(handle, 0, 0.0, dtype=tf.float64)


def kinds() -> dict[str, tuple[Any, Any]]:
    """Return values of each kind of storage, each with the fetch that reads it in the end."""
    x = tf.placeholder_with_default(np.arange(6.0), [6])
    words = tf.constant(["a", "b", "c", "d", "e", "f"])
    return {
        "arena": ([x[i : i + 2] * 1.0 for i in (0, 2, 4)], tf.identity),
        "cell": ([tf.boolean_mask(x, x > i) for i in (0.0, 2.0, 4.0)], tf.identity),
        "string": ([words[i : i + 2] for i in (0, 2, 4)], tf.identity),
        "empty": ([x[i:i] + 1.0 for i in (0, 2, 4)], tf.identity),
        "number": ([x[i] * 1.0 for i in (0, 2, 4)], tf.identity),
        "handle": ([array(x[i]) for i in (0, 2, 4)], read_first),
    }


ROUNDS = {
    "rotated": lambda a, b, c: (b, c, a),
    "back": lambda a, b, c: (c, a, b),
    "swapped": lambda a, b, c: (b, a, c),
    "doubled": lambda a, b, c: (b, b, a),
    "shifted": lambda a, b, c: (a, a, b),
    "one for all": lambda a, b, c: (c, c, c),
}


@pytest.mark.parametrize("kind", ["arena", "cell", "string", "empty", "number", "handle"])
@pytest.mark.parametrize("change", list(ROUNDS))
def test_variables_change_places(kind: str, change: str):
    start, read = kinds()[kind]
    shapes = [tf.TensorShape([])] + [UNKNOWN] * 3 if kind == "cell" else None
    last = times(5, ROUNDS[change], start, shape_invariants=shapes)
    got = run([read(value) for value in (*last, *start)])
    want: Any = tuple(got[3:])
    for _ in range(5):
        want = ROUNDS[change](*want)
    for one, other in zip(got, want):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", ["arena", "cell", "string", "empty", "number", "handle"])
def test_a_next_value_from_outside_is_there_in_each_iteration(kind: str):
    (one, other, third), read = kinds()[kind]
    shapes = [tf.TensorShape([])] + [UNKNOWN] * 2 if kind == "cell" else None
    last = times(4, lambda a, b: (third, a), [one, other], shape_invariants=shapes)
    got = run([read(value) for value in (*last, third)])
    assert all(np.array_equal(value, got[2]) for value in got)


@pytest.mark.parametrize("kind", ["arena", "cell", "string", "number"])
def test_no_iteration_leaves_the_start(kind: str):
    (one, other, _), read = kinds()[kind]
    shapes = [tf.TensorShape([])] + [UNKNOWN] * 2 if kind == "cell" else None
    last = times(0, lambda a, b: (b, a), [one, other], shape_invariants=shapes)
    got = run([read(value) for value in (*last, one, other)])
    assert all(np.array_equal(a, b) for a, b in zip(got[:2], got[2:]))


def test_two_variables_may_begin_with_one_cell():
    x = tf.placeholder(tf.float64, [None])
    cell = tf.boolean_mask(x, x > 0.0)
    shapes = [tf.TensorShape([])] + [UNKNOWN] * 2
    one, other = times(2, lambda a, b: (a + 1.0, b - 1.0), [cell] * 2, shape_invariants=shapes)
    got = run([one, other], {x: [1.0, -1.0, 2.0]})
    assert [array.tolist() for array in got] == [[3.0, 4.0], [-1.0, 0.0]]


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_index_of_a_merge_goes_round_as_it_was(limit: int):
    """Three variables in a row: the index of the input, one iteration late."""
    loop = RawLoop(limit)
    index = loop.count.op.outputs[1]
    late = loop.merge(tf.constant(7))
    later = loop.merge(tf.constant(8))
    left = []
    for variable, value in ((late, index), (later, late)):
        exit_, _ = loop.switch(variable, loop.goes_on)
        left.append(exit_)
        loop.back(variable, raw_ops.Switch(value, loop.goes_on).output_true)
    loop.close()
    steps = [7, 8]
    for step in range(limit):
        steps = [int(step > 0), steps[0]]
    assert run(left) == steps
