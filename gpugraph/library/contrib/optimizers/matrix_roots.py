"""Powers of symmetric matrices, computed with iterations of matrix products."""

from __future__ import annotations

from typing import Any

from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.ops.elementwise.arithmetic_functions import pow as power
from gpugraph.ops.elementwise.comparison_and_select import logical_and
from gpugraph.ops.elementwise.unary_functions import abs as absolute, sqrt
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_compositions import eye
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum


def _norm(matrix: Any) -> Any:
    return sqrt(reduce_sum(matrix * matrix))


def square_root(matrix: Any, size: int, iterations: int = 100, ridge: float = 1e-4) -> Any:
    """Return the square root of a positive semidefinite matrix, computed with the iteration of
    Denman and Beavers (Higham, 1997, equation 2.6b).

    Args:
      ridge: a number that is added to the diagonal.
    """
    identity = eye(size)
    matrix = matrix + ridge * identity
    norm = _norm(matrix)

    def body(i: Any, y: Any, _: Any, z: Any, __: Any, error: Any, ___: Any) -> Any:
        factor = 0.5 * (3.0 * identity - matmul(z, y))
        next_y, next_z = matmul(y, factor), matmul(factor, z)
        root = next_y * sqrt(norm)
        next_error = _norm(matrix - matmul(root, root)) / norm
        return i + 1, next_y, y, next_z, z, next_error, error

    start = [0, matrix / norm, matrix / norm, identity, identity, norm, norm + 1.0]
    result = while_loop(
        lambda i, *rest: logical_and(i < iterations, rest[-2] < rest[-1]), body, start
    )
    return result[2] * sqrt(norm)


def inverse_root(
    matrix: Any, size: int, exponent: float, iterations: int = 100, epsilon: float = 1e-6
) -> Any:
    """Return the power -1/p of a positive definite matrix, computed with the Schur-Newton iteration
    (Guo and Higham, 2006, equation 3.2).

    Args:
      exponent: -1/p for a positive integer p. Raises ValueError for any other number.
      epsilon: the difference to the identity at which the iteration ends.
    """
    exact = -1.0 / exponent
    p = round(exact)
    if p < 1 or abs(exact - p) > 1e-6:
        raise ValueError(f"the exponent must be -1/p for a positive integer p, got {exponent}")
    if size == 1:
        return power(matrix, exponent)
    identity = eye(size)

    def body(i: Any, m: Any, x: Any) -> Any:
        factor = (1.0 - exponent) * identity + exponent * m
        product = factor
        for _ in range(p - 1):
            product = matmul(product, factor)
        return i + 1, matmul(product, m), matmul(x, factor)

    scale = (1.0 - 1.0 / exponent) / (2.0 * _norm(matrix))
    start = [0, matrix * scale, identity * power(scale, -exponent)]
    result = while_loop(
        lambda i, m, _: logical_and(i < iterations, reduce_max(absolute(m - identity)) > epsilon),
        body,
        start,
    )
    return result[2]
