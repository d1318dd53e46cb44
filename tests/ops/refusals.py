"""Cases of errors of ops while a graph is built and in a run, with the words of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

__all__ = ["at_build", "in_run"]


def at_build(make: Callable[[], Any], message: str, error: type[Exception] = ValueError) -> None:
    """Building the graph raises `error`, whose message has `message`."""
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        make()


def in_run(
    make: Callable[..., Any],
    message: str,
    *fed: Any,
    error: type[Exception] = tf.errors.InvalidArgumentError,
) -> None:
    """`make`, of placeholders of unknown shape for the values `fed`, builds; its run raises."""
    with tf.Graph().as_default(), tf.Session() as session:
        arrays = [np.asarray(value, None if np.size(value) else np.float32) for value in fed]
        types = [np.float32 if array.dtype.kind == "f" else np.int32 for array in arrays]
        inputs = [tf.placeholder(dtype) for dtype in types]
        outputs = make(*inputs)
        with pytest.raises(error, match=message):
            session.run(outputs, dict(zip(inputs, arrays, strict=True)))
