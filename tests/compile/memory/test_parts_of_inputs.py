"""Outputs that are contiguous parts of an input need no memory and no copy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..stages import compiled, node, run


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def computed(*shape):
    return tf.negative(tf.placeholder(tf.float32, shape, name="x"), name="whole")


def parts(fetches, *shape):
    """Return the starts of the outputs of `cut`, or None if they are copies."""
    x = tf.get_default_graph().get_tensor_by_name("x:0")
    unit = compiled(fetches, {x: shape})
    cut, whole = node(unit, "cut"), node(unit, "whole")
    homes = [unit.homes[cut.id, slot] for slot in range(len(cut.output_types))]
    if any(home.storage is not unit.homes[whole.id, 0].storage for home in homes):
        return None
    return [home.start for home in homes]


def values(fetches, x):
    placeholder = tf.get_default_graph().get_tensor_by_name("x:0")
    return run(fetches, {placeholder: x})


@pytest.mark.parametrize(
    "cut, starts",
    [
        (lambda x: tf.unstack(x, name="cut"), [0, 128, 256, 384]),
        (lambda x: tf.split(x, 2, name="cut"), [0, 256]),
        (lambda x: tf.split(x, [1, 3], name="cut"), [0, 128]),
        (lambda x: [tf.slice(x, [1, 0], [2, 32], name="cut")], [128]),
        (lambda x: [tf.strided_slice(x, [2], [4], name="cut")], [256]),
        (lambda x: tf.unstack(x, axis=1, name="cut"), None),
        (lambda x: [tf.slice(x, [0, 0], [4, 16], name="cut")], None),
        (lambda x: [tf.slice(x, [0, 3], [1, 16], name="cut")], None),  # not aligned
        (lambda x: [tf.strided_slice(x, [0], [4], [2], name="cut")], None),
    ],
)
def test_contiguous_aligned_parts_share_the_memory_of_the_input(cut, starts):
    whole = computed(4, 32)
    outputs = list(cut(whole))
    assert parts(outputs, 4, 32) == starts
    x = np.arange(128, dtype=np.float32).reshape(4, 32)
    with tf.Graph().as_default(), tf.Session() as session:
        expected = session.run(list(cut(tf.constant(-x))))  # folded: computed without a plan
    for value, other in zip(values(outputs, x), expected, strict=True):
        np.testing.assert_array_equal(value, other)


def test_later_ops_read_their_own_part():
    first, second, third = tf.unstack(computed(3, 16), name="cut")
    fetches = [tf.exp(first) + second, tf.reshape(third, [4, 4]) * 2, tf.sigmoid(second)]
    assert parts(fetches, 3, 16) == [0, 64, 128]
    x = np.random.RandomState(0).randn(3, 16).astype(np.float32)
    one, two, three = values(fetches, x)
    np.testing.assert_allclose(one, np.exp(-x[0]) - x[1], rtol=1e-5)
    np.testing.assert_array_equal(two, (-2 * x[2]).reshape(4, 4))
    np.testing.assert_allclose(three, 1 / (1 + np.exp(x[1])), rtol=1e-5)


def test_a_part_is_overwritten_only_if_no_other_part_is_read_later():
    whole = computed(4, 16)
    low = tf.slice(whole, [0, 0], [3, 16], name="cut")
    high = tf.slice(whole, [1, 0], [3, 16])
    total = tf.add(low, high, name="total")  # in place it would overwrite rows that it reads
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    assert parts([total], 4, 16) == [0]
    np.testing.assert_array_equal(values([total], x)[0], -x[:3] - x[1:])


@pytest.mark.parametrize("writes", [False, True])
def test_parts_of_variables_keep_the_values_of_their_time(writes):
    variable = tf.get_variable("v", initializer=np.ones((2, 16), np.float32), use_resource=False)
    first, second = tf.unstack(variable, name="cut")
    with tf.control_dependencies([first, second]):
        changed = tf.assign(variable, np.zeros((2, 16), np.float32)) if writes else tf.no_op()
    with tf.control_dependencies([changed]):
        total = tf.add(first, 2 * second)
    unit = compiled([total], {})
    homes = [unit.homes[node(unit, "cut").id, slot] for slot in range(2)]
    starts = [home.start for home in homes if home.storage.kind == "variable"]
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(total)
        session.run(tf.global_variables_initializer())
        assert session.run(total).sum() == 48
        assert session.run(total).sum() == (0 if writes else 48)
    assert starts == ([] if writes else [0, 64])


def test_parts_in_loops_and_branches():
    x = tf.placeholder(tf.float32, [2, 16], name="x")

    def body(number, value):
        first, second = tf.unstack(value * 2)
        return number + 1, tf.stack([second, first + 1])

    _, looped = tf.while_loop(lambda number, _: number < 3, body, [0, x])
    chosen = tf.cond(x[0, 0] > 0, lambda: tf.unstack(x + 1)[1], lambda: tf.split(x - 1, 2)[0][0])
    given = np.random.RandomState(0).randn(2, 16).astype(np.float32)
    expected = given
    for _ in range(3):
        expected = np.stack([expected[1] * 2, expected[0] * 2 + 1])
    with tf.Session() as session:
        for sign in (1, -1):
            taken = sign * np.abs(given)
            branch = session.run(chosen, {x: taken})
            np.testing.assert_allclose(branch, taken[1] + 1 if sign > 0 else taken[0] - 1)
        np.testing.assert_allclose(session.run(looped, {x: given}), expected, rtol=1e-6)
