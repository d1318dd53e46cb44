"""Shared parts of the tests of networks: inputs, weights by name, and runs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.base.nest import flatten

__all__ = ["BATCH", "DEPTH", "LENGTHS", "STEPS", "X", "close", "numbers", "run", "weights"]

BATCH, STEPS, DEPTH = 3, 5, 4
LENGTHS = [2, 5, 0]


def numbers(name: str, *shape: int) -> Any:
    """Return numbers in [-0.8, 0.8), always the same for a name."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.uniform(-0.8, 0.8, shape).astype(np.float32)


X = numbers("x", BATCH, STEPS, DEPTH)


def weights(name: str) -> Any:
    """Return the value that `run` assigns to the trainable variable of this name."""
    for variable in tf.trainable_variables():
        if variable.op.name == name:
            return numbers(name, *variable.shape.as_list())
    raise KeyError(name)


def run(fetches: Any, feeds: Any = None) -> Any:
    """Assign all trainable variables their numbers, and run the fetches."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.trainable_variables():
            variable.load(weights(variable.op.name), session)
        return session.run(fetches, feeds)


def close(actual: Any, expected: Any, tolerance: float = 2e-5) -> None:
    """Refuses numbers that differ, at any place of two nested structures."""
    ours, theirs = flatten(actual), flatten(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
