"""Parts of the programs: weights, feeds, and a step of training."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

Feeds = dict[Any, Any]

Program = tuple[Sequence[Any], Callable[[Random], Feeds]]
"""The fetches of a program, and a function that draws feeds."""

WIDTH = 24


def weights(tf: Any, name: str, *shape: int, scale: float = 0.1) -> Any:
    """Return a variable with random numbers that depend on its name."""
    numbers = np.random.RandomState(zlib.crc32(name.encode())).randn(*shape) * scale
    return tf.get_variable(name, initializer=numbers.astype("f"))


def uniform(*shape: int) -> Any:
    """Return random numbers of 0 to 1."""
    return np.random.rand(*shape).astype("f")


def numbers(high: int, *shape: int) -> Any:
    """Return random integers below `high`."""
    return np.random.randint(0, high, shape).astype("i")


def train(tf: Any, loss: Any, rate: float = 0.01) -> Any:
    """Return the operation of a step of training."""
    return tf.train.GradientDescentOptimizer(rate).minimize(loss)


def rnn_cell(tf: Any, kind: str, units: int) -> Any:
    """Return a cell of a recurrent network."""
    return getattr(tf.nn.rnn_cell, f"{kind}Cell")(units)
