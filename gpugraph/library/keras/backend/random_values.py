"""Tensors of random numbers as Keras makes them: a seed that is not given is NumPy's next."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.ops.arrays.constants_and_placeholders import ones, zeros
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.random import random_ops

_MOST_SEEDS = 10_000_000


def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Normally distributed numbers of `shape`, of `floatx()` by default."""
    return random_ops.random_normal(shape, mean, stddev, dtype or floatx(), random_seed(seed))


def random_uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Numbers of `shape` from minval to maxval, without the latter; `floatx()` by default."""
    return random_ops.random_uniform(shape, minval, maxval, dtype or floatx(), random_seed(seed))


def random_binomial(
    shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Ones with the probability `p`, and zeros; of `floatx()` by default."""
    dtype = dtype or floatx()
    chances = random_ops.random_uniform(shape, dtype=dtype, seed=random_seed(seed))
    return where(chances <= p, ones(shape, dtype=dtype), zeros(shape, dtype=dtype))


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """As `random_normal`, without what is more than two standard deviations from the mean."""
    return random_ops.truncated_normal(shape, mean, stddev, dtype or floatx(), random_seed(seed))


def random_seed(seed: int | None) -> int:
    """The seed, or where there is none a number that NumPy draws."""
    return int(np.random.randint(_MOST_SEEDS)) if seed is None else seed
