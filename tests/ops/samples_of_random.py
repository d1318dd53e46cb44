"""Samples of random ops, whose numbers `test_random.py` holds to TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_candidates import SAMPLERS
from .sampling import add, case, i32, i64

__all__ = ["RANDOM"]

_FILLING = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
_STATELESS = ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
RANDOM = {
    *_FILLING,
    *_STATELESS,
    *SAMPLERS,
    "Multinomial",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomUniformInt",
    "SampleDistortedBoundingBoxV2",
    "StatelessMultinomial",
    "StatelessRandomUniformInt",
}
"""Ops whose numbers differ by dtype and have no reference."""

_SEEDS: dict[str, Any] = {"seed": 3, "seed2": 5}


def _bounds(v: Any, *bounds: int) -> list[Any]:
    return [np.array(bound, v.dtype.as_numpy_dtype) for bound in bounds]


def _positive(v: Any, *shape: int) -> Any:
    return abs(v(*shape))


for _name in _FILLING:
    add(
        _name,
        lambda v: case(i32(2, 3), dtype=v.dtype, **_SEEDS),
        lambda v: case(i64(), dtype=v.dtype, **_SEEDS),
        lambda v: case(i32(0, 3), dtype=v.dtype, **_SEEDS),
        types=dtypes.FLOATING,
    )
for _name in _STATELESS:
    add(
        _name,
        lambda v: case(i32(2, 3), i64(7, -9), dtype=v.dtype),
        lambda v: case(i64(), i32(7, -9), dtype=v.dtype),
        lambda v: case(i32(0, 3), i32(7, -9), dtype=v.dtype),
        types=dtypes.FLOATING,
    )
add(
    "RandomUniformInt",
    lambda v: case(i32(2, 3), *_bounds(v, -3, 9), **_SEEDS),
    lambda v: case(i64(), *_bounds(v, 0, 1), **_SEEDS),
    lambda v: case(i32(0, 3), *_bounds(v, 0, 1), **_SEEDS),
    types=[dtypes.int32, dtypes.int64],
)
add(
    "StatelessRandomUniformInt",
    lambda v: case(i32(2, 3), i64(7, -9), *_bounds(v, -3, 9)),
    lambda v: case(i64(), i32(7, -9), *_bounds(v, 0, 1)),
    lambda v: case(i32(0, 3), i32(7, -9), *_bounds(v, 0, 1)),
    types=[dtypes.int32, dtypes.int64],
)
add(
    "Multinomial",
    lambda v: case(v(2, 3), np.array(5, np.int32), output_dtype=dtypes.int64, **_SEEDS),
    lambda v: case(v(1, 3), np.array(80, np.int32), output_dtype=dtypes.int32, **_SEEDS),
    lambda v: case(v(0, 3), np.array(5, np.int32), output_dtype=dtypes.int64, **_SEEDS),
)
add(
    "StatelessMultinomial",
    lambda v: case(v(2, 3), np.array(5, np.int32), i64(7, -9), output_dtype=dtypes.int64),
    lambda v: case(v(1, 3), np.array(80, np.int32), i32(7, -9), output_dtype=dtypes.int32),
    lambda v: case(v(0, 3), np.array(5, np.int32), i32(7, -9), output_dtype=dtypes.int64),
)
add(
    "RandomShuffle",
    lambda v: case(v(7), **_SEEDS),
    lambda v: case(v(4, 3), **_SEEDS),
    lambda v: case(v(), **_SEEDS),
    lambda v: case(v(4, 0), **_SEEDS),
)
add(
    "RandomGamma",
    lambda v: case(i32(2, 3), _positive(v, 2), smooth=False, **_SEEDS),
    lambda v: case(i64(), _positive(v), smooth=False, **_SEEDS),
    lambda v: case(i32(0, 3), _positive(v, 2), smooth=False, **_SEEDS),
)
add(
    "RandomPoissonV2",
    lambda v: case(i32(2, 3), _positive(v, 2), dtype=dtypes.float32, **_SEEDS),
    lambda v: case(i64(), _positive(v), dtype=dtypes.int64, **_SEEDS),
    lambda v: case(i32(0, 3), _positive(v, 2), dtype=dtypes.float64, **_SEEDS),
)
