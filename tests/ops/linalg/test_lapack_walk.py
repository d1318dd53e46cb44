"""Every op that LAPACK computes, and its gradient, with matrices at the edges: all of them return.

NaN, infinities, the largest and the smallest numbers at several places, singular and empty
matrices, in several sizes. A child process computes; SIGALRM ends it where a case does not return.
"""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.op_index import MODULE_OF

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 20
SQUARE, OBLONG = ((1, 1), (3, 3), (5, 5)), ((5, 3), (3, 5))
EMPTY = ((0, 0), (2, 0, 0), (0, 3, 3))
MANY = ((2, 2), (40, 40)), ((2, 3), (60, 20), (20, 60))
"""The shapes that the exhaustive test has besides."""

CHILD = """
import sys
from tests.ops.linalg.test_lapack_walk import walk
walk(sys.argv[1:-1], sys.argv[-1] == "many")
"""


def near_one(x: Any) -> Any:
    size = tf.shape(x)[-1]
    return tf.ones_like(x) + tf.eye(size, batch_shape=tf.shape(x)[:-2], dtype=x.dtype)


SQUARES: dict[str, Callable[[Any], Any]] = {
    "SelfAdjointEigV2": lambda x: raw_ops.SelfAdjointEigV2(x, compute_v=True),
    "SelfAdjointEigV2 values": tf.self_adjoint_eigvals,
    "Cholesky": tf.cholesky,
    "CholeskyGrad": lambda x: raw_ops.CholeskyGrad(x, tf.ones_like(x)),
    "MatrixInverse": tf.matrix_inverse,
    "MatrixInverse adjoint": lambda x: tf.matrix_inverse(x, adjoint=True),
    "MatrixSolve": lambda x: tf.matrix_solve(x, tf.ones_like(x)),
    "MatrixSolve right": lambda x: tf.matrix_solve(near_one(x), x),
    "MatrixTriangularSolve": lambda x: tf.matrix_triangular_solve(x, tf.ones_like(x)),
    "MatrixTriangularSolve right": lambda x: tf.matrix_triangular_solve(near_one(x), x),
    "MatrixDeterminant": tf.matrix_determinant,
    "LogMatrixDeterminant": tf.linalg.slogdet,
    "Lu": tf.linalg.lu,
    "MatrixExponential": tf.linalg.expm,
    "MatrixLogarithm": tf.linalg.logm,
    "MatrixSquareRoot": tf.linalg.sqrtm,
    "logdet": tf.linalg.logdet,
    "lu_matrix_inverse": lambda x: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)),
    "lower_triangular": lambda x: tf.linalg.LinearOperatorLowerTriangular(x).solve(x),
    "TridiagonalSolve": lambda x: tf.linalg.tridiagonal_solve(
        [tf.reduce_sum(x, -2)] * 3, x, "sequence"
    ),
}
ANY: dict[str, Callable[[Any], Any]] = {
    "Svd": lambda x: tf.linalg.svd(x),
    "Svd full": lambda x: tf.linalg.svd(x, full_matrices=True),
    "Svd values": lambda x: tf.linalg.svd(x, compute_uv=False),
    "Qr": tf.linalg.qr,
    "Qr full": lambda x: tf.linalg.qr(x, full_matrices=True),
    "MatrixSolveLs": lambda x: tf.matrix_solve_ls(x, tf.ones_like(x)),
    "MatrixSolveLs ridge": lambda x: tf.matrix_solve_ls(x, tf.ones_like(x), 0.5),
    "MatrixSolveLs slow": lambda x: tf.matrix_solve_ls(x, tf.ones_like(x), fast=False),
    "MatrixSolveLs right": lambda x: tf.matrix_solve_ls(tf.ones_like(x), x, fast=False),
    "pinv": tf.linalg.pinv,
    "matrix_rank": tf.linalg.matrix_rank,
    "norm": lambda x: tf.norm(x, 2, axis=(-2, -1)),
}
OPS = {**SQUARES, **ANY}
REAL_ONLY, COMPLEX_ONLY = {"CholeskyGrad", "lower_triangular"}, {"MatrixLogarithm"}


def good(shape: tuple[int, ...], dtype: str) -> Any:
    matrix = np.random.default_rng(sum(shape)).standard_normal(shape)
    if shape[-1] == shape[-2]:
        matrix = matrix @ np.swapaxes(matrix, -1, -2) + np.eye(shape[-1])
    return matrix.astype(dtype)


def matrices(shape: tuple[int, ...], dtype: str) -> Iterator[tuple[str, Any]]:
    """Yield matrices of a shape, with the name of each one's peculiarity."""
    whole = good(shape, dtype)
    yield "good", whole
    if not whole.size:
        return
    yield "zero", np.zeros_like(whole)
    yield "ones", np.ones_like(whole)
    range_of = np.finfo(dtype)
    odd = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
    odd |= {"largest": range_of.max, "smallest": range_of.smallest_subnormal}
    for name, value in odd.items():
        for place in ((0, 0), (-1, -1), (-1, 0), (0, -1)):
            matrix = whole.copy()
            matrix[place] = value
            yield f"{name} at {place}", matrix
        yield f"{name} in all", np.full_like(whole, value)
    matrix = whole.copy()
    matrix[0, 0], matrix[-1, 0] = np.inf, np.nan
    yield "inf and nan", matrix


