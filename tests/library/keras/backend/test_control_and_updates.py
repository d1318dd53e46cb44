"""Conditions, loops, gradients and updates of Keras's backend, and CTC."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def value(tensor, feeds=None):
    return K.get_session().run(tensor, feeds)


def test_switch():
    x, y = K.constant(X), K.constant(-X)
    np.testing.assert_array_equal(value(K.switch(tf.constant(0.0), lambda: x, lambda: y)), -X)
    np.testing.assert_array_equal(value(K.switch(K.greater(x, 2), x, y)), np.where(X > 2, X, -X))
    rows = K.switch(tf.constant([True, False]), x, y)
    np.testing.assert_array_equal(value(rows), [X[0], -X[1]])
    deep = np.ones((2, 3, 2), np.float32)
    chosen = K.switch(x > 2, K.constant(deep), lambda: K.constant(-deep))
    np.testing.assert_array_equal(value(chosen), np.where(X[..., None] > 2, deep, -deep))
    with pytest.raises(ValueError, match=r"Rank of `condition` .* ndim\(condition\)=2"):
        K.switch(x > 2, tf.constant(1.0), tf.constant(2.0))


def test_the_learning_phase():
    x, y = K.constant(1.0), K.constant(2.0)
    fed = K.in_train_phase(x, lambda: y)
    assert [value(fed, {K.learning_phase(): phase}) for phase in (True, False)] == [1, 2]
    assert K.in_train_phase(lambda: x, y, training=1) is x
    assert K.in_test_phase(x, y, training=True) is y


def test_loops_and_gradients():
    x = K.constant(X)
    np.testing.assert_array_equal(value(K.map_fn(lambda row: row * 2, x)), X * 2)
    np.testing.assert_array_equal(value(K.foldl(lambda total, row: total + row, x)), X.sum(0))
    np.testing.assert_array_equal(value(K.foldr(lambda total, row: total - row, x)), X[1] - X[0])
    loss = K.sum(x * x * K.stop_gradient(x))
    np.testing.assert_array_equal(value(K.gradients(loss, [x])[0]), 2 * X * X)
    stopped = K.stop_gradient([x, x])
    assert len(stopped) == 2 and K.gradients(stopped[0], [x]) == [None]


def test_updates():
    variable = K.variable([1.0, 2.0])
    value(K.update_add(variable, [1.0, 1.0]))
    value(K.update_sub(variable, [0.5, 0.5]))
    np.testing.assert_array_equal(K.get_value(variable), [1.5, 2.5])
    value(K.update(variable, [4.0, 4.0]))
    average = K.variable([0.0])
    update = K.moving_average_update(average, tf.constant([3.0]), 0.9)
    value(tf.global_variables_initializer())
    value(update)
    np.testing.assert_allclose(K.get_value(average), [3.0], rtol=1e-5)


def ctc_by_paths(probabilities, label):
    """-log of the sum over all paths that collapse to a label."""
    steps, classes = probabilities.shape
    total = 0.0
    for path in np.ndindex(*(classes,) * steps):
        kept = [c for place, c in enumerate(path) if not place or c != path[place - 1]]
        if [c for c in kept if c != classes - 1] == list(label):
            total += np.prod([probabilities[step, c] for step, c in enumerate(path)])
    return -np.log(total)


def test_ctc():
    scores = np.random.RandomState(1).rand(2, 5, 3).astype(np.float32)
    probabilities = scores / scores.sum(-1, keepdims=True)
    cost = K.ctc_batch_cost(
        tf.constant([[0, 1, 0], [1, 0, 0]]), tf.constant(probabilities),
        tf.constant([[5], [4]]), tf.constant([[3], [1]]),
    )  # fmt: skip
    expected = [
        [ctc_by_paths(probabilities[0], [0, 1, 0])], [ctc_by_paths(probabilities[1, :4], [1])],
    ]  # fmt: skip
    np.testing.assert_allclose(value(cost), expected, rtol=1e-4)
    sparse = value(K.ctc_label_dense_to_sparse(tf.constant([[5, 6], [7, 8]]), tf.constant([2, 1])))
    np.testing.assert_array_equal(sparse.indices, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(sparse.values, [5, 6, 7])
    sure = np.eye(3, dtype=np.float32)[[[0, 0, 2, 0, 1], [1, 2, 2, 2, 2]]]
    [labels], _ = K.ctc_decode(tf.constant(sure), tf.constant([5, 5]))
    np.testing.assert_array_equal(value(labels), [[0, 0, 1], [1, -1, -1]])
    beam = {"greedy": False, "beam_width": 5}  # merges repeated labels of its result too
    [labels], _ = K.ctc_decode(tf.constant(sure), tf.constant([5, 5]), **beam)
    np.testing.assert_array_equal(value(labels), [[0, 1], [1, -1]])
