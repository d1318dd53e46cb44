"""Ops on an emulated GPU and on the CPU, which has to find the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpugraph as tf

from .emulated import on_gpu

__all__ = ["check", "gradients", "numbers"]


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    """Return numbers of either sign, no two next to each other alike."""
    return np.random.default_rng(sum(shape)).normal(0, 1, shape).astype(dtype)


def gradients(make: Any) -> Any:
    """Return a function that adds the gradients by all arguments, weighted so that none is 0."""

    def both(*inputs: Any) -> list[Any]:
        result = make(*inputs)
        weight = np.linspace(0.5, 2, int(np.prod(result.shape.as_list()))).reshape(
            result.shape.as_list()
        )
        return [result, *tf.gradients(result * tf.cast(weight, result.dtype), list(inputs))]

    return both


def check(make: Any, *values: Any, within: float = 2e-5) -> None:
    """Check that `make` gives the same on both devices, and that all of it runs on the GPU."""
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(value.dtype, value.shape) for value in values]
        wanted = session.run(make(*feeds), dict(zip(feeds, values, strict=True)))
    result = on_gpu(make, *values)
    for one, other in zip(
        result if isinstance(result, list) else [result],
        wanted if isinstance(wanted, list) else [wanted],
        strict=True,
    ):
        assert one.dtype == other.dtype
        other = other.astype(np.float64)
        scale = max(1.0, float(np.abs(other).max(initial=0)))
        np.testing.assert_allclose(one, other, rtol=within, atol=within * scale)
