"""The exponential, logarithm and square root of square matrices, computed in double precision.

Exponential: the matrix is halved until its norm is small. A Pade approximant is then computed from
the even powers of the matrix, and squared once for each halving (Higham, "The scaling and squaring
method for the matrix exponential revisited", 2005). Square root: the product form of the
Denman-Beavers iteration, scaled by norms, is used (Higham, "Functions of matrices", 2008, 6.29). If
the iteration meets a singular matrix, the square root is computed from eigenvectors instead.
Logarithm: square roots are computed until the matrix is near the identity, followed by an integral
over inverses (ibid., 11.5). All matrices of a batch are computed together. Square roots and
logarithms of symmetric and Hermitian matrices are computed from eigenvalues.

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
from gpugraph.ops.linalg.solve_and_cholesky import (
    LAPACK_TYPES,
    adjoint_of,
    adjoint_view,
    infer_square,
    lapack_op,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


_DEGREES = {True: (13, 5.37), False: (7, 3.92)}
"""The degree of the Pade approximant, and the 1-norm up to which a matrix is not halved, for
results in double precision and for others (Higham, table 2.3 and section 6).
"""


@cache
def _gauss(count: int) -> list[tuple[float, float]]:
    """Return `count` pairs (node in [0, 1], weight) of a Gauss-Legendre quadrature.

    The pairs are computed on first use, so that NumPy's module for polynomials is imported only if
    needed.
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
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


_NEAR = 0.1
"""The maximum distance from the identity at which iterations are no longer scaled."""


def _by_iteration(matrices: Array, is_double: bool) -> tuple[Array, Array]:
    """Return the principal square roots of matrices, and for which of them the iteration
    converges.

    Raises LinAlgError if an iteration meets a singular matrix.
    """
    one = np.eye(matrices.shape[-1], dtype=matrices.dtype)
    roots, products = matrices, matrices
    apart = np.full(len(matrices), np.inf)
    enough = 1e-15 * len(one) if is_double else 1e-10
    for _ in range(60):
        inverses = np.linalg.inv(products)
        scales = np.sqrt(_sizes(inverses) / _sizes(products))
        scales = np.where(apart < _NEAR, 1, scales)[:, None, None]
        inverses = inverses / scales
        roots = roots @ (one + inverses) * (np.sqrt(scales) / 2)
        products = (one + (products * scales + inverses) / 2) / 2
        apart = np.abs(products - one).max(axis=(-2, -1), initial=0.0)
        if not (apart > enough).any():  # NaN does not converge
            break
    return roots, apart < 1e-9


def _sizes(matrices: Array) -> Array:
    """Return the norm of each matrix."""
    sizes: Array = np.sqrt((np.abs(matrices) ** 2).sum(axis=(-2, -1)))
    return sizes


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


def _square_roots(matrices: Array, is_double: bool = True) -> Array:
    try:
        roots, has_converged = _by_iteration(matrices, is_double)
    except np.linalg.LinAlgError:  # a matrix is singular, or a matrix of the iteration is
        if len(matrices) > 1:
            return np.stack([_square_roots(matrix[None], is_double)[0] for matrix in matrices])
        roots, has_converged = matrices.copy(), np.zeros(1, bool)
    for index in np.flatnonzero(~has_converged):
        try:
            roots[index] = _by_eigenvectors(matrices[index])
        except np.linalg.LinAlgError:
            roots[index] = np.nan
    return roots


_CLOSE = 0.75
"""The distance from the identity up to which the logarithm is computed as an integral."""


def _nodes(rest: Array, error: float) -> int:
    """Return the number of nodes with which the integral for log(1 + rest) has a relative error of
    `error`. Each node reduces it by the same factor (Higham, 2008, 11.4).
    """
    distance = float(np.fmax.reduce(np.abs(rest).sum(axis=-2), None, initial=0.0))  # not NaN
    root = math.sqrt(1 - min(distance, _CLOSE))
    reduction = ((1 - root) / (1 + root)) ** 2
    return 1 if reduction < error else math.ceil(math.log(error) / math.log(reduction))


