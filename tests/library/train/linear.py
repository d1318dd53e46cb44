"""A linear regression to train: as a graph, and its loss's gradients in NumPy."""

from __future__ import annotations

import numpy as np

import gpugraph as tf

RNG = np.random.default_rng(7)
X = RNG.normal(size=(16, 3)).astype(np.float32)
Y = RNG.normal(size=(16, 2)).astype(np.float32)
W = RNG.normal(size=(3, 2)).astype(np.float32)
B = RNG.normal(size=2).astype(np.float32)


class Linear:
    """mean((x @ w + b - y) ** 2), its variables in float32 or `dtype`."""

    def __init__(self, dtype: tf.DType = tf.float32) -> None:
        kind = dtype.as_numpy_dtype
        self.w = tf.Variable(W.astype(kind), name="w")
        self.b = tf.Variable(B.astype(kind), name="b")
        errors = tf.matmul(X.astype(kind), self.w) + self.b - Y.astype(kind)
        self.loss = tf.reduce_mean(tf.square(errors), name="loss")


def gradients(w: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """Return the loss's gradients by w and b, in float32."""
    errors = (X @ w + b - Y) * np.float32(2 / Y.size)
    return [X.T @ errors, errors.sum(0)]


def train(optimizer: tf.train.Optimizer, steps: int = 50) -> list[np.ndarray]:
    """Return w and b after `steps` steps of `optimizer`."""
    with tf.Graph().as_default():
        model = Linear()
        step = optimizer.minimize(model.loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(step)
            return session.run([model.w, model.b])
