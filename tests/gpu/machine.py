"""The GPUs of the tests in this folder: CUDA's first one, or emulated GPUs.

GPUGRAPH_VIRTUAL_GPUS=emulated asks for the latter, which are slow: tests do less on them. Without
it and without a GPU all of them are skipped (tests/conftest.py), with the detection's reason.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

import gpugraph as tf

__all__ = [
    "EMULATED",
    "MOST_OPS",
    "check",
    "chosen",
    "graph_options",
    "network",
    "numbers",
    "on_gpus",
]

EMULATED = os.environ.get("GPUGRAPH_VIRTUAL_GPUS") == "emulated"

MOST_OPS = int(os.environ.get("GPUGRAPH_TEST_OPS", "36" if EMULATED else "0"))
"""How many ops a test over all ops takes; 0 for all of them, and for all layers."""

TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
TOLERANCE |= {"complex64": 2e-5, "complex128": 1e-11}
"""How far a GPU's numbers may be from the CPU's, to the number and to 1."""


def on_gpus(count: int = 1, megabytes: int = 256, **settings: Any) -> tf.Session:
    """Return a session with `count` GPUs of `megabytes` each: parts of one, where they are real."""
    limits = [megabytes] * count
    if EMULATED:
        options = tf.GPUOptions(emulated_gpus=limits)
    else:
        parts = tf.GPUOptions.Experimental.VirtualDevices(memory_limit_mb=limits)
        experimental = tf.GPUOptions.Experimental(virtual_devices=[parts])
        options = tf.GPUOptions(visible_device_list="0", experimental=experimental)
    return tf.Session(config=tf.ConfigProto(gpu_options=options, **settings))


def graph_options() -> tf.GraphOptions:
    """Switch rewrites off: nothing is folded or removed, so that every fetched op runs."""
    return tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))


def chosen(names: Sequence[str]) -> list[str]:
    """All of them, or as many as there is time for, evenly spread."""
    step = -(-len(names) // MOST_OPS) if MOST_OPS else 1
    return list(names[::step])


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def network() -> tuple[Any, Any, dict[Any, Any]]:
    """Return a small network's loss, its training step, and a batch."""
    x, y = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, tf.Variable(numbers(12, 16))) + tf.Variable(tf.zeros([16])))
    logits = tf.matmul(hidden, tf.Variable(numbers(16, 5, seed=1)))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    return loss, step, {x: numbers(20, 12, seed=2), y: np.arange(20) % 5}


def check(result: Any, wanted: Any, times: float = 1) -> None:
    """AssertionError unless two arrays are of one kind and agree as their dtype allows."""
    result, wanted = np.asarray(result), np.asarray(wanted)
    assert result.dtype == wanted.dtype, f"{result.dtype} instead of {wanted.dtype}"
    assert result.shape == wanted.shape, f"{result.shape} instead of {wanted.shape}"
    error = TOLERANCE.get(result.dtype.name)
    if error is None:
        assert result.tolist() == wanted.tolist(), f"{result} instead of {wanted}"
        return
    if result.dtype.name == "bfloat16":
        result, wanted = result.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_allclose(result, wanted, times * error, times * error)
