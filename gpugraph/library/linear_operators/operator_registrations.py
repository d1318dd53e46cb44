"""Registers functions for the products, solutions, adjoints, inverses and Cholesky factors that can
be computed directly.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.linear_operators.circulant_operators import LinearOperatorCirculant
from gpugraph.library.linear_operators.composed_operators import (
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
)
from gpugraph.library.linear_operators.diagonal_operator import LinearOperatorDiag
from gpugraph.library.linear_operators.householder_operator import LinearOperatorHouseholder
from gpugraph.library.linear_operators.identity_operators import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from gpugraph.library.linear_operators.inverse_and_adjoint_operators import (
    LinearOperatorAdjoint,
    LinearOperatorInversion,
)
from gpugraph.library.linear_operators.kronecker_operator import LinearOperatorKronecker
from gpugraph.library.linear_operators.linear_operator import LinearOperator
from gpugraph.library.linear_operators.lower_triangular_operator import (
    LinearOperatorLowerTriangular,
)
from gpugraph.library.linear_operators.operator_algebra import (
    RegisterAdjoint,
    RegisterCholesky,
    RegisterInverse,
    RegisterMatmul,
    RegisterSolve,
)
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.unary_functions import sqrt
from gpugraph.ops.linalg.solve_and_cholesky import cholesky

# -- promises


def promises_of(operator: LinearOperator) -> dict[str, Any]:
    """Return the operator's promises, which are also true for its adjoint and its inverse."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": operator.is_square,
    }


def _is_non_singular(a: LinearOperator, b: LinearOperator) -> bool | None:
    if False in (a.is_non_singular, b.is_non_singular):
        return False
    return a.is_non_singular and b.is_non_singular


