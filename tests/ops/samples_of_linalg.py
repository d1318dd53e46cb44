"""Samples of the ops on matrices: diagonals, inverses, factors.

Where a kernel reads one triangle of a symmetric matrix only, its gradient, which is by the
symmetric matrix, is no slope of it: such samples are not smooth, and matrices of one element are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, representatives

__all__ = ["MATRICES"]

MATRICES = representatives((dtypes.float64, dtypes.float32, dtypes.complex64))
"""The dtypes of matrices that can be taken apart."""

REALS = representatives((dtypes.float64, dtypes.float32))
LOOSE = 200
"""How many times the usual error LAPACK may have in single precision."""

# -- diagonals


def _embedded(diagonal: Any) -> Any:
    out = np.zeros((*diagonal.shape, diagonal.shape[-1]), diagonal.dtype)
    if diagonal.dtype == object:
        out[...] = b""
    index = np.arange(diagonal.shape[-1])
    out[..., index, index] = diagonal
    return out


def _with_diagonal(matrices: Any, diagonal: Any) -> Any:
    out = matrices.copy()
    index = np.arange(diagonal.shape[-1])
    out[..., index, index] = diagonal
    return out


_MATRICES: list[Any] = [
    lambda v: case(v(2, 3)),
    lambda v: case(v(2, 2, 2)),
    lambda v: case(v(3, 1)),
    lambda v: case(v(2, 0, 2)),
    lambda v: case(v(4, 2, 3)),
]
add(
    "MatrixDiag",
    lambda v: case(v(2, 3)),
    lambda v: case(v(1)),
    lambda v: case(v(0)),
    lambda v: case(v(2, 1, 2)),
    reference=_embedded,
)
add("MatrixDiagPart", *_MATRICES, reference=lambda x: np.diagonal(x, axis1=-2, axis2=-1))
add(
    "MatrixSetDiag",
    lambda v: case(v(2, 3), v(2)),
    lambda v: case(v(2, 3, 3), v(2, 3)),
    lambda v: case(v(2, 0, 2), v(2, 0)),
    lambda v: case(v(3, 1), v(1)),
    reference=_with_diagonal,
)


def _numbers(k: Any) -> tuple[int, int]:
    return int(np.ravel(k)[0]), int(np.ravel(k)[-1])


def _placed(out: Any, diagonals: Any, k: Any) -> Any:
    low, high = _numbers(k)
    for row, number in enumerate(range(high, low - 1, -1)):
        values = diagonals if low == high else diagonals[..., row, :]
        count = min(out.shape[-2] + min(number, 0), out.shape[-1] - max(number, 0))
        for index in range(count):
            out[..., index - min(number, 0), index + max(number, 0)] = values[..., index]
    return out


def _diag_v2(diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any) -> Any:
    low, high = _numbers(k)
    length = diagonal.shape[-1]
    least = length - min(high, 0), length + max(low, 0)
    rows, columns = int(rows), int(columns)
    if rows == columns == -1:
        rows = columns = max(least)
    shape = (least[0] if rows == -1 else rows, least[1] if columns == -1 else columns)
    batch = diagonal.shape[:-1] if low == high else diagonal.shape[:-2]
    return _placed(np.full((*batch, *shape), padding, diagonal.dtype), diagonal, k)


def _part_v2(matrices: Any, k: Any, padding: Any) -> Any:
    low, high = _numbers(k)
    lengths = {
        n: min(matrices.shape[-2] + min(n, 0), matrices.shape[-1] - max(n, 0))
        for n in range(low, high + 1)
    }
    shape = (*matrices.shape[:-2], high - low + 1, max(lengths.values()))
    out = np.full(shape, padding, matrices.dtype)
    for row, number in enumerate(range(high, low - 1, -1)):
        out[..., row, : lengths[number]] = np.diagonal(matrices, number, -2, -1)
    return out[..., 0, :] if low == high else out


def _one(value: int) -> Any:
    return np.array(value, np.int32)


add(
    "MatrixDiagV2",
    lambda v: case(v(2, 3), _one(1), _one(-1), _one(-1), v()),
    lambda v: case(v(2, 3), i32(-1, 0), _one(-1), _one(-1), v()),
    lambda v: case(v(2), _one(-1), _one(3), _one(4), v()),
    lambda v: case(v(2, 2, 2), i32(1, 2), _one(2), _one(-1), v()),
    lambda v: case(v(0, 2), _one(0), _one(-1), _one(-1), v()),
    reference=_diag_v2,
)
add(
    "MatrixDiagPartV2",
    lambda v: case(v(3, 4), _one(1), v()),
    lambda v: case(v(2, 3, 2), i32(-1, 1), v()),
    lambda v: case(v(3, 3), i32(-2, -1), v()),
    lambda v: case(v(0, 3, 3), _one(-1), v()),
    reference=_part_v2,
)
add(
    "MatrixSetDiagV2",
    lambda v: case(v(3, 4), v(3), _one(1)),
    lambda v: case(v(2, 3, 2), v(2, 2, 2), i32(-1, 0)),
    lambda v: case(v(0, 3, 3), v(0, 2), _one(-1)),
    reference=lambda x, diagonal, k: _placed(x.copy(), diagonal, k),
)


def _band(x: Any, lower: Any, upper: Any) -> Any:
    rows, columns = x.shape[-2:]
    above = np.arange(columns) - np.arange(rows)[:, None]
    kept = ((lower < 0) | (above >= -lower)) & ((upper < 0) | (above <= upper))
    return np.where(kept, x, np.zeros((), x.dtype) if x.dtype != object else b"")


add(
    "MatrixBandPart",
    lambda v: case(v(3, 4), np.array(1), np.array(0)),
    lambda v: case(v(2, 3, 3), np.array(-1), np.array(1)),
    lambda v: case(v(3, 2), _one(0), _one(-1)),
    lambda v: case(v(0, 2), _one(0), _one(1)),
    reference=_band,
)
add(
    "Diag",
    lambda v: case(v(2, 2)),
    lambda v: case(v(3)),
    lambda v: case(v(0)),
    reference=lambda x: np.diag(x.reshape(-1)).reshape(x.shape * 2),
)
add(
    "DiagPart",
    lambda v: case(v(2, 3, 2, 3)),
    lambda v: case(v(3, 3)),
    lambda v: case(v(0, 0)),
    reference=lambda x: np.diag(x.reshape(-1, max(int(np.sqrt(x.size)), 1)))[
        : int(np.sqrt(x.size))
    ].reshape(x.shape[: x.ndim // 2]),
)
add(
    "Cross",
    lambda v: case(v(2, 3), v(2, 3)),
    lambda v: case(v(3), v(3)),
    lambda v: case(v(0, 3), v(0, 3)),
    reference=lambda a, b: np.stack(
        [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], -1
    ).astype(a.dtype),
)

# -- square matrices


def regular(v: Any, *shape: int) -> Any:
    """Matrices that are far from singular."""
    eye = np.eye(shape[-2], shape[-1]) * 3 * np.arange(1, shape[-1] + 1)
    return (v(*shape) + eye).astype(v.dtype.as_numpy_dtype)


def definite(v: Any, *shape: int) -> Any:
    """Positive definite matrices."""
    x = v(*shape)
    result = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])
    return result.astype(v.dtype.as_numpy_dtype)


def _adjoint(x: Any, turned: bool = True) -> Any:
    return np.conj(np.swapaxes(x, -1, -2)) if turned else x


_SQUARE: list[Any] = [
    lambda v: case(regular(v, 3, 3)),
    lambda v: case(regular(v, 2, 2, 2)),
    lambda v: case(v(1, 1)),
    lambda v: case(v(0, 2, 2)),
    lambda v: case(v(2, 0, 0)),
]
add(
    "MatrixInverse",
    *_SQUARE,
    lambda v: case(regular(v, 2, 3, 3), adjoint=True),
    reference=lambda x, adjoint=False: np.linalg.inv(_adjoint(x, adjoint)),
    types=MATRICES,
    tolerance=LOOSE,
)
add("MatrixDeterminant", *_SQUARE, reference=np.linalg.det, types=MATRICES, tolerance=LOOSE)
add(
    "LogMatrixDeterminant",
    lambda v: case(regular(v, 2, 2), smooth=v.dtype is not dtypes.complex64),
    *_SQUARE[1:],
    reference=lambda x: tuple(np.linalg.slogdet(x)),
    types=MATRICES,
    tolerance=LOOSE,
)
add(
    "Cholesky",
    lambda v: case(definite(v, 3, 3), smooth=False),
    lambda v: case(definite(v, 2, 2, 2), smooth=False),
    lambda v: case(definite(v, 2, 1, 1), smooth=v.dtype is not dtypes.complex64),
    lambda v: case(v(0, 2, 2)),
    reference=np.linalg.cholesky,
    types=MATRICES,
    tolerance=LOOSE,
)
add(
    "MatrixSolve",
    lambda v: case(regular(v, 2, 2), v(2, 3)),
    lambda v: case(regular(v, 2, 3, 3), v(2, 3, 1)),
    lambda v: case(regular(v, 2, 2), v(2, 3), adjoint=True),
    lambda v: case(regular(v, 2, 2), v(2, 0)),
    reference=lambda a, b, adjoint=False: np.linalg.solve(_adjoint(a, adjoint), b),
    types=MATRICES,
    tolerance=LOOSE,
)


def _triangular(a: Any, b: Any, lower: bool = True, adjoint: bool = False) -> Any:
    return np.linalg.solve(_adjoint(np.tril(a) if lower else np.triu(a), adjoint), b)


add(
    "MatrixTriangularSolve",
    lambda v: case(regular(v, 2, 2), v(2, 3)),
    lambda v: case(regular(v, 2, 3, 3), v(2, 3, 1), lower=False),
    lambda v: case(regular(v, 2, 2), v(2, 3), adjoint=True),
    lambda v: case(regular(v, 2, 2), v(2, 1), adjoint=True, lower=False),
    lambda v: case(v(0, 2, 2), v(0, 2, 1)),
    reference=_triangular,
    types=MATRICES,
    tolerance=LOOSE,
)

# -- factors


def spread(v: Any, *shape: int) -> Any:
    """Matrices whose singular values are not close to each other."""
    return regular(v, *shape)


def _svd(x: Any, compute_uv: bool = True, full_matrices: bool = False) -> Any:
    if not compute_uv:
        nothing = np.zeros(0, x.dtype)
        return np.linalg.svd(x, compute_uv=False), nothing, nothing
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    return s, u, _adjoint(vh)


add(
    "Svd",
    lambda v: case(spread(v, 3, 2), smooth=v.dtype is not dtypes.complex64),
    lambda v: case(spread(v, 2, 2, 3)),
    lambda v: case(spread(v, 2, 2), compute_uv=False),
    lambda v: case(spread(v, 3, 2), full_matrices=True),
    lambda v: case(spread(v, 2, 2), full_matrices=True),
    lambda v: case(spread(v, 4, 2), full_matrices=True, smooth=False),
    lambda v: case(v(0, 3)),
    reference=_svd,
    types=MATRICES,
    tolerance=LOOSE,
)
add(
    "Qr",
    lambda v: case(spread(v, 3, 2), smooth=v.dtype is not dtypes.complex64),
    lambda v: case(spread(v, 2, 2, 2)),
    lambda v: case(spread(v, 2, 3), smooth=False),
    lambda v: case(spread(v, 3, 2), full_matrices=True, smooth=False),
    lambda v: case(v(0, 2, 2)),
    lambda v: case(v(0, 3), full_matrices=True, smooth=False),
    reference=lambda x, full_matrices=False: tuple(
        np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    ),
    types=MATRICES,
    tolerance=LOOSE,
)


def _eig(x: Any, compute_v: bool = True) -> Any:
    if not compute_v:
        return np.linalg.eigvalsh(x).astype(x.dtype), np.zeros(0, x.dtype)
    e, v = np.linalg.eigh(x)
    return e.astype(x.dtype), v


add(
    "SelfAdjointEigV2",
    lambda v: case(definite(v, 3, 3), smooth=v.dtype is not dtypes.complex64),
    lambda v: case(definite(v, 2, 2, 2)),
    lambda v: case(definite(v, 3, 3), compute_v=False, smooth=v.dtype is not dtypes.complex64),
    lambda v: case(v(0, 2, 2)),
    reference=_eig,
    types=MATRICES,
    tolerance=LOOSE,
)


def _least_squares(a: Any, b: Any, weight: Any, fast: bool = True) -> Any:
    gram = _adjoint(a) @ a + float(weight) * np.eye(a.shape[-1])
    if fast or weight:
        return np.linalg.solve(gram, _adjoint(a) @ b) if weight else np.linalg.pinv(a) @ b
    return np.linalg.pinv(a) @ b


add(
    "MatrixSolveLs",
    lambda v: case(spread(v, 3, 2), v(3, 1), np.array(0.0), smooth=v.dtype is not dtypes.complex64),
    lambda v: case(spread(v, 3, 2), v(3, 2), np.array(0.5)),
    lambda v: case(spread(v, 2, 3), v(2, 2), np.array(0.5)),
    lambda v: case(spread(v, 3, 2), v(3, 2), np.array(0.0), fast=False),
    lambda v: case(v(0, 2, 2), v(0, 2, 1), np.array(0.0)),
    reference=_least_squares,
    types=MATRICES,
    tolerance=LOOSE,
)
