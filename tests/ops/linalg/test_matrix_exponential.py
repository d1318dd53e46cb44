"""Functions of matrices, triangles, three diagonals, ranks and pseudo-inverses, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..function_cases import fetched, refuses, same
from ..samples_of_factors import three_diagonals

DRAWN = np.random.default_rng(0).normal(size=(2, 3, 3))


def test_exponential_of_large_and_of_no_numbers():
    turn = np.array([[0, -50.0], [50.0, 0]])
    wanted = np.array([[np.cos(50), -np.sin(50)], [np.sin(50), np.cos(50)]])
    same(lambda: tf.linalg.expm(turn), wanted, 1e-12)
    same(lambda: tf.linalg.expm(np.zeros((2, 2))), np.eye(2))
    assert np.isnan(fetched(lambda: tf.linalg.expm(np.full((2, 2), np.inf)))).all()
    refuses(lambda: tf.linalg.expm(np.zeros((2, 3))), ValueError, "equal")


def test_roots_and_logarithms_undo():
    square = DRAWN @ DRAWN
    root = fetched(lambda: tf.linalg.sqrtm(square.astype(complex)))
    np.testing.assert_allclose(root @ root, square, atol=1e-10)
    logs = fetched(lambda: tf.linalg.logm(DRAWN.astype(complex)))
    same(lambda: tf.linalg.expm(logs), DRAWN, 1e-9)
    refuses(lambda: tf.linalg.logm(DRAWN), TypeError, "complex")


def test_roots_of_singular_matrices():
    same(lambda: tf.linalg.sqrtm(np.zeros((2, 2))), np.zeros((2, 2)))
    ones = np.ones((2, 2))
    same(lambda: tf.linalg.sqrtm(ones), ones / np.sqrt(2), 1e-7)
    assert np.isnan(fetched(lambda: tf.linalg.sqrtm(np.diag([-1.0, 2.0])))).all()
    assert np.isnan(fetched(lambda: tf.linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]])))).all()


@pytest.mark.parametrize("batch", [(), (2,)])
def test_triangles(batch: tuple[int, ...]):
    matrices = DRAWN if batch else DRAWN[0]
    right = np.random.default_rng(1).normal(size=(*batch, 3, 2))

    def solved(what):
        lower_upper, perm = tf.linalg.lu(matrices)
        return what(lower_upper, perm)

    same(lambda: solved(tf.linalg.lu_reconstruct), matrices, 1e-12)
    same(lambda: solved(tf.linalg.lu_matrix_inverse), np.linalg.inv(matrices), 1e-10)
    wanted = np.linalg.solve(matrices, right)
    same(lambda: solved(lambda *lu: tf.linalg.lu_solve(*lu, right)), wanted, 1e-10)
    same(
        lambda: solved(lambda *lu: tf.linalg.lu_solve(*lu, right, validate_args=True)),
        wanted,
        1e-10,
    )


def test_triangles_refuse():
    invalid = tf.errors.InvalidArgumentError
    refuses(lambda: tf.linalg.lu(np.zeros((2, 2))), invalid, "not invertible")
    refuses(lambda: tf.linalg.lu(np.zeros((2, 3))), ValueError, "equal")
    wrong = np.eye(2), np.array([0, 1, 2])
    refuses(lambda: tf.linalg.lu_reconstruct(*wrong, validate_args=True), ValueError, "compatible")


def test_one_right_side_for_a_batch_of_triangles():
    right = np.random.default_rng(1).normal(size=(3, 2))
    wanted = np.linalg.solve(DRAWN, np.stack([right] * 2))
    same(lambda: tf.linalg.lu_solve(*tf.linalg.lu(DRAWN), right), wanted, 1e-10)


def test_formats_of_three_diagonals():
    rows = np.random.default_rng(2).normal(size=(3, 4)) + [[0], [5], [0]]
    matrix, right = three_diagonals(*rows), np.random.default_rng(3).normal(size=(4, 2))
    formats = {"compact": rows, "sequence": list(rows), "matrix": matrix}
    solved = np.linalg.solve(matrix, right)
    solve, product = tf.linalg.tridiagonal_solve, tf.linalg.tridiagonal_matmul
    for name, diagonals in formats.items():
        same(lambda d=diagonals, n=name: solve(d, right, n), solved, 1e-12)
        same(lambda d=diagonals, n=name: solve(d, right.T, n, transpose_rhs=True), solved, 1e-12)
        same(lambda d=diagonals, n=name: solve(d, right[:, 0], n), solved[:, 0], 1e-12)
        same(lambda d=diagonals, n=name: product(d, right, n), matrix @ right, 1e-12)
    assert np.isnan(fetched(lambda: solve(np.zeros((3, 2)), right[:2]))).all()
    refuses(lambda: tf.linalg.tridiagonal_solve(rows, right, "other"), ValueError, "other")
    refuses(lambda: tf.linalg.tridiagonal_solve([rows], right, "sequence"), ValueError, "length 3")
    refuses(lambda: tf.linalg.tridiagonal_matmul(right, right, "matrix"), ValueError, "be same")


def test_ranks_and_pseudo_inverses():
    low = DRAWN[:, :, :2] @ DRAWN[:, :2]
    same(lambda: tf.linalg.matrix_rank(low), [2, 2])
    same(lambda: tf.linalg.matrix_rank(low, tol=1e9), [0, 0])
    same(lambda: tf.linalg.pinv(low), np.linalg.pinv(low, rcond=1e-12), 1e-10)
    same(lambda: tf.linalg.pinv(low[:, :2], rcond=0.1), np.linalg.pinv(low[:, :2], rcond=0.1), 1e-9)
    refuses(lambda: tf.linalg.pinv(np.ones((2, 2), np.int32)), TypeError, "float")
    refuses(lambda: tf.linalg.matrix_rank(np.ones(2)), ValueError, "2 dimensions")


def test_normalized():
    result, size = fetched(lambda: tf.linalg.normalize(DRAWN, axis=1))
    np.testing.assert_allclose(size, np.linalg.norm(DRAWN, axis=1, keepdims=True))
    np.testing.assert_allclose(result * size, DRAWN)


def test_names_in_the_graph():
    with tf.Graph().as_default() as graph:
        tf.linalg.matrix_transpose(tf.ones([2, 3]))
        tf.linalg.svd(tf.ones([2, 2], tf.complex64), compute_uv=False)
        tf.linalg.lu(tf.eye(2))
        types = {operation.name: operation.type for operation in graph.get_operations()}
    assert types["matrix_transpose/transpose"] == "Transpose"
    assert types["Real"] == "Real" and types["Lu"] == "Lu"