def commuting(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """Return the promises that are true for the product of two operators that commute."""
    is_adjoint = {a.is_self_adjoint, b.is_self_adjoint}
    is_definite = all(part.is_positive_definite and part.is_self_adjoint for part in (a, b))
    return {
        "is_non_singular": _is_non_singular(a, b),
        "is_self_adjoint": is_adjoint == {True} or (False if is_adjoint == {True, False} else None),
        "is_positive_definite": is_definite or None,
        "is_square": True,
    }


def _is_square(a: LinearOperator, b: LinearOperator) -> bool | None:
    squares = a.is_square, b.is_square
    if squares == (True, True):
        return True
    if squares == (False, False):
        rows, columns = a.range_dimension.value, b.domain_dimension.value
        return None if None in (rows, columns) else rows == columns
    return None if None in squares else False


def _composed(operators: list[LinearOperator], a: LinearOperator, b: LinearOperator) -> Any:
    is_square = _is_square(a, b)
    is_non_singular = (
        _is_non_singular(a, b) if is_square else (False if is_square is False else None)
    )
    others = False if is_square is False else None
    return LinearOperatorComposition(operators, is_non_singular, others, others, is_square)


# -- adjoints


@RegisterAdjoint(LinearOperator)
def _adjoint(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(operator, **promises_of(operator))


@RegisterAdjoint(LinearOperatorAdjoint)
def _adjoint_of_adjoint(operator: LinearOperatorAdjoint) -> LinearOperator:
    return operator.operator


@RegisterAdjoint(LinearOperatorIdentity)
@RegisterAdjoint(LinearOperatorHouseholder)
def _itself(operator: LinearOperator) -> LinearOperator:
    return operator


@RegisterAdjoint(LinearOperatorScaledIdentity)
def _adjoint_of_multiple(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        operator._num_rows, conj(operator.multiplier), **promises_of(operator)
    )


@RegisterAdjoint(LinearOperatorDiag)
def _adjoint_of_diagonal(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(conj(operator.diag), **promises_of(operator))


@RegisterAdjoint(LinearOperatorBlockDiag)
@RegisterAdjoint(LinearOperatorKronecker)
def _adjoint_of_each(operator: Any) -> LinearOperator:
    adjoints = [part.adjoint() for part in operator.operators]
    adjoint: LinearOperator = type(operator)(adjoints, **promises_of(operator))
    return adjoint


@RegisterAdjoint(LinearOperatorCirculant)
def _adjoint_of_circulant(operator: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(conj(operator.spectrum), operator.dtype, **promises_of(operator))


# -- Cholesky factors


@RegisterCholesky(LinearOperator)
def _cholesky(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorLowerTriangular(
        cholesky(operator.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
    )


@RegisterCholesky(LinearOperatorDiag)
def _cholesky_of_diagonal(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(sqrt(operator.diag), True, True, True, True)


@RegisterCholesky(LinearOperatorIdentity)
def _cholesky_of_identity(operator: LinearOperatorIdentity) -> LinearOperator:
    return operator


@RegisterCholesky(LinearOperatorScaledIdentity)
def _cholesky_of_multiple(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        operator._num_rows, sqrt(operator.multiplier), True, True, True, True
    )


@RegisterCholesky(LinearOperatorBlockDiag)
def _cholesky_of_blocks(operator: LinearOperatorBlockDiag) -> LinearOperator:
    factors = [part.cholesky() for part in operator.operators]
    return LinearOperatorBlockDiag(factors, is_non_singular=True, is_square=True)


@RegisterCholesky(LinearOperatorKronecker)
def _cholesky_of_kronecker(operator: LinearOperatorKronecker) -> LinearOperator:
    factors = [part.cholesky() for part in operator.operators]
    return LinearOperatorKronecker(factors, is_non_singular=True, is_square=True)


# -- inverses


@RegisterInverse(LinearOperator)
def _inverse(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(operator, **promises_of(operator))


@RegisterInverse(LinearOperatorInversion)
def _inverse_of_inverse(operator: LinearOperatorInversion) -> LinearOperator:
    return operator.operator


@RegisterInverse(LinearOperatorDiag)
def _inverse_of_diagonal(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(1.0 / operator.diag, **promises_of(operator))


RegisterInverse(LinearOperatorIdentity)(_itself)
RegisterInverse(LinearOperatorHouseholder)(_itself)


@RegisterInverse(LinearOperatorScaledIdentity)
def _inverse_of_multiple(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        operator._num_rows,
        1.0 / operator.multiplier,
        **{**promises_of(operator), "is_square": True},
    )


@RegisterInverse(LinearOperatorBlockDiag)
@RegisterInverse(LinearOperatorKronecker)
def _inverse_of_each(operator: Any) -> LinearOperator:
    inverses = [part.inverse() for part in operator.operators]
    inverse: LinearOperator = type(operator)(inverses, **promises_of(operator))
    return inverse


@RegisterInverse(LinearOperatorCirculant)
def _inverse_of_circulant(operator: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(1.0 / operator.spectrum, operator.dtype, **promises_of(operator))


# -- products


@RegisterMatmul(LinearOperator, LinearOperator)
def _product(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    product: LinearOperator = _composed([a, b], a, b)
    return product


@RegisterMatmul(LinearOperatorIdentity, LinearOperator)
def _product_of_identity(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return b


@RegisterMatmul(LinearOperator, LinearOperatorIdentity)
def _product_with_identity(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return a


@RegisterMatmul(LinearOperatorScaledIdentity, LinearOperatorScaledIdentity)
def _product_of_multiples(
    a: LinearOperatorScaledIdentity, b: LinearOperatorScaledIdentity
) -> LinearOperator:
    return LinearOperatorScaledIdentity(a._num_rows, a.multiplier * b.multiplier, **commuting(a, b))


@RegisterMatmul(LinearOperatorZeros, LinearOperator)
def _product_of_zeros(a: LinearOperatorZeros, b: LinearOperator) -> LinearOperator:
    if not (a.is_square and b.is_square):
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    return a


@RegisterMatmul(LinearOperator, LinearOperatorZeros)
def _product_with_zeros(a: LinearOperator, b: LinearOperatorZeros) -> LinearOperator:
    return _product_of_zeros(b, a)


@RegisterMatmul(LinearOperatorZeros, LinearOperatorIdentity)
@RegisterMatmul(LinearOperatorIdentity, LinearOperatorZeros)
def _zeros_of_two(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return a if isinstance(a, LinearOperatorZeros) else b


def _factors(operator: Any) -> Any:
    """Return the diagonal of a diagonal operator. For a multiple of the identity, return the
    multiplier as [..., 1].
    """
    is_diagonal = isinstance(operator, LinearOperatorDiag)
    return operator.diag if is_diagonal else operator.multiplier[..., None]


@RegisterMatmul(LinearOperatorDiag, LinearOperatorDiag)
@RegisterMatmul(LinearOperatorDiag, LinearOperatorScaledIdentity)
@RegisterMatmul(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _product_of_diagonals(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return LinearOperatorDiag(_factors(a) * _factors(b), **commuting(a, b))


@RegisterMatmul(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _diagonal_and_triangle(
    a: LinearOperatorDiag, b: LinearOperatorLowerTriangular
) -> LinearOperator:
    tril = a.diag[..., None] * b.to_dense()
    return LinearOperatorLowerTriangular(tril, _is_non_singular(a, b), is_square=True)


@RegisterMatmul(LinearOperatorLowerTriangular, LinearOperatorDiag)
def _triangle_and_diagonal(
    a: LinearOperatorLowerTriangular, b: LinearOperatorDiag
) -> LinearOperator:
    tril = a.to_dense() * b.diag[..., None, :]
    return LinearOperatorLowerTriangular(tril, _is_non_singular(a, b), is_square=True)


@RegisterMatmul(LinearOperatorCirculant, LinearOperatorCirculant)
def _product_of_circulants(
    a: LinearOperatorCirculant, b: LinearOperatorCirculant
) -> LinearOperator:
    return LinearOperatorCirculant(a.spectrum * b.spectrum, a.dtype, **commuting(a, b))


@RegisterMatmul(LinearOperatorBlockDiag, LinearOperatorBlockDiag)
def _product_of_blocks(a: LinearOperatorBlockDiag, b: LinearOperatorBlockDiag) -> LinearOperator:
    sizes = [[part.domain_dimension.value for part in whole.operators] for whole in (a, b)]
    if sizes[0] != sizes[1] or None in sizes[0]:
        return _product(a, b)
    products = [left.matmul(right) for left, right in zip(a.operators, b.operators)]
    return LinearOperatorBlockDiag(products, is_non_singular=_is_non_singular(a, b))


# -- solutions


@RegisterSolve(LinearOperator, LinearOperator)
def _solution(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    solution: LinearOperator = _composed([LinearOperatorInversion(a), b], a, b)
    return solution


@RegisterSolve(LinearOperatorInversion, LinearOperator)
def _solution_of_inverse(a: LinearOperatorInversion, b: LinearOperator) -> LinearOperator:
    product: LinearOperator = a.operator.matmul(b)
    return product


RegisterSolve(LinearOperatorIdentity, LinearOperator)(_product_of_identity)


@RegisterSolve(LinearOperatorScaledIdentity, LinearOperatorScaledIdentity)
def _solution_of_multiples(
    a: LinearOperatorScaledIdentity, b: LinearOperatorScaledIdentity
) -> LinearOperator:
    return LinearOperatorScaledIdentity(a._num_rows, b.multiplier / a.multiplier, **commuting(a, b))


@RegisterSolve(LinearOperatorDiag, LinearOperatorDiag)
@RegisterSolve(LinearOperatorDiag, LinearOperatorScaledIdentity)
@RegisterSolve(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _solution_of_diagonals(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return LinearOperatorDiag(_factors(b) / _factors(a), **commuting(a, b))


@RegisterSolve(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _solution_for_triangle(
    a: LinearOperatorDiag, b: LinearOperatorLowerTriangular
) -> LinearOperator:
    tril = b.to_dense() / a.diag[..., None]
    return LinearOperatorLowerTriangular(tril, _is_non_singular(a, b), is_square=True)


@RegisterSolve(LinearOperatorCirculant, LinearOperatorCirculant)
def _solution_of_circulants(
    a: LinearOperatorCirculant, b: LinearOperatorCirculant
) -> LinearOperator:
    return LinearOperatorCirculant(b.spectrum / a.spectrum, a.dtype, **commuting(a, b))
