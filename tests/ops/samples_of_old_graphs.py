"""Samples of op types that only graphs of old producers have."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case

__all__ = ["NORMED"]

_FLOAT = np.float32


def _contrast(images: Any, factor: Any, least: Any, most: Any) -> Any:
    wide = images.astype(np.float64)
    mean = wide.mean((-3, -2), keepdims=True)
    return np.clip((wide - mean) * factor + mean, least, most).astype(_FLOAT)


add(
    "AdjustContrast",
    lambda v: case(v(2, 3, 4, 2), _FLOAT(2), _FLOAT(-1), _FLOAT(1)),
    lambda v: case(v(3, 2, 1), _FLOAT(0.5), _FLOAT(-9), _FLOAT(9)),
    lambda v: case(v(0, 3, 2, 1), _FLOAT(0.5), _FLOAT(-9), _FLOAT(9)),
    reference=_contrast,
    tolerance=8,
)


def _top(rows: Any, k: int, sorted: bool = True) -> Any:
    order = np.array(
        [sorted_row[:k] for sorted_row in
         (_sorted(row) for row in rows.reshape(-1, rows.shape[-1]).tolist())], np.int32
    ).reshape(*rows.shape[:-1], k)  # fmt: skip
    return np.take_along_axis(rows, order, -1), order


def _sorted(row: list[Any]) -> list[int]:
    return sorted(range(len(row)), key=lambda place: (-row[place], place))


add(
    "TopK",
    lambda v: case(v(2, 5), k=2),
    lambda v: case(np.repeat(v(3), 2), k=4),
    lambda v: case(v(2, 3), k=0),
    reference=_top,
)

NORMED: dict[str, Any] = {"variance_epsilon": 0.25, "scale_after_normalization": True}


def _factor(variance: Any, gamma: Any, variance_epsilon: float, scale: bool) -> Any:
    return (gamma if scale else 1) / np.sqrt(variance + variance_epsilon)


def _normed(
    x: Any, m: Any, v: Any, beta: Any, gamma: Any, variance_epsilon: float,
    scale_after_normalization: bool,
) -> Any:  # fmt: skip
    return (x - m) * _factor(v, gamma, variance_epsilon, scale_after_normalization) + beta


def _normed_back(
    x: Any, m: Any, v: Any, gamma: Any, dy: Any, variance_epsilon: float,
    scale_after_normalization: bool,
) -> Any:  # fmt: skip
    factor = _factor(v, gamma, variance_epsilon, scale_after_normalization)
    over = 1 / np.sqrt(v + variance_epsilon)
    along = (dy * (x - m)).sum((0, 1, 2))
    db = dy.sum((0, 1, 2))
    dg = along * over if scale_after_normalization else np.zeros_like(v)
    return dy * factor, -db * factor, -along * factor / (v + variance_epsilon) / 2, db, dg


_UNSCALED = {**NORMED, "scale_after_normalization": False}
_REAL = [dtypes.float64, dtypes.float32, dtypes.float16, dtypes.bfloat16]
for _attrs in (NORMED, _UNSCALED):
    add(
        "BatchNormWithGlobalNormalization",
        lambda v, a=_attrs: case(v(2, 3, 2, 4), v(4), abs(v(4)), v(4), v(4), **a),
        lambda v, a=_attrs: case(v(0, 3, 2, 4), v(4), abs(v(4)), v(4), v(4), **a),
        reference=_normed,
        types=_REAL,
        tolerance=8,
    )
    add(
        "BatchNormWithGlobalNormalizationGrad",
        lambda v, a=_attrs: case(v(2, 3, 2, 4), v(4), abs(v(4)), v(4), v(2, 3, 2, 4), **a),
        lambda v, a=_attrs: case(v(0, 3, 2, 4), v(4), abs(v(4)), v(4), v(0, 3, 2, 4), **a),
        reference=_normed_back,
        types=_REAL,
        tolerance=32,
    )


def _eig(matrices: Any) -> Any:
    values, vectors = np.linalg.eigh(matrices.astype(np.float64))
    return np.concatenate([values[..., None, :], vectors], -2).astype(matrices.dtype)


for _name in ("SelfAdjointEig", "BatchSelfAdjointEig"):
    add(
        _name,
        lambda v: case(np.diag(np.arange(3)).astype(v.dtype.as_numpy_dtype)),
        lambda v: case(v(0, 2, 2)),
        reference=_eig,
        tolerance=8,
    )
for _name in ("Conv3DBackpropInput", "Conv3DBackpropFilter"):
    add(
        _name,
        lambda v: case(
            v(1, 2, 2, 2, 1), v(1, 1, 1, 1, 2), v(1, 2, 2, 2, 2), strides=[1] * 5, padding="VALID"
        ),
        lambda v: case(
            v(0, 2, 2, 2, 1), v(1, 1, 1, 1, 2), v(0, 2, 2, 2, 2), strides=[1] * 5, padding="VALID"
        ),
        reference=(
            (lambda x, w, dy, **_: np.einsum("ndhwo,abcio->ndhwi", dy, w))
            if _name.endswith("Input")
            else (lambda x, w, dy, **_: np.einsum("ndhwi,ndhwo->io", x, dy)[None, None, None])
        ),
        tolerance=16,
    )
