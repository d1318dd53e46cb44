"""tf.py_function: values in Python, ops on them, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feed_dict=None):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)


def log_huber(x, m):
    if tf.abs(x) <= m:
        return x**2
    return m**2 * (1 - 2 * tf.log(m) + tf.log(x**2))


def test_ops_and_statements_on_values():
    x, m = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y = tf.py_function(log_huber, [x, m], tf.float32)
    (gradient,) = tf.gradients(y, x)
    assert y.op.type == "EagerPyFunc"
    assert run([y, gradient], {x: 1.0, m: 2.0}) == [1.0, 2.0]
    np.testing.assert_allclose(
        run([y, gradient], {x: 3.0, m: 2.0}), [7.243721, 8.0 / 3.0], rtol=1e-6
    )


def test_values_in_python():
    seen = []

    def look(x, name):
        seen.append((x.numpy().tolist(), int(x[1]), float(x[0]), len(x), [int(i) for i in x]))
        assert isinstance(name.numpy(), bytes)
        assert np.asarray(x).sum() == 3
        assert "numpy=" in repr(x)
        return x.numpy().sum(), name.numpy().decode().upper(), None

    result = tf.py_function(
        look, [tf.constant([1, 2]), tf.constant("abc")], [tf.int32, tf.string, tf.float32]
    )
    assert run(result) == [3, b"ABC", 0.0]
    assert seen == [([1, 2], 2, 1.0, 2, [1, 2])]


def test_results_are_converted_to_their_dtypes():
    assert run(tf.py_function(lambda: 1, [], tf.float32)) == 1.0
    op = tf.py_function(lambda: None, [], [])
    assert run(op) is None
    bad = tf.py_function(lambda: (1.0, 2.0), [], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="returns 2 values, but expects"):
        run(bad)
    failing = tf.py_function(lambda x: x.missing, [1.0], tf.float32)
    with pytest.raises(tf.errors.UnknownError, match="AttributeError"):
        run(failing)
    with pytest.raises(ValueError, match="Expected func to be callable"):
        tf.py_function(3, [], tf.float32)


def test_effects_in_the_function_happen_once(capfd):
    def show(x):
        tf.print("value", x)
        y = x + 1.0
        assert y.numpy() == 3.0
        return y * 2.0

    assert run(tf.py_function(show, [2.0], tf.float32)) == 6.0
    assert capfd.readouterr().err.count("value 2") == 1


def test_gradients_of_gradients():
    x, n = tf.placeholder(tf.float32, []), tf.constant(2)

    def cube(x, n):
        return (x**3 * tf.cast(n, tf.float32), n) if x > 0 else (-x, n)

    y, _ = tf.py_function(cube, [x, n], [tf.float32, tf.int32])
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    (third,) = tf.gradients(second, x)
    with tf.Session() as session:
        assert session.run([y, first, second, third], {x: 2.0}) == [16.0, 24.0, 24.0, 12.0]
        assert session.run([y, first, second, third], {x: -1.0}) == [1.0, -1.0, 0.0, 0.0]
