"""Which values `tf.get_static_value` shows, and that they may not be fed afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def unknown(*shape: int) -> tf.Tensor:
    return tf.placeholder(tf.int32, shape)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.stack([unknown(), 1]), [None, 1]),
        (lambda: tf.stack([unknown(), unknown()]), [None, None]),
        (lambda: tf.stack([tf.stack([unknown(), 1]), tf.stack([2, 3])]), [[None, 1], [2, 3]]),
        (lambda: tf.stack([[3, 4], [1, 2]]), [[3, 4], [1, 2]]),
        (lambda: tf.stack([unknown(2), [1, 2]], axis=1), None),
        (lambda: tf.stack([[3, 4], [1, 2]], axis=1), None),
        (lambda: tf.cast(tf.stack([unknown(), 1]), tf.int64), None),
        (lambda: tf.concat([[1], unknown(1)], 0), None),
    ],
)
def test_parts_are_known_of_stacks_along_the_first_axis(make, expected):
    value = tf.get_static_value(make(), partial=True)
    assert (None if value is None else value.tolist()) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.range(0.0, 1.5, 0.5), [0.0, 0.5, 1.0]),
        (lambda: tf.fill([3000], 2), [2] * 3000),
        (lambda: tf.fill(tf.identity(tf.constant([2])), 2), [2, 2]),
        (lambda: tf.not_equal(["a", "b"], "b"), [True, False]),
        (lambda: tf.shape(tf.zeros([2, 3])), [2, 3]),
        (lambda: tf.constant(1) + 1, None),
        (lambda: tf.identity(tf.constant(1)), None),
        (lambda: tf.stack([unknown(), 1]), None),
        (lambda: tf.shape(tf.zeros([2, 3]))[0], None),
        (lambda: tf.fill(unknown(1), 2), None),
        (lambda: tf.Variable(1, use_resource=False), None),
        (lambda: tf.Variable(1, use_resource=True), None),
        (lambda: tf.SparseTensor([[0]], [1], [1]), None),
        (lambda: [1, 2], None),
    ],
)
def test_the_op_types_of_tensorflow_show_their_values(make, expected):
    source = make()
    value = tf.get_static_value(source)
    if isinstance(source, list):
        assert value is source
    else:
        assert (None if value is None else np.asarray(value).tolist()) == expected


def test_a_value_that_was_shown_may_not_be_fed():
    shown, other = tf.constant(1), tf.constant(2)
    assert tf.get_static_value(shown) == 1
    with tf.Session() as session:
        assert session.run(other + 1, {other: 3}) == 4
        with pytest.raises(ValueError, match=r"^Tensor .*Const:0.* may not be fed"):
            session.run(shown + 1, {shown: 3})
