"""Samples of functions of whole matrices, of triangles, and of matrices of three diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_linalg import LOOSE, MATRICES, definite, regular
from .sampling import add, case

__all__ = ["three_diagonals"]


def _power_series(x: Any) -> Any:
    term = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    total = term.copy()
    for k in range(1, 80):
        term = term @ x / k
        total = total + term
    return total


def _by_eigenvalues(function: Any) -> Any:
    def reference(x: Any) -> Any:
        values, vectors = np.linalg.eig(x)
        result = vectors * function(values.astype(complex))[..., None, :] @ np.linalg.inv(vectors)
        return result.astype(x.dtype) if x.dtype.kind == "c" else result.real.astype(x.dtype)

    return reference


for _name, _reference, _types in (
    ("MatrixExponential", _power_series, MATRICES),
    ("MatrixSquareRoot", _by_eigenvalues(np.sqrt), MATRICES),
    ("MatrixLogarithm", _by_eigenvalues(np.log), [dtypes.complex64, dtypes.complex128]),
):
    add(
        _name,
        lambda v: case(definite(v, 3, 3)),
        lambda v: case(definite(v, 2, 2, 2)),
        lambda v: case(v(1, 1), smooth=v.dtype.is_complex),
        lambda v: case(v(2, 0, 0)),
        reference=_reference,
        types=_types,
        tolerance=LOOSE,
        signed=False,
    )


def _lu(x: Any, output_idx_type: Any = np.int32) -> Any:
    both, perm = x.copy(), np.zeros(x.shape[:-1], np.int32)
    for place in np.ndindex(x.shape[:-2]):
        a, order = both[place], np.arange(x.shape[-1])
        for k in range(len(order)):
            swap = k + int(np.abs(a[k:, k]).argmax())
            a[[k, swap]], order[[k, swap]] = a[[swap, k]], order[[swap, k]]
            for row in range(k + 1, len(order)):
                a[row, k] /= a[k, k]
                a[row, k + 1 :] -= a[row, k] * a[k, k + 1 :]
        perm[place] = order
    return both, perm


add(
    "Lu",
    lambda v: case(regular(v, 3, 3)[::-1].copy()),
    lambda v: case(v(2, 3, 3)),
    lambda v: case(v(0, 2, 2)),
    lambda v: case(v(2, 0, 0)),
    reference=_lu,
    types=MATRICES,
    tolerance=LOOSE,
)

# -- three diagonals


def three_diagonals(above: Any, main: Any, below: Any) -> Any:
    """The matrices of three diagonals [..., m]."""
    out = np.zeros((*main.shape, main.shape[-1]), main.dtype)
    index = np.arange(main.shape[-1])
    out[..., index, index] = main
    out[..., index[:-1], index[1:]] = above[..., :-1]
    out[..., index[1:], index[:-1]] = below[..., 1:]
    return out


add(
    "TridiagonalMatMul",
    lambda v: case(v(1, 4), v(1, 4), v(1, 4), v(4, 2)),
    lambda v: case(v(2, 1, 2), v(2, 1, 2), v(2, 1, 2), v(2, 2, 3)),
    lambda v: case(v(1, 1), v(1, 1), v(1, 1), v(1, 2)),
    lambda v: case(v(0, 1, 2), v(0, 1, 2), v(0, 1, 2), v(0, 2, 3)),
    reference=lambda a, b, c, x: three_diagonals(a[..., 0, :], b[..., 0, :], c[..., 0, :]) @ x,
    types=MATRICES,
)


def _strong(v: Any, *shape: int) -> Any:
    result = v(*shape)
    result[..., 1, :] += (4 * np.arange(shape[-1]) + 4).astype(result.dtype)
    return result


def _solved(diagonals: Any, right: Any, partial_pivoting: bool = True) -> Any:
    rows = (diagonals[..., row, :] for row in range(3))
    return np.linalg.solve(three_diagonals(*rows), right)


add(
    "TridiagonalSolve",
    lambda v: case(_strong(v, 3, 4), v(4, 2)),
    lambda v: case(_strong(v, 2, 3, 3), v(2, 3, 1), partial_pivoting=False),
    lambda v: case(_strong(v, 3, 4)[..., [1, 0, 2], :].copy(), v(4, 2)),
    lambda v: case(v(3, 1), v(1, 2)),
    lambda v: case(v(0, 3, 2), v(0, 2, 1)),
    reference=_solved,
    types=MATRICES,
    tolerance=LOOSE,
)
