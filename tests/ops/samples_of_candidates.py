"""Samples of candidate samplers, whose numbers `test_candidates.py` holds to TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i64

__all__ = ["SAMPLERS"]

SAMPLERS = {
    "FixedUnigramCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler",
    "UniformCandidateSampler",
}
"""Ops that draw: they have no reference."""

_SEEDS: dict[str, Any] = {"seed": 3, "seed2": 5}


def _form(true: Any, **attrs: Any) -> Callable[[Any], Any]:
    columns = np.shape(true)[1]
    return lambda v: case(np.array(true, np.int64), num_true=columns, **attrs)


def _forms(**attrs: Any) -> list[Callable[[Any], Any]]:
    return [
        _form([[1, 2], [3, 4]], num_sampled=5, unique=True, **attrs),
        _form([[1], [3], [6]], num_sampled=9, unique=False, **attrs),
        _form(np.zeros((0, 2)), num_sampled=3, unique=True, **attrs),
    ]


for _name in SAMPLERS - {"FixedUnigramCandidateSampler"}:
    add(_name, *_forms(range_max=7, **_SEEDS), types=[dtypes.int64])
add(
    "FixedUnigramCandidateSampler",
    *_forms(range_max=7, unigrams=[4.0, 1.0, 2.0, 1.0, 1.0, 9.0], num_reserved_ids=1, **_SEEDS),
    types=[dtypes.int64],
)


def _all(true: Any, num_sampled: int, **_: Any) -> Any:
    return np.arange(num_sampled), np.ones(true.shape, "f"), np.ones(num_sampled, "f")


add(
    "AllCandidateSampler",
    _form([[1, 2], [3, 4]], num_sampled=5, unique=True),
    _form(np.zeros((0, 1)), num_sampled=2, unique=True),
    reference=_all,
    types=[dtypes.int64],
)


def _hits(true: Any, candidates: Any, **_: Any) -> Any:
    hits = [
        (row, list(candidates).index(label))
        for row, labels in enumerate(true)
        for label in labels
        if label in candidates
    ]
    rows, places = np.array(hits, np.int64).reshape(-1, 2).T
    least = np.full(len(rows), -np.finfo(np.float32).max, np.float32)
    return rows.astype(np.int32), places, least


add(
    "ComputeAccidentalHits",
    lambda v: case(np.array([[1, 2], [7, 4]]), i64(4, 9, 1, 2), num_true=2),
    lambda v: case(np.array([[1], [2]]), i64(), num_true=1),
    reference=_hits,
    types=[dtypes.int64],
)
