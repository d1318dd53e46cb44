"""Cross entropies: of probabilities, of logits, and of probabilities whose logits are known."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend

LOGITS = np.random.RandomState(0).randn(4, 3).astype(np.float32)
CLASSES = np.array([0, 2, 1, 1])
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
SOFTMAX = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
SIGMOID = 1 / (1 + np.exp(-LOGITS))
BY_CLASS = -np.log(SOFTMAX)[range(4), CLASSES]
BY_ELEMENT = -ONE_HOT * np.log(SIGMOID) - (1 - ONE_HOT) * np.log(1 - SIGMOID)


def value(x):
    return tf.Session().run(x)


def close(x, wanted):
    np.testing.assert_allclose(value(x), wanted, rtol=2e-5, atol=1e-6)


def test_categorical():
    close(K.categorical_crossentropy(ONE_HOT, tf.constant(LOGITS), from_logits=True), BY_CLASS)
    close(K.categorical_crossentropy(ONE_HOT, tf.constant(SOFTMAX)), BY_CLASS)
    close(K.categorical_crossentropy(ONE_HOT, tf.constant(3 * SOFTMAX)), BY_CLASS)  # are scaled
    close(K.categorical_crossentropy(ONE_HOT.T, tf.constant(SOFTMAX.T), axis=0), BY_CLASS)


def test_sparse_categorical():
    logits = tf.constant(LOGITS)
    close(K.sparse_categorical_crossentropy(CLASSES, logits, from_logits=True), BY_CLASS)
    close(K.sparse_categorical_crossentropy(CLASSES[:, None], tf.constant(SOFTMAX)), BY_CLASS)
    rows, classes = tf.reshape(tf.constant(SOFTMAX), [2, 2, 3]), CLASSES.reshape(2, 2)
    close(K.sparse_categorical_crossentropy(classes, rows), BY_CLASS.reshape(2, 2))
    columns = tf.transpose(rows, [0, 2, 1])
    close(K.sparse_categorical_crossentropy(classes, columns, axis=1), BY_CLASS.reshape(2, 2))


def test_binary():
    close(K.binary_crossentropy(ONE_HOT, tf.constant(LOGITS), from_logits=True), BY_ELEMENT)
    close(K.binary_crossentropy(ONE_HOT, tf.constant(SIGMOID)), BY_ELEMENT)


@pytest.mark.parametrize("size", [60.0, 90.0])
def test_the_logits_of_a_softmax_and_a_sigmoid_are_used(size):
    logits = tf.constant([[size, 0.0]])
    assert value(K.categorical_crossentropy([[0.0, 1.0]], tf.nn.softmax(logits)))[0] == size
    assert value(K.sparse_categorical_crossentropy([1], tf.nn.softmax(logits)))[0] == size
    assert value(K.binary_crossentropy([[0.0, 0.0]], tf.nn.sigmoid(logits)))[0, 0] == size
    cut = value(K.categorical_crossentropy([[0.0, 1.0]], tf.identity(tf.nn.softmax(logits))))[0]
    assert cut == pytest.approx(-np.log(1e-7), rel=1e-5)


def test_hard_sigmoid():
    x = [-9.0, -2.5, 0.0, 1.0, 2.5, 9.0]
    np.testing.assert_allclose(value(K.hard_sigmoid(x)), [0, 0, 0.5, 0.7, 1, 1])
