"""Generated kernels for ci/sass.py: the sources of small graphs on an emulated GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "ci")]

import numpy as np  # noqa: E402
from cuda_corpus import OPTIONS, recording  # noqa: E402

import gpugraph as tf  # noqa: E402

__all__ = ["PROGRAMS", "generated_text"]


Built = tuple[Any, dict[Any, Any]]


def _program(make: Callable[[Any], Any], *shape: int, dtype: Any = np.float32) -> Built:
    x = tf.placeholder(dtype, shape)
    return make(x), {x: np.zeros(shape, dtype)}


PROGRAMS: dict[str, Callable[[], Built]] = {
    "elementwise 16": lambda: _program(lambda x: tf.tanh(x) * 2.0, 1024, 1024, dtype="half"),
    "elementwise 32": lambda: _program(lambda x: tf.tanh(x) * 2.0, 1024, 1024),
    "softmax 32 of long rows": lambda: _program(tf.nn.softmax, 16, 100_000),
    "softmax 16": lambda: _program(tf.nn.softmax, 4096, 1024, dtype="half"),
    "column sums 16": lambda: _program(lambda x: tf.reduce_sum(x, 0), 16384, 1024, dtype="half"),
    "column sums 32": lambda: _program(lambda x: tf.reduce_sum(x, 0), 16384, 1024),
    "row sums 16": lambda: _program(lambda x: tf.reduce_sum(x, 1), 16384, 1024, dtype="half"),
}
"""Graphs of one generated kernel, or of several, of which the first one counts."""


@cache
def _texts() -> dict[str, str]:
    texts = {}
    for name, build in PROGRAMS.items():
        with recording() as found, tf.Graph().as_default():
            result, feed = build()
            with tf.Session(config=OPTIONS) as session:
                session.run(result, feed)  # this waits for the compilations
        texts[name] = next(iter(found))
    return texts


def generated_text(name: str) -> str:
    """Return the source of a graph of `PROGRAMS`."""
    return _texts()[name]
