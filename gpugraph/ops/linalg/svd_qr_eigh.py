"""Factorizations of matrices: singular values (SVD), products of orthogonal and triangular matrices
(QR), and eigenvectors.

LAPACK determines the signs of singular vectors and eigenvectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose
from gpugraph.ops.linalg.solve_and_cholesky import (
    adjoint_of,
    adjoint_view,
    finite_matrices,
    lapack_op,
    refusing,
    square,
    triangle,
)

_LAST = np.array(-1, np.int32)
_BEFORE_LAST = np.array(-2, np.int32)


def _differences(values: Any) -> Any:
    """Return the matrix with 1 / (v_j - v_i) for each pair of elements of a vector, or 0 if the
    elements are equal.
    """
    row, column = raw_ops.ExpandDims(values, _BEFORE_LAST), raw_ops.ExpandDims(values, _LAST)
    return _reciprocals(raw_ops.Sub(row, column))


def _reciprocals(numbers: Any) -> Any:
    """Return 1 / x elementwise, and 0 where x is 0."""
    return raw_ops.DivNoNan(raw_ops.OnesLike(numbers), numbers)


def _columns(matrices: Any, numbers: Any) -> Any:
    """Return matrices @ diag(numbers), which multiplies each column by its number."""
    return raw_ops.Mul(matrices, raw_ops.ExpandDims(numbers, _BEFORE_LAST))


# -- singular values


def _matrix_sizes(shape: TensorShape) -> tuple[TensorShape, int | None, int | None, int | None]:
    """Return (batch shape, number of rows, number of columns, the smaller of these numbers). If the
    rank is unknown, all are unknown.
    """
    sizes = shape.with_rank_at_least(2).sizes
    if sizes is None:
        return UNKNOWN, None, None, None
    rows, columns = sizes[-2:]
    smaller = None if rows is None or columns is None else min(rows, columns)
    return TensorShape.of(sizes[:-2]), rows, columns, smaller


_EMPTY = TensorShape.of((0,))


def _infer_svd(context: InferContext) -> Sequence[TensorShape]:
    batch, rows, columns, smaller = _matrix_sizes(context.shapes[0])
    if not context.attrs["compute_uv"]:
        return [batch + (smaller,), _EMPTY, _EMPTY]
    left, right = (rows, columns) if context.attrs["full_matrices"] else (smaller, smaller)
    return [batch + (smaller,), batch + (rows, left), batch + (columns, right)]


def _bind_svd(
    context: KernelContext, matrices: Any, values: Any, left: Any, right: Any
) -> Callable[[], Any]:
    full, with_vectors = context.attrs["full_matrices"], context.attrs["compute_uv"]

    outputs = (values, left, right) if with_vectors else (values,)

    def run() -> None:
        finite, others = finite_matrices(matrices)
        try:
            factors = np.linalg.svd(finite, full, with_vectors)
        except np.linalg.LinAlgError:  # LAPACK's iteration did not converge
            others = np.ones(matrices.shape[:-2], bool, like=matrices)
        else:
            if with_vectors:
                np.copyto(left, factors[0])
                np.copyto(right, adjoint_view(factors[2]))
            np.copyto(values, factors[1] if with_vectors else factors)
        if others is not None:
            for out in outputs:
                out[others] = np.nan

    return run


def _svd_back(op: Any, ds: Any, du: Any, dv: Any) -> Any:
    """Return the gradient of the matrices.

    See Townsend, "Differentiating the singular value decomposition" (2016).
    """
    matrices = op.inputs[0]
    if matrices.dtype.is_complex:
        raise NotImplementedError("The gradient of Svd is not implemented for complex matrices")
    if not op.attrs["compute_uv"]:
        _, left, right = raw_ops.Svd(matrices, compute_uv=True, full_matrices=False)
        return matmul(_columns(left, ds), right, transpose_b=True)
    values, left, right = op.outputs
    if op.attrs["full_matrices"]:
        _check_full(matrices)
        left, du = _thin(left, du, values)
        right, dv = _thin(right, dv, values)
    pairs = _differences(raw_ops.Square(values))
    inverse = _reciprocals(values)
    rotated_left = _rotation(left, du, pairs)
    rotated_right = _rotation(right, dv, pairs)
    scaled = raw_ops.Mul(raw_ops.ExpandDims(values, _LAST), rotated_right)
    inner = raw_ops.AddV2(_columns(rotated_left, values), scaled)
    inner = raw_ops.AddV2(inner, raw_ops.MatrixDiag(ds))
    whole = matmul(left, matmul(inner, right, transpose_b=True))
    beside_left = _columns(_orthogonal_part(left, du), inverse)
    beside_right = _columns(_orthogonal_part(right, dv), inverse)
    whole = raw_ops.AddV2(whole, matmul(beside_left, right, transpose_b=True))
    return raw_ops.AddV2(whole, matmul(left, beside_right, transpose_b=True))


def _rotation(vectors: Any, dvectors: Any, pairs: Any) -> Any:
    """Return the part of the gradient `dvectors` that rotates the vectors within the space that
    they span.

    Args:
      pairs: the matrix that `_differences` returns.
    """
    product = matmul(vectors, dvectors, transpose_a=True)
    return raw_ops.Mul(pairs, raw_ops.Sub(product, matrix_transpose(product)))


def _orthogonal_part(vectors: Any, dvectors: Any) -> Any:
    """Return the part of the gradient `dvectors` that is orthogonal to the space that the vectors
    span.
    """
    return raw_ops.Sub(dvectors, matmul(vectors, matmul(vectors, dvectors, transpose_a=True)))


def _check_full(matrices: Tensor) -> None:
    _, rows, columns, _ = _matrix_sizes(matrices.shape)
    if rows is not None and columns is not None and abs(rows - columns) > 1:
        raise NotImplementedError(
            "The gradient of Svd with full_matrices is not implemented for matrices that have "
            f"more than one row or column too many, but they are {rows} x {columns}: which "
            "vectors complete the space is arbitrary"
        )


def _thin(vectors: Any, dvectors: Any, values: Any) -> tuple[Any, Any]:
    """From the full set of vectors, return the first ones, one for each singular value. Also return
    the gradient of these vectors.

    The returned gradient includes the contribution of the gradients of all other vectors.
    """
    count, total = (raw_ops.Shape(tensor)[-1:] for tensor in (values, vectors))
    split = raw_ops.ConcatV2([count, raw_ops.Sub(total, count)], np.array(0, np.int32))
    first, others = raw_ops.SplitV(vectors, split, _LAST, num_split=2)
    dfirst, dothers = raw_ops.SplitV(dvectors, split, _LAST, num_split=2)
    product = matmul(others, matmul(dothers, first, transpose_a=True))
    return first, raw_ops.Sub(dfirst, product)


_svd = lapack_op(
    "Svd",
    outputs="s: T, u: T, v: T",
    infer=_infer_svd,
    kernel=Call(make=_bind_svd),
    grad=_svd_back,
    doc=(
        "The factors s, u and v of each matrix [..., m, n], with matrix = u @ diag(s) @ v^H and s "
        "in descending order. u and v have min(m, n) columns. If full_matrices is true, u has m "
        "and v has n columns. If compute_uv is false, both are empty."
    ),
    compute_uv=Attr("bool", True),
    full_matrices=Attr("bool", False),
)


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Factor matrices [..., m, n] as u @ diag(s) @ v^H. Return (s, u, v), or only s if `compute_uv`
    is false.

    The singular values s, [..., min(m, n)], are real, the largest first. u, [..., m, p], and v,
    [..., n, p], have orthonormal columns. p is min(m, n). If `full_matrices` is true, p is m for u
    and n for v. If a matrix is not finite, or LAPACK does not converge, all results are NaN.

    The gradient raises NotImplementedError for complex matrices. With `full_matrices`, it also
    raises this error if |m - n| > 1.
    """
    s, u, v = _svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    if s.dtype.is_complex:
        with s.graph.as_default():
            s = raw_ops.Real(s, Tout=float32 if s.dtype.size == 8 else float64)
    return (s, u, v) if compute_uv else s


