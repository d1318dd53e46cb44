"""The exponential, logarithm and square root of square matrices, computed in double precision.

Exponential: the matrix is halved until its norm is small. A Pade approximant is then computed from
the even powers of the matrix, and squared once for each halving (Higham, "The scaling and squaring
method for the matrix exponential revisited", 2005). Square root: the product form of the
Denman-Beavers iteration is used (Higham, "Functions of matrices", 2008, 6.29). If the iteration
meets a singular matrix, the square root is computed from eigenvectors instead. Logarithm: square
roots are computed until the matrix is near the identity, followed by an integral over inverses
(ibid., 11.5).

The derivative of a function at A in direction E is the upper right block of the function of the
matrix [[A, E], [0, A]]. Gradients of any order therefore need no other op (Mathias, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.linalg.solve_and_cholesky import LAPACK_TYPES, adjoint_of, infer_square, lapack_op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_DEGREES = {True: (13, 5.37), False: (7, 3.92)}
"""The degree of the Pade approximant, and the 1-norm up to which a matrix is not halved, for
results in double precision and for others (Higham, table 2.3 and section 6).
"""


@cache
def _gauss() -> list[tuple[float, float]]:
    """Return the pairs (node in [0, 1], weight) of a Gauss-Legendre quadrature.

    The pairs are computed on first use, so that NumPy's module for polynomials is imported only if
    needed.
    """
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


@cache
def _pade(degree: int) -> list[float]:
    """Return the coefficients of the numerator of the Pade approximant of exp(x)."""
    ratios = [(degree - k) / ((2 * degree - k) * (k + 1)) for k in range(degree)]
    return list(accumulate(ratios, lambda product, ratio: product * ratio, initial=1.0))


def _exponential(matrix: Array, is_double: bool) -> Array:
    degree, small = _DEGREES[is_double]
    size = float(np.abs(matrix).sum(axis=0).max(initial=0.0))
    if not math.isfinite(size):
        return np.full_like(matrix, np.nan)
    halvings = max(0, math.ceil(math.log2(size / small))) if size > 0 else 0
    scaled = matrix / 2.0**halvings
    powers = [np.eye(len(matrix), dtype=matrix.dtype), scaled @ scaled]  # even powers, up to 6
    powers += [powers[1] @ powers[1]]
    powers += [powers[1] @ powers[2]]
    even, odd = (_combined(_pade(degree)[start::2], powers) for start in (0, 1))
    odd = scaled @ odd
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        result = result @ result
    return result


def _combined(factors: list[float], powers: list[Array]) -> Array:
    """Return the sum of factors[k] times A^(2 k), given the even powers of A up to 6."""
    low: Any = sum(factor * power for factor, power in zip(factors[:4], powers))
    if len(factors) > 4:
        high = sum(factor * power for factor, power in zip(factors[4:], powers[1:]))
        low = low + powers[3] @ high
    whole: Array = low
    return whole


def _by_iteration(matrix: Array) -> Array | None:
    """Return the principal square root of a matrix, or None if the iteration does not converge."""
    one = np.eye(len(matrix), dtype=matrix.dtype)
    root, product = matrix, matrix
    for _ in range(60):
        inverse = np.linalg.inv(product)
        root = root @ (one + inverse) / 2
        product = (one + (product + inverse) / 2) / 2
        apart = float(np.abs(product - one).max(initial=0.0))
        if apart <= 1e-15 * len(matrix):
            return root
        if not math.isfinite(apart):
            return None
    return root if apart < 1e-9 else None


def _by_eigenvectors(matrix: Array) -> Array:
    """Return the square root of a matrix, computed from its eigenvectors.

    The result is NaN if it is inaccurate, or if the matrix is real and its square root is complex.
    """
    values, vectors = np.linalg.eig(matrix)
    root = vectors * np.sqrt(values.astype(complex)) @ np.linalg.inv(vectors)
    size = float(np.abs(matrix).max(initial=0.0))
    wrong = np.abs(root @ root - matrix).max(initial=0.0) > 1e-8 * size
    if matrix.dtype.kind != "c":
        wrong = wrong or bool((values.real < -1e-14 * size).any() or np.iscomplex(values).any())
    if wrong:
        return np.full_like(matrix, np.nan)
    return root if matrix.dtype.kind == "c" else root.real


def _square_root(matrix: Array, is_double: bool = True) -> Array:
    del is_double  # the iteration ends at the precision of double
    try:
        root = _by_iteration(matrix)
        if root is not None:
            return root
    except np.linalg.LinAlgError:
        pass  # the matrix is singular, or a matrix of the iteration is
    try:
        return _by_eigenvectors(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def _logarithm(matrix: Array, is_double: bool) -> Array:
    del is_double
    one, roots = np.eye(len(matrix), dtype=matrix.dtype), 0
    while np.abs(matrix - one).sum(axis=0).max(initial=0.0) > 0.25:
        root = _square_root(matrix)
        if np.isnan(root).any() or roots == 100:
            return np.full_like(matrix, np.nan)
        matrix, roots = root, roots + 1
    rest = matrix - one
    total = np.zeros_like(matrix)
    for node, weight in _gauss():
        total = total + weight * np.linalg.solve(one + node * rest, rest)
    return total * 2.0**roots


def _one_by_one(function: Callable[[Array, bool], Array]) -> Call:
    """Return a NumPy kernel that applies `function` to each matrix, in double precision.

    Args:
      function: a function that receives a matrix, and whether its result needs double precision.
    """

    def run(matrices: Any, out: Any) -> None:
        wide = np.complex128 if matrices.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            for index in np.ndindex(matrices.shape[:-2]):
                result = function(matrices[index].astype(wide, copy=False), matrices.dtype == wide)
                np.copyto(out[index], result, casting="same_kind")

    return Call(run)


def _back(op: Any, dy: Any) -> Any:
    """Return the gradient, which is the derivative of the function at A^H in direction dy.

    This is the adjoint of the derivative at A.
    """
    last, rows = np.array(-1, np.int32), np.array(-2, np.int32)
    adjoints = adjoint_of(op.inputs[0])
    above = raw_ops.ConcatV2([adjoints, dy], last)
    below = raw_ops.ConcatV2([raw_ops.ZerosLike(adjoints), adjoints], last)
    both = getattr(raw_ops, op.type)(raw_ops.ConcatV2([above, below], rows))
    right = raw_ops.Split(last, both, num_split=2)[1]
    return raw_ops.Split(rows, right, num_split=2)[0]


def _declare(name: str, function: Callable[[Array, bool], Array], types: Any, doc: str) -> Any:
    doc += " ValueError for matrices that are not square."
    return lapack_op(name, infer_square, _one_by_one(function), _back, doc, T=types)


_matrix_exponential = _declare(
    "MatrixExponential",
    _exponential,
    LAPACK_TYPES,
    "The exponentials 1 + A + A A / 2! + ... of square matrices, [..., n, n]; NaN for ones that "
    "are not finite.",
)
matrix_logarithm: InputFunction = public_function(
    _declare(
        "MatrixLogarithm",
        _logarithm,
        COMPLEX,
        "The principal logarithms of complex square matrices, [..., n, n]; NaN where there is "
        "none. TypeError for real matrices.",
    )
)
matrix_square_root: InputFunction = public_function(
    _declare(
        "MatrixSquareRoot",
        _square_root,
        LAPACK_TYPES,
        "The principal square roots X, X @ X = A, of square matrices, [..., n, n]. NaN where "
        "there is none, or of real matrices none that is real.",
    )
)


def matrix_exponential(input: Any, name: str | None = None) -> Tensor:
    """Return the exponentials 1 + A + A A / 2! + ... of square matrices A, [..., n, n].

    The result is NaN if a matrix is not finite. Raises ValueError if the matrices are not square.
    """
    return _matrix_exponential(input, name=name or "matrix_exponential")
