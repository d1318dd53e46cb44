"""Regularizers: their penalties, their names, and their errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

layers = tf.contrib.layers
VALUES = [[-1.5, 2.0], [0.0, 3.0]]
L1, L2 = 6.5, 7.625


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


@pytest.mark.parametrize(
    ("regularizer", "expected"),
    [
        (layers.l1_regularizer(0.5), 0.5 * L1),
        (layers.l2_regularizer(0.5), 0.5 * L2),
        (layers.l1_l2_regularizer(0.5, 2.0), 0.5 * L1 + 2 * L2),
        (layers.l1_l2_regularizer(), L1 + L2),
        (layers.l1_l2_regularizer(0.0, 2.0), 2 * L2),
        (layers.l1_l2_regularizer(0.5, 0.0), 0.5 * L1),
        (layers.sum_regularizer([layers.l1_regularizer(1.0), None]), L1),
    ],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_penalties(regularizer, expected, dtype):
    penalty = regularizer(tf.constant(VALUES, dtype))
    assert penalty.dtype is dtype and penalty.shape == []
    np.testing.assert_allclose(value(penalty), expected, rtol=1e-6)


def test_operations_are_named_as_tensorflow_names_them(graph):
    w = tf.get_variable("w", [2], regularizer=layers.l2_regularizer(0.1))
    names = [
        layers.l1_regularizer(0.1)(w).op.name,
        layers.l2_regularizer(0.1, "mine")(w).op.name,
        layers.l1_l2_regularizer(0.1, 0.2)(w).op.name,
    ]
    assert names == ["l1_regularizer", "mine", "l1_l2_regularizer"]
    result = {op.name: op.type for op in graph.get_operations()}
    assert result["l1_l2_regularizer/l1_regularizer"] == "Mul"
    assert result["l1_l2_regularizer/l2_regularizer/L2Loss"] == "L2Loss"
    (loss,) = graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name == "w/Regularizer/l2_regularizer"


def test_a_scale_of_zero_gives_no_penalty(graph):
    with tf.variable_scope("a", regularizer=layers.l1_regularizer(0.0)):
        tf.get_variable("w", [2])
    assert graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []
    assert layers.l2_regularizer(0.0)(None) is None
    assert layers.sum_regularizer([]) is layers.sum_regularizer([None]) is None
    assert layers.sum_regularizer([layers.l2_regularizer(0.0)])(tf.constant(VALUES)) is None


def test_a_scale_may_be_a_tensor():
    scale = tf.placeholder_with_default(0.5, [])
    np.testing.assert_allclose(value(layers.l2_regularizer(scale)(tf.constant(VALUES))), 0.5 * L2)


@given(st.floats(-4, 4), st.floats(0.01, 4))
def test_the_slope_is_the_scale_times_sign_or_value(x, scale):
    with tf.Graph().as_default():
        w = tf.constant([x], tf.float64)
        slopes = [
            tf.gradients(make(scale)(w), w)[0]
            for make in (layers.l1_regularizer, layers.l2_regularizer)
        ]
        with tf.Session() as session:
            np.testing.assert_allclose(
                session.run(slopes), [[scale * np.sign(x)], [scale * x]], rtol=1e-6
            )


def test_penalties_of_all_weights_are_summed(graph):
    first, second = tf.constant(VALUES), tf.constant([2.0])
    total = layers.apply_regularization(layers.l2_regularizer(1.0), [first, second])
    assert total.op.name == "get_regularization_penalty"
    assert graph.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == [total]
    np.testing.assert_allclose(value(total), L2 + 2)
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, second)
    np.testing.assert_allclose(value(layers.apply_regularization(layers.l1_regularizer(1.0))), 2)
    assert value(layers.apply_regularization(lambda _: None)) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.l1_regularizer(1), "scale cannot be an integer: 1"),
        (lambda: layers.l2_regularizer(0), "scale cannot be an integer: 0"),
        (lambda: layers.l1_regularizer(-0.5), "less than 0 on a regularizer: -0.5"),
        (lambda: layers.l1_l2_regularizer(1, 1.0), "scale_l1 cannot be an integer"),
        (lambda: layers.l1_l2_regularizer(1.0, 1), "scale_l2 cannot be an integer"),
        (lambda: layers.l1_l2_regularizer(1.0, -1.0), "less than 0"),
        (lambda: layers.apply_regularization(layers.l2_regularizer(1.0)), "No weights"),
        (
            lambda: layers.apply_regularization(lambda w: w, [tf.constant([1.0])]),
            "must return a scalar Tensor instead of a Tensor with rank 1",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