# -- orthogonal and triangular


def _infer_qr(context: InferContext) -> Sequence[TensorShape]:
    batch, rows, columns, smaller = _matrix_sizes(context.shapes[0])
    inner = rows if context.attrs["full_matrices"] else smaller
    return [batch + (rows, inner), batch + (inner, columns)]


def _bind_qr(context: KernelContext, matrices: Any, q: Any, r: Any) -> Callable[[], Any]:
    mode: Any = "complete" if context.attrs["full_matrices"] else "reduced"
    if 0 in matrices.shape[-2:]:
        ones = np.eye(q.shape[-2], q.shape[-1], dtype=q.dtype, like=q)
        return lambda: np.copyto(q, ones)

    def run() -> None:
        for out, factor in zip((q, r), np.linalg.qr(matrices, mode=mode)):
            np.copyto(out, factor)

    return run


def _qr_back(op: Any, dq: Any, dr: Any) -> Any:
    """Return the gradient of the matrices.

    See Walter and Lehmann, "Algorithmic differentiation of linear algebra functions".
    """
    q, r = op.outputs
    _, rows, columns, _ = _matrix_sizes(op.inputs[0].shape)
    if r.dtype.is_complex:
        raise NotImplementedError("The gradient of Qr is not implemented for complex matrices")
    if rows is not None and columns is not None:
        full = op.attrs["full_matrices"] and rows != columns
        if full or columns > rows:
            raise NotImplementedError(
                "The gradient of Qr is not implemented for more columns than rows, nor for "
                f"full_matrices of matrices that aren't square, but they are {rows} x {columns}"
            )
    inner = matmul(q, dq, transpose_a=True)
    product = matmul(r, dr, transpose_b=True)
    lower = triangle(raw_ops.AddV2(_skew(inner), _skew(product)), True)
    along = matmul(q, raw_ops.AddV2(dr, _times_inverse_transposed(lower, r)))
    return raw_ops.AddV2(along, _times_inverse_transposed(raw_ops.Sub(dq, matmul(q, inner)), r))