def _logarithms(matrices: Array, is_double: bool) -> Array:
    one = np.eye(matrices.shape[-1], dtype=matrices.dtype)
    matrices, shifts = _balanced(matrices, one)
    halvings = np.zeros(len(matrices))
    for _ in range(100):
        far = ~(_distances(matrices, one) <= _CLOSE) & ~np.isnan(matrices).any(axis=(-2, -1))
        if not far.any():
            break
        matrices[far] = _square_roots(matrices[far], is_double)
        halvings += far
    matrices[_distances(matrices, one) > _CLOSE] = np.nan
    rest = matrices - one
    total = np.zeros_like(matrices)
    for node, weight in _gauss(_nodes(rest, 1e-17 if is_double else 1e-10)):
        total += weight * np.linalg.solve(one + node * rest, rest)
    return total * 2.0 ** halvings[:, None, None] + shifts * one


def _balanced(matrices: Array, one: Array) -> tuple[Array, Array]:
    """Return matrices that are far from the identity, divided by the geometric mean of their
    eigenvalues' magnitudes, and the logarithms of these means.
    """
    means = np.linalg.slogdet(matrices)[1] / max(len(one), 1)
    keeps = (_distances(matrices, one) <= _CLOSE) | ~np.isfinite(means)
    shifts = np.where(keeps, 0, means)[:, None, None]
    return matrices * np.exp(-shifts), shifts


def _distances(matrices: Array, one: Array) -> Array:
    distances: Array = np.abs(matrices - one).sum(axis=-2).max(axis=-1, initial=0.0)
    return distances


def _with_spectra(
    function: Callable[[Array, bool], Array], of_eigenvalues: Callable[[Array], Array]
) -> Callable[[Array, bool], Array]:
    """Return a function of a batch of matrices that uses eigenvalues for the symmetric or Hermitian
    ones, and `function` for the others.

    Args:
      of_eigenvalues: a function from the eigenvalues of one matrix to those of its result, which
        may be NaN.
    """

    def compute(matrices: Array, is_double: bool) -> Array:
        finite = np.isfinite(matrices).all(axis=(-2, -1))
        even = finite & (matrices == adjoint_view(matrices)).all(axis=(-2, -1))
        results = np.empty_like(matrices)
        if not even.all():
            results[~even] = function(matrices[~even], is_double)
        if even.any():
            values, vectors = np.linalg.eigh(matrices[even])
            wide = values.astype(matrices.dtype)
            new = np.stack([of_eigenvalues(row) for row in wide])
            results[even] = (vectors * new[:, None, :]) @ adjoint_view(vectors)
        return results

    return compute


def _rounding(values: Array) -> float:
    """Return the error of the eigenvalues of a symmetric matrix."""
    return 1e-15 * len(values) * float(np.abs(values).max(initial=0.0))


def _roots_of(values: Array) -> Array:
    return np.sqrt(np.where(np.abs(values) <= _rounding(values), 0, values))


def _logarithms_of(values: Array) -> Array:
    return np.log(np.where(np.abs(values) <= _rounding(values), np.nan, values))


def _one_by_one(function: Callable[[Array, bool], Array]) -> Callable[[Array, bool], Array]:
    """Return a function of a batch of matrices that applies `function` to each of them."""
    return lambda matrices, is_double: np.stack([function(one, is_double) for one in matrices])


def _kernel(function: Callable[[Array, bool], Array]) -> Call:
    """Return a NumPy kernel that applies `function` to matrices, in double precision.

    Args:
      function: a function that receives matrices, [batch, n, n], and whether the results need
        double precision.
    """

    def run(matrices: Any, out: Any) -> None:
        wide = np.complex128 if matrices.dtype.kind == "c" else np.float64
        if not out.size:
            return
        with np.errstate(all="ignore"):
            batch = matrices.reshape(-1, *matrices.shape[-2:]).astype(wide, copy=False)
            results = function(batch, matrices.dtype == wide)
            np.copyto(out, results.reshape(out.shape), casting="same_kind")

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
    return lapack_op(name, infer_square, _kernel(function), _back, doc, T=types)


_matrix_exponential = _declare(
    "MatrixExponential",
    _one_by_one(_exponential),
    LAPACK_TYPES,
    "The exponentials 1 + A + A A / 2! + ... of square matrices, [..., n, n]; NaN for ones that "
    "are not finite.",
)
matrix_logarithm: InputFunction = public_function(
    _declare(
        "MatrixLogarithm",
        _with_spectra(_logarithms, _logarithms_of),
        COMPLEX,
        "The principal logarithms of complex square matrices, [..., n, n]; NaN where there is "
        "none. TypeError for real matrices.",
    )
)
matrix_square_root: InputFunction = public_function(
    _declare(
        "MatrixSquareRoot",
        _with_spectra(_square_roots, _roots_of),
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
