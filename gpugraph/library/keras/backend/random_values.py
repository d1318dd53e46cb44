"""Random tensors, with Keras's names and arguments. NumPy's generator draws a seed if none is
passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.random import random_ops

_NUM_SEEDS = 10_000_000


def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Return normally distributed numbers of shape `shape`. The default dtype is `floatx()`."""
    return random_ops.random_normal(shape, mean, stddev, dtype or floatx(), random_seed(seed))


def random_uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Return numbers that are uniformly distributed in [minval, maxval).

    The default dtype is `floatx()`.
    """
    return random_ops.random_uniform(shape, minval, maxval, dtype or floatx(), random_seed(seed))


def random_binomial(
    shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Return a tensor of zeros and ones. Each element is 1 with probability `p`.

    The default dtype is `floatx()`.
    """
    dtype = dtype or floatx()
    chances = random_ops.random_uniform(shape, dtype=dtype, seed=random_seed(seed))
    return where(chances <= p, ones(shape, dtype=dtype), zeros(shape, dtype=dtype))


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Return normally distributed numbers.

    A number beyond two standard deviations from the mean is drawn again.
    """
    return random_ops.truncated_normal(shape, mean, stddev, dtype or floatx(), random_seed(seed))


def random_seed(seed: int | None) -> int:
    """Return `seed`. If `seed` is None, return a seed from NumPy's global generator."""
    return int(np.random.randint(_NUM_SEEDS)) if seed is None else seed