def _skew(matrices: Any) -> Any:
    return raw_ops.Sub(matrices, matrix_transpose(matrices))


def _times_inverse_transposed(matrices: Any, r: Any) -> Any:
    """Return matrices @ inverse(r)^T."""
    transposed = matrix_transpose(matrices)
    return matrix_transpose(raw_ops.MatrixTriangularSolve(r, transposed, lower=False))


_qr = lapack_op(
    "Qr",
    outputs="q: T, r: T",
    infer=_infer_qr,
    kernel=Call(make=_bind_qr),
    grad=_qr_back,
    doc=(
        "The factors q and r of each matrix [..., m, n], with matrix = q @ r. q has orthonormal "
        "columns, and r is upper triangular. q has min(m, n) columns, or m if full_matrices is "
        "true, and r has as many rows."
    ),
    full_matrices=Attr("bool", False),
)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """Factor matrices [..., m, n] as q @ r.

    q, [..., m, p], has orthonormal columns, and r, [..., p, n], is upper triangular. p is min(m,
    n), or m if `full_matrices` is true. The gradient raises NotImplementedError if the matrices are
    complex or have more columns than rows. With `full_matrices`, it also raises this error unless m
    = n.
    """
    return _qr(input, full_matrices=full_matrices, name=name)


# -- eigenvectors


def _infer_eig(context: InferContext) -> Sequence[TensorShape]:
    batch, size = square(context.shapes[0])
    return [batch + (size,), batch + (size, size) if context.attrs["compute_v"] else _EMPTY]


def _bind_eig(context: KernelContext, matrices: Any, values: Any, vectors: Any) -> Any:
    if matrices.shape[-1] == 1:  # a number is its own eigenvalue, with eigenvector 1

        def run() -> None:
            np.copyto(values, matrices[..., 0].real)
            vectors.fill(1)

        return run

    def run_all() -> None:
        if not np.isfinite(np.tril(matrices)).all():
            raise np.linalg.LinAlgError
        if context.attrs["compute_v"]:
            eigenvalues, columns = np.linalg.eigh(matrices)
            np.copyto(vectors, columns)
        else:
            eigenvalues = np.linalg.eigvalsh(matrices)
        if np.isnan(eigenvalues).any():
            raise np.linalg.LinAlgError
        np.copyto(values, eigenvalues)

    return refusing(
        "Self-adjoint eigen decomposition was not successful. The input might not be valid.",
        run_all,
    )


def _eig_back(op: Any, de: Any, dv: Any) -> Any:
    """Return the gradient of the matrices. It is a lower triangle, because the op reads only the
    lower triangle.
    """
    matrices = op.inputs[0]
    if op.attrs["compute_v"]:
        values, vectors = op.outputs
        turned = raw_ops.Mul(_differences(values), matmul(vectors, dv, adjoint_a=True))
        inner = raw_ops.AddV2(raw_ops.MatrixDiag(de), turned)
        whole = matmul(vectors, matmul(inner, vectors, adjoint_b=True))
    else:
        _, vectors = raw_ops.SelfAdjointEigV2(matrices, compute_v=True)
        whole = matmul(_columns(vectors, de), vectors, adjoint_b=True)
    both = triangle(raw_ops.AddV2(whole, adjoint_of(whole)), True)
    return raw_ops.MatrixSetDiag(both, 0.5 * raw_ops.MatrixDiagPart(both))


_self_adjoint_eig = lapack_op(
    "SelfAdjointEigV2",
    outputs="e: T, v: T",
    infer=_infer_eig,
    kernel=Call(make=_bind_eig),
    grad=_eig_back,
    doc=(
        "The eigenvalues, in ascending order, and the eigenvectors (the columns of v) of each "
        "self-adjoint matrix. Only the lower triangles are read. If compute_v is false, v is "
        "empty."
    ),
    compute_v=Attr("bool", True),
)


def self_adjoint_eig(tensor: Any, name: str | None = None) -> Any:
    """Return (eigenvalues, eigenvectors) of self-adjoint matrices [..., n, n].

    The eigenvalues, [..., n], are in ascending order. The eigenvectors are the columns of matrices
    [..., n, n]. Only the lower triangles of `tensor` are read. Raises ValueError if the matrices
    are not square.
    """
    e, v = _self_adjoint_eig(convert_to_tensor(tensor, name="input"), compute_v=True, name=name)
    return e, v


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Return the eigenvalues, [..., n], of self-adjoint matrices. See `self_adjoint_eig`."""
    e, _ = _self_adjoint_eig(convert_to_tensor(tensor, name="input"), compute_v=False, name=name)
    return e
