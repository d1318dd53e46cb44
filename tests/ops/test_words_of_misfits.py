"""The first words of errors about shapes and dtypes: TensorFlow's, in the graph and in runs."""

from __future__ import annotations

import re

import pytest

import gpugraph as tf


def floats(*sizes):
    return tf.placeholder(tf.float32, sizes)


def ints(*sizes):
    return tf.placeholder(tf.int32, sizes)


EQUAL = "Dimension {} in both shapes must be equal, but are {} and {}. Shapes are"
IN_GRAPH = [
    (lambda: tf.concat([floats(2, 3, 4), floats(2, 3, 5)], 0), EQUAL.format(1, 4, 5) + " [3,4]"),
    (lambda: tf.concat([floats(2, 4), floats(3, 4)], 1), EQUAL.format(0, 2, 3) + " [2] and [3]"),
    (lambda: tf.concat([floats(2, 4), floats(2)], 0), "Shape must be rank 2 but is rank 1"),
    (lambda: tf.concat([floats(2), floats(2)], 1), "Shape must be at least rank 2 but is rank 1"),
    (lambda: tf.stack([floats(2), floats(3)]), EQUAL.format(0, 2, 3) + " [2] and [3]."),
    (lambda: tf.stack([floats(2), floats(2, 3)]), "Shapes must be equal rank, but are 1 and 2"),
    (lambda: tf.ensure_shape(floats(2), [3, 4]), "Shape must be rank 2 but is rank 1"),
    (lambda: tf.tile(floats(2), [1, 2]), "Shape must be rank 1 but is rank 2"),
    (lambda: tf.pad(floats(2), [[1, 1], [1, 1]]), "Shape must be rank 2 but is rank 1"),
    (lambda: tf.slice(floats(2), [0, 0], [1, 1]), "Shape must be rank 2 but is rank 1"),
    (lambda: tf.fill(ints(2, 2), 1), "Shape must be rank 1 but is rank 2"),
    (lambda: tf.split(floats(5), [2, 2]), "can't split axis of size 5 into pieces of size [2,2]"),
    (
        lambda: tf.reverse_sequence(floats(2, 3), ints(3), 1, 0),
        "Dimensions must be equal, but are 2 and 3",
    ),
    (
        lambda: tf.dynamic_partition(floats(2), ints(3), 2),
        "Dimensions must be equal, but are 2 and 3",
    ),
    (
        lambda: tf.depth_to_space(floats(1, 2, 2, 3), 2),
        "Dimension size must be evenly divisible by 4 but is 3",
    ),
    (lambda: tf.histogram_fixed_width(floats(2), floats(3)), "Dimension must be 2 but is 3"),
]


@pytest.mark.parametrize(("build", "words"), IN_GRAPH)
def test_words_while_the_graph_is_built(build, words):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(words)}") as caught:
        build()
    assert type(caught.value) is ValueError
    assert caught.value.__cause__ is None


SHAPES = "shape[0] = [1,2] vs. shape[1] ="
IN_RUN = [
    (
        lambda x, y: tf.concat([x, y], 0), [[2]],
        f"ConcatOp : Dimensions of inputs should match: {SHAPES} [1,1]",
    ),
    (
        lambda x, y: tf.concat([x, y], 0), [2],
        f"ConcatOp : Ranks of all input tensors should match: {SHAPES} [1]",
    ),
    (
        lambda x, y: tf.concat([x, y], 2), [[2]],
        "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 2",
    ),
    (
        lambda x, y: tf.stack([x, x, y]), 2,
        "Shapes of all inputs must match: values[0].shape = [1,2] != values[2].shape = []",
    ),
    (
        lambda x, y: tf.ensure_shape(tf.unique(y)[1], [3]), [2, 3],
        "Shape of tensor Unique:1 [2] is not compatible with expected shape [3].",
    ),
    (
        lambda x, y: tf.tile(y, [1, 2]), [2],
        "Expected multiples argument to be a vector of length 1 but got length 2",
    ),
    (
        lambda x, y: tf.pad(y, [[1, 2], [1, 1]]), [2],
        "The first dimension of paddings must be the rank of inputs[2,2] [1]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("build", "value", "words"), IN_RUN)
def test_words_in_a_run(build, value, words):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        result = build(x, y)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"^{re.escape(words)}"):
            session.run(result, {x: [[1, 2]], y: value})


LISTS = [
    (lambda: tf.stack([1, 2.5, "a"]), "Tensors in list passed to 'values' of 'Pack' Op have types"),
    (
        lambda: tf.stack([tf.constant(1), tf.constant(2.0)]),
        "Tensors in list passed to 'values' of 'Pack' Op have types [int32, float32]",
    ),
    (
        lambda: tf.convert_to_tensor([tf.constant(1), tf.constant(2.0)]),
        "Cannot convert a list containing a tensor of dtype <dtype: 'float32'> to <dtype: 'int32'>",
    ),
    (lambda: tf.constant(["a", 1]), "Expected binary or unicode string, got 1"),
]


@pytest.mark.parametrize(("build", "words"), LISTS)
def test_mixed_dtypes_in_a_list(build, words):
    with tf.Graph().as_default(), pytest.raises(TypeError, match=f"^{re.escape(words)}"):
        build()


def test_a_queue_that_times_out():
    with tf.Graph().as_default(), tf.Session() as session:
        item = tf.FIFOQueue(3, tf.float32).dequeue()
        options = tf.RunOptions(timeout_in_ms=50)
        with pytest.raises(
            tf.errors.DeadlineExceededError, match=r"^Timed out waiting for notification"
        ):
            session.run(item, options=options)
