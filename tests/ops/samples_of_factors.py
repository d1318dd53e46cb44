"""Samples of functions of whole matrices, of triangles, and of matrices of three diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .samples_of_linalg import LOOSE, MATRICES, definite, regular
from .sampling import add, case

__all__ = ["UNSLOPED", "three_diagonals"]

UNSLOPED = {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "SparseMatMul"}
"""Ops whose gradient is that of the identity, or that compute in float32 alone."""


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
    """Return the matrices of three diagonals [..., m]."""
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


# -- the gradient of Cholesky factors, and sums of products


def _cholesky_grad(factors: Any, slopes: Any) -> Any:
    """By differences of the factors of symmetric matrices, entry by entry."""
    lower = np.tril(factors).astype(np.float64)
    whole = lower @ np.swapaxes(lower, -1, -2)
    result = np.zeros_like(whole)
    step = 1e-6
    for i, j in np.ndindex(*whole.shape[-2:]):
        moved = []
        for sign in (step, -step):
            changed = whole.copy()
            changed[..., i, j] += sign / 2
            changed[..., j, i] += sign / 2
            moved.append(np.linalg.cholesky(changed))
        slope = (moved[0] - moved[1]) / (2 * step)
        result[..., i, j] = np.sum(slope * np.tril(slopes), (-2, -1))
    return result


add(
    "CholeskyGrad",
    lambda v: case(np.tril(v(3, 3)) + 3 * np.eye(3, dtype=v(1).dtype), v(3, 3)),
    lambda v: case(np.tril(v(2, 2, 2)) + 3 * np.eye(2, dtype=v(1).dtype), v(2, 2, 2)),
    lambda v: case(v(0, 2, 2), v(0, 2, 2)),
    reference=_cholesky_grad,
    tolerance=1e7,
)


def _einsum(parts: Any, equation: str) -> Any:
    """Element by element of all labels' ranges; labels alone, without an ellipsis."""
    inputs, output = (side.split(",") for side in equation.split("->"))
    sizes = {
        label: n for labels, part in zip(inputs, parts) for label, n in zip(labels, part.shape)
    }
    labels = sorted(sizes)
    result = np.zeros([sizes[label] for label in output[0]], parts[0].dtype)
    for place in np.ndindex(*(sizes[label] for label in labels)):
        where = dict(zip(labels, place))
        product = 1
        for names, part in zip(inputs, parts):
            product = product * part[tuple(where[name] for name in names)]
        result[tuple(where[name] for name in output[0])] += product
    return result


add(
    "Einsum",
    lambda v: case([v(2, 3), v(3, 2)], equation="ij,jk->ik"),
    lambda v: case([v(2, 2, 3), v(2, 3, 2)], equation="bij,bjk->kbi"),
    lambda v: case([v(2, 3)], equation="ij->j"),
    lambda v: case([v(2, 3), v(3)], equation="ij,k->i"),
    lambda v: case([v(0, 3), v(3, 2)], equation="ij,jk->ik"),
    reference=_einsum,
    tolerance=8,
)


def _there_and_back(
    x: Any, low: Any, high: Any, num_bits: int = 8, signed_input: bool = True,
    range_given: bool = False, round_mode: str = "HALF_TO_EVEN", narrow_range: bool = False,
) -> Any:  # fmt: skip
    """Return each number by itself."""
    if not x.size:
        return x
    low, high = (low, high) if range_given else (x.min(), x.max())
    last = 2 ** (int(num_bits) - signed_input) - 1
    first = (-last if narrow_range else -last - 1) if signed_input else 0
    scales = [end / limit for end, limit in ((first, low), (last, high)) if end * limit > 0]
    scale = min(scales)
    result = [np.rint(np.clip(n, first / scale, last / scale) * scale) / scale for n in x.ravel()]
    return np.array(result).reshape(x.shape)


_ENDS = tuple(np.array(end) for end in (-1.0, 2.0))


def _rounded(v: Any, *shape: int, **attrs: Any) -> Any:
    kind = v.dtype.as_numpy_dtype
    bits = [attrs.pop("bits")] if "bits" in attrs else []
    return case(v(*shape), *(end.astype(kind) for end in _ENDS), *bits, smooth=False, **attrs)


add(
    "QuantizeAndDequantizeV2",
    lambda v: _rounded(v, 2, 3, num_bits=3),
    lambda v: _rounded(v, 7, range_given=True, narrow_range=True),
    lambda v: _rounded(v, 0, 3),
    reference=_there_and_back,
    exact=True,
)
add(
    "QuantizeAndDequantizeV3",
    lambda v: _rounded(v, 2, 3, bits=np.array(3, np.int32)),
    lambda v: _rounded(v, 7, bits=np.array(8, np.int32), narrow_range=True),
    lambda v: _rounded(v, 0, 3, bits=np.array(8, np.int32)),
    reference=lambda *inputs, range_given=True, **attrs: _there_and_back(
        *inputs, range_given=range_given, **attrs
    ),
    exact=True,
)


def _product(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    left, right = (x.astype(np.float32) for x in (a, b))
    rows, columns = left if not transpose_a else left.T, right.T if not transpose_b else right
    products = [[np.dot(row, column) for column in columns] for row in rows]
    return np.array(products, np.float32).reshape(len(rows), len(columns))


for _flags, _shapes in (
    ({}, ((2, 3), (3, 2))),
    ({"transpose_a": True}, ((3, 2), (3, 4))),
    ({"transpose_b": True}, ((2, 3), (1, 3))),
    ({"transpose_a": True, "transpose_b": True}, ((0, 2), (3, 0))),
):
    add(
        "SparseMatMul",
        lambda v, flags=_flags, shapes=_shapes: case(*(v(*shape) for shape in shapes), **flags),
        reference=_product,
        tolerance=8,
    )