def gradient_of(outputs: Any, x: Any) -> Any:
    """Return the gradient of all outputs that have one; None where the op has none for them."""
    listed = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    inexact = [y for y in listed if y.dtype.is_floating or y.dtype.is_complex]
    try:
        return tf.gradients(inexact, x)[0] if inexact else None
    except (NotImplementedError, TypeError, ValueError, LookupError):
        return None


def walk(names: list[str], is_all: bool) -> None:
    """Compute all cases of some ops; print each case before and a full stop after it."""
    warnings.simplefilter("ignore")
    for name in names:
        square, oblong = (SQUARE + MANY[0], OBLONG + MANY[1]) if is_all else (SQUARE, OBLONG)
        shapes = (*square, *EMPTY, *(oblong + ((0, 3), (3, 0)) if name in ANY else ()))
        dtypes = ("f4", "f8", "c8", "c16") if is_all else ("f4", "c16")
        for dtype in dtypes:
            is_complex = dtype.startswith("c")
            if (name in REAL_ONLY and is_complex) or (name in COMPLEX_ONLY and not is_complex):
                continue
            for shape in shapes:
                with np.errstate(all="ignore"):
                    walk_shape(name, shape, dtype)


def walk_shape(name: str, shape: tuple[int, ...], dtype: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(np.dtype(dtype), shape)
        outputs = OPS[name](x)
        fetched = {"value": outputs, "gradient": gradient_of(outputs, x)}
        for label, matrix in matrices(shape, dtype):
            for part, fetches in fetched.items():
                if fetches is None:
                    continue
                print(f"{name}, {part}, {dtype}, {shape}, {label}", end=" ", flush=True)
                signal.alarm(SECONDS)
                try:
                    session.run(fetches, {x: matrix})
                except tf.errors.InvalidArgumentError:
                    print("refused", end="")
                signal.alarm(0)
                print(".", flush=True)


def check(names: list[str], is_all: bool) -> None:
    command = [sys.executable, "-c", CHILD, *names, "many" if is_all else "few"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    problem = f"{lines[-1:]} did not return: {done.stderr[-2000:]}"
    assert done.returncode == 0, problem
    assert len(lines) > 20 * len(names)


@pytest.mark.parametrize("part", range(4))
def test_all_return(part: int) -> None:
    check(list(OPS)[part::4], False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OPS)
def test_all_return_in_each_size_and_dtype(name: str) -> None:
    check([name], True)


def test_the_walk_has_each_op_of_lapack() -> None:
    using = set()
    for name, module in MODULE_OF.items():
        found = importlib.util.find_spec(f"gpugraph.ops.{module}")
        assert found is not None and found.origin is not None
        source = Path(found.origin).read_text("utf-8")
        if module.startswith("linalg.") and ("np.linalg." in source or "lapack_op(" in source):
            using.add(name)
    assert using - {name.split()[0] for name in OPS} == {"TridiagonalMatMul"}  # only multiplies


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values_of_what_is_not_finite_are_nan(value: float, full: bool) -> None:
    stack = np.stack([good((4, 3), "f8")] * 3)
    stack[1, 2, 1] = value
    with tf.Graph().as_default():
        alone, both = run([tf.linalg.svd(stack, full, False), tf.linalg.svd(stack, full)])
    for result in (alone, *both):
        assert np.isnan(result[1]).all()
        assert np.isfinite(result[[0, 2]]).all()
    np.testing.assert_allclose(alone[0], np.linalg.svd(stack[0], compute_uv=False))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_least_squares_of_what_is_not_finite_are_zero(value: float) -> None:
    """As of matrices of rank 0, which TensorFlow takes these for."""
    stack = np.stack([good((4, 3), "f8")] * 2)
    stack[1, 2, 1] = value
    with tf.Graph().as_default():
        result = run(tf.matrix_solve_ls(stack, np.ones((2, 4, 1)), fast=False))
    np.testing.assert_array_equal(result[1], np.zeros((3, 1)))
    np.testing.assert_allclose(result[0], np.linalg.lstsq(stack[0], np.ones((4, 1)))[0])


def test_slow_least_squares_know_of_no_regularizer() -> None:
    a, b = good((4, 3), "f8"), np.ones((4, 1))
    with tf.Graph().as_default():
        result = run(tf.matrix_solve_ls(a, b, l2_regularizer=10.0, fast=False))
    np.testing.assert_allclose(result, np.linalg.lstsq(a, b)[0])


def test_eigenvalues_of_what_is_not_finite_are_refused() -> None:
    for value in (np.nan, np.inf):
        x = good((2, 2), "f8")
        x[0, 0] = value
        with (
            tf.Graph().as_default(),
            pytest.raises(tf.errors.InvalidArgumentError, match="decomposition was not successful"),
        ):
            run(tf.self_adjoint_eig(x))
        with tf.Graph().as_default():
            e, v = run(tf.self_adjoint_eig(np.array([[value]])))
        np.testing.assert_array_equal(e, [value])
        np.testing.assert_array_equal(v, [[1.0]])
