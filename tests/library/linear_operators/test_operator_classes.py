"""All classes of linear operators beside NumPy's dense matrices, and their algebra.

ci/against_tensorflow/linear_operators.py compares 1,775 answers with TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import gpugraph as tf

la = tf.linalg


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).normal(size=shape)


def value(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def well(size: int, seed: int = 1) -> Any:
    return numbers(size, size, seed=seed) + 4 * np.eye(size)


A, B, D, U = well(2), well(3), np.array([3.0, -2.0, 5.0]), numbers(3, 2)
AXIS = numbers(3) / np.linalg.norm(numbers(3))
ROW, COLUMN = np.array([5.0, 1.0, 2.0]), np.array([5.0, -1.0, 3.0])
SPECTRUM = np.fft.fft(COLUMN)
KERNEL = numbers(2, 3) + 4 * (np.arange(6).reshape(2, 3) == 0)


def convolution(kernel: Any) -> Any:
    """Return the matrix of a circular convolution of two axes."""
    shape = kernel.shape
    columns = [
        np.roll(kernel, np.unravel_index(place, shape), (0, 1)).reshape(-1)
        for place in range(kernel.size)
    ]
    return np.stack(columns, 1)


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "diagonal": (lambda: la.LinearOperatorDiag(D), np.diag(D)),
    "full": (lambda: la.LinearOperatorFullMatrix(B), B),
    "definite": (
        lambda: la.LinearOperatorFullMatrix(
            B @ B.T, is_self_adjoint=True, is_positive_definite=True
        ),
        B @ B.T,
    ),
    "identity": (lambda: la.LinearOperatorIdentity(3, dtype=tf.float64), np.eye(3)),
    "multiple": (lambda: la.LinearOperatorScaledIdentity(3, np.float64(2.5)), 2.5 * np.eye(3)),
    "reflection": (
        lambda: la.LinearOperatorHouseholder(numbers(3)),
        np.eye(3) - 2 * np.outer(AXIS, AXIS),
    ),
    "toeplitz": (
        lambda: la.LinearOperatorToeplitz(COLUMN, ROW),
        scipy.linalg.toeplitz(COLUMN, ROW),
    ),
    "circulant": (
        lambda: la.LinearOperatorCirculant(SPECTRUM, tf.float64),
        scipy.linalg.circulant(COLUMN),
    ),
    "circulant 2D": (
        lambda: la.LinearOperatorCirculant2D(np.fft.fft2(KERNEL), tf.float64),
        convolution(KERNEL),
    ),
    "blocks": (
        lambda: la.LinearOperatorBlockDiag(
            [la.LinearOperatorFullMatrix(A), la.LinearOperatorDiag(D)]
        ),
        scipy.linalg.block_diag(A, np.diag(D)),
    ),
    "product": (
        lambda: la.LinearOperatorComposition(
            [la.LinearOperatorFullMatrix(B), la.LinearOperatorDiag(D)]
        ),
        B @ np.diag(D),
    ),
    "kronecker": (
        lambda: la.LinearOperatorKronecker(
            [la.LinearOperatorFullMatrix(A), la.LinearOperatorDiag(D), la.LinearOperatorDiag(D)]
        ),
        np.kron(np.kron(A, np.diag(D)), np.diag(D)),
    ),
    "inverse": (
        lambda: la.LinearOperatorInversion(la.LinearOperatorFullMatrix(B)),
        np.linalg.inv(B),
    ),
    "adjoint": (lambda: la.LinearOperatorAdjoint(la.LinearOperatorFullMatrix(B)), B.T),
    "update": (
        lambda: la.LinearOperatorLowRankUpdate(
            la.LinearOperatorFullMatrix(B), U, np.array([2.0, -3.0]), numbers(3, 2, seed=4)
        ),
        B + U @ np.diag([2.0, -3.0]) @ numbers(3, 2, seed=4).T,
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Any:
    make, dense = CASES[request.param]
    with tf.Graph().as_default():
        yield make(), dense


def test_the_matrix_and_its_statistics(case: Any) -> None:
    operator, dense = case
    for ours, expected in [
        (operator.to_dense(), dense),
        (operator.diag_part(), np.diagonal(dense)),
        (operator.trace(), np.trace(dense)),
        (operator.determinant(), np.linalg.det(dense)),
        (operator.log_abs_determinant(), np.linalg.slogdet(dense)[1]),
        (operator.shape_tensor(), dense.shape),
        (operator.add_to_tensor(np.ones_like(dense)), dense + 1),
    ]:
        np.testing.assert_allclose(value(ours), expected, rtol=1e-9, atol=1e-12)
    assert operator.shape.as_list() == list(dense.shape)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("adjoint_arg", [False, True])
def test_products_and_solutions(case: Any, adjoint: bool, adjoint_arg: bool) -> None:
    operator, dense = case
    whole = dense.T if adjoint else dense
    x = numbers(4, len(dense), 2, seed=7)
    given = np.swapaxes(x, -1, -2) if adjoint_arg else x
    ours = value(
        [operator.matmul(given, adjoint, adjoint_arg), operator.solve(given, adjoint, adjoint_arg)]
    )
    np.testing.assert_allclose(ours[0], whole @ x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours[1], np.linalg.inv(whole) @ x, rtol=1e-8, atol=1e-11)
    vectors = value([operator.matvec(x[0, :, 0], adjoint), operator.solvevec(x[0, :, 0], adjoint)])
    np.testing.assert_allclose(vectors[0], whole @ x[0, :, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(vectors[1], np.linalg.solve(whole, x[0, :, 0]), rtol=1e-8)


def test_operators_that_follow(case: Any) -> None:
    operator, dense = case
    other = la.LinearOperatorFullMatrix(well(len(dense), seed=3))
    second = well(len(dense), seed=3)
    for ours, expected in [
        (operator.adjoint(), dense.T),
        (operator.H, dense.T),
        (operator.inverse(), np.linalg.inv(dense)),
        (operator.matmul(other), dense @ second),
        (other.matmul(operator), second @ dense),
        (operator.solve(other), np.linalg.solve(dense, second)),
        (other.solve(operator), np.linalg.solve(second, dense)),
    ]:
        assert isinstance(ours, la.LinearOperator)
        np.testing.assert_allclose(value(ours.to_dense()), expected, rtol=1e-8, atol=1e-10)


def test_sizes_that_a_run_determines() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        matrix, x = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
        full = la.LinearOperatorFullMatrix(matrix)
        operator = la.LinearOperatorKronecker([full, la.LinearOperatorDiag(matrix[..., 0])])
        feeds = {matrix: np.stack([A, A + 1]), x: numbers(4, 2)}
        product, shape = session.run([operator.matmul(x), operator.shape_tensor()], feeds)
        dense = [np.kron(part, np.diag(part[:, 0])) for part in (A, A + 1)]
        np.testing.assert_allclose(product, np.stack(dense) @ numbers(4, 2))
        assert shape.tolist() == [2, 4, 4]


def test_zeros() -> None:
    operator = la.LinearOperatorZeros(2, 3, dtype=tf.float64, is_square=False)
    assert operator.shape.as_list() == [2, 3]
    np.testing.assert_array_equal(value(operator.matmul(numbers(3, 4))), np.zeros([2, 4]))
    square = la.LinearOperatorZeros(3)
    full = la.LinearOperatorFullMatrix(B.astype(np.float32), is_square=True)
    assert square.matmul(full) is square
    with pytest.raises(tf.errors.InvalidArgumentError, match="always non-invertible"):
        square.assert_non_singular()


def test_cholesky_factors() -> None:
    diagonal = la.LinearOperatorDiag(np.abs(D), is_positive_definite=True)
    for operator in (diagonal, CASES["definite"][0]()):
        factor = operator.cholesky()
        lower = value(factor.to_dense())
        np.testing.assert_allclose(lower @ lower.T, value(operator.to_dense()))
    assert isinstance(diagonal.cholesky(), la.LinearOperatorDiag)
    with pytest.raises(ValueError, match="Not a positive definite self adjoint matrix"):
        la.LinearOperatorDiag(D).cholesky()


def test_gradients() -> None:
    diagonal, x = tf.constant(D), tf.constant(numbers(3, 1))
    operator = la.LinearOperatorDiag(diagonal)
    gradient = tf.gradients(tf.reduce_sum(operator.solve(x)), diagonal)[0]
    np.testing.assert_allclose(value(gradient), -numbers(3, 1)[:, 0] / D**2)


def test_a_program_registers_products_of_its_classes() -> None:
    from gpugraph.library.linear_operators import operator_algebra  # noqa: PLC0415

    class Own(la.LinearOperatorDiag):
        """A class of a program."""

    @operator_algebra.RegisterMatmul(Own, la.LinearOperator)
    def product(a: Any, b: Any) -> Any:
        return "own"

    assert Own(D).matmul(la.LinearOperatorDiag(D)) == "own"
    assert isinstance(la.LinearOperatorDiag(D).matmul(Own(D)), la.LinearOperatorDiag)
    with pytest.raises(ValueError, match=r"Matmul\(Own, LinearOperator\) has already been"):
        operator_algebra.RegisterMatmul(Own, la.LinearOperator)(product)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: la.LinearOperatorDiag(1.0), ValueError, "must have at least 1 dimension"),
        (lambda: la.LinearOperatorFullMatrix([[1]]), TypeError, "must have dtype in"),
        (lambda: la.LinearOperatorIdentity(-1), ValueError, "must be non-negative"),
        (lambda: la.LinearOperatorIdentity(2.0), TypeError, "must be integer type"),
        (lambda: la.LinearOperatorComposition([]), ValueError, "non-empty list of operators"),
        (lambda: la.LinearOperatorToeplitz(ROW, ROW[:2]), ValueError, "mismatched dimensions"),
        (
            lambda: la.LinearOperatorInversion(la.LinearOperatorZeros(2)),
            ValueError,
            "must have `is_non_singular` equal to `True` or `None`",
        ),
        (
            lambda: la.LinearOperatorDiag(D).matmul(la.LinearOperatorFullMatrix(A)),
            ValueError,
            "Operators are incompatible. Expected `x` to have dimension 3 but got 2",
        ),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()
