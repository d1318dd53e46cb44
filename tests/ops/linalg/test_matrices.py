"""Matrices taken apart: names in the graph, values, gradients of symmetric ones, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def random(*shape, seed=0):
    return np.random.default_rng(seed + len(shape)).uniform(-1, 1, shape)


def definite(*shape):
    x = random(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


class TestNames:
    def test_single_ops_have_the_name_that_is_given(self):
        x = tf.constant(definite(2, 2))
        tensors = [
            tf.matrix_inverse(x),
            tf.matrix_determinant(x),
            tf.cholesky(x),
            tf.matrix_solve(x, x),
            tf.matrix_triangular_solve(x, x),
            tf.matrix_diag(x),
            tf.matrix_diag_part(x),
            tf.matrix_set_diag(x, x[0]),
            tf.matrix_band_part(x, 0, 0),
            tf.trace(x),
            tf.diag(x, name="own"),
        ]
        names = [tensor.op.name for tensor in tensors]
        assert names[:7] == [
            "MatrixInverse",
            "MatrixDeterminant",
            "Cholesky",
            "MatrixSolve",
            "MatrixTriangularSolve",
            "diag",
            "diag_part",
        ]
        assert names[7:] == ["set_diag", "MatrixBandPart", "Trace", "own"]

    def test_made_of_several(self):
        assert tf.eye(3).op.name == "eye/diag"
        assert tf.eye(3, 2).op.name == "eye_1/set_diag"
        assert tf.norm(random(3)).op.name == "norm/Squeeze"
        assert tf.einsum("ij,jk->ik", random(2, 3), random(3, 2)).op.name == "einsum/MatMul"
        assert tf.svd(random(2, 2))[1].op.name == "Svd"


class TestEye:
    def test_values(self):
        np.testing.assert_array_equal(run(tf.eye(2, 3, dtype=tf.int32)), np.eye(2, 3, dtype=int))
        tensor = tf.eye(2, batch_shape=[3, 1])
        assert tensor.shape.as_list() == [3, 1, 2, 2]
        np.testing.assert_array_equal(run(tensor), np.broadcast_to(np.eye(2), (3, 1, 2, 2)))

    def test_of_a_size_that_is_fed(self):
        rows = tf.placeholder(tf.int32, [])
        result = run([tf.eye(rows), tf.eye(rows, 2), tf.eye(2, batch_shape=[rows])], {rows: 3})
        np.testing.assert_array_equal(result[0], np.eye(3))
        np.testing.assert_array_equal(result[1], np.eye(3, 2))
        assert result[2].shape == (3, 2, 2)


class TestDiagonals:
    def test_several_diagonals_of_a_tridiagonal_matrix(self):
        diagonals = np.array([[1.0, 2, 0], [3, 4, 5], [6, 7, 0]])
        tensor = tf.matrix_diag(diagonals, k=(-1, 1))
        np.testing.assert_array_equal(run(tensor), [[3, 1, 0], [6, 4, 2], [0, 7, 5]])
        back = tf.matrix_diag_part(tensor, k=(-1, 1))
        np.testing.assert_array_equal(run(back), diagonals)

    def test_padding(self):
        tensor = tf.matrix_diag([1.0, 2.0], k=1, num_rows=2, padding_value=9.0)
        np.testing.assert_array_equal(run(tensor), [[9, 1, 9], [9, 9, 2]])

    @pytest.mark.parametrize("k", [5, (1, 0), (-4, 0)])
    def test_outside(self, k):
        with pytest.raises(ValueError):
            tf.matrix_diag_part(random(3, 3), k=k)

    def test_the_diagonals_must_fit(self):
        with pytest.raises(ValueError):
            tf.matrix_diag(random(3, 2), k=(0, 1))
        with pytest.raises(ValueError, match="rows or columns"):
            tf.matrix_diag([1.0, 2.0], num_rows=1, num_cols=1)
        with pytest.raises(ValueError):
            tf.matrix_set_diag(random(2, 2), random(3))
        with pytest.raises(ValueError):
            tf.diag_part(random(2, 3))

    def test_a_band_wider_than_the_matrix(self):
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_lower"):
            run(tf.matrix_band_part(random(2, 2), 3, 0))


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda x: tf.matrix_inverse(x, name="it"), "Input is not invertible"),
            (lambda x: tf.matrix_solve(x, x, name="it"), "Input matrix is not invertible"),
            (
                lambda x: tf.matrix_triangular_solve(x, x, name="it"),
                "Input matrix is not invertible",
            ),
            (lambda x: tf.cholesky(x, name="it"), "Cholesky decomposition was not successful"),
        ],
    )
    def test_singular_matrices_fail_the_run_by_name(self, make, message):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message) as failed:
            run(make(tf.zeros([2, 2])))
        assert "it" in str(failed.value)

    def test_what_is_no_number(self):
        nan = tf.fill([2, 2], np.nan)
        assert np.isnan(run(tf.svd(nan, compute_uv=False))).all()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Self-adjoint"):
            run(tf.self_adjoint_eigvals(nan))

    def test_shapes(self):
        for make in (tf.matrix_inverse, tf.matrix_determinant, tf.cholesky, tf.self_adjoint_eig):
            with pytest.raises(ValueError, match="must be equal"):
                make(random(2, 3))
            with pytest.raises(ValueError, match="rank"):
                make(random(3))
        with pytest.raises(ValueError):
            tf.matrix_solve(random(2, 2), random(3, 1))
        with pytest.raises(ValueError, match="3 elements"):
            tf.cross(random(2, 2), random(2, 2))
        with pytest.raises(TypeError):
            tf.matrix_inverse(np.eye(2, dtype=np.int32))


class TestSymmetricGradients:
    """By the free elements of a symmetric matrix, which two places share."""

    @pytest.mark.parametrize(
        "function", [tf.cholesky, tf.self_adjoint_eigvals, lambda x: tf.self_adjoint_eig(x)[0]]
    )
    def test_slope(self, function):
        start = definite(3, 3)
        free = tf.placeholder(tf.float64, [3, 3])
        y = function(0.5 * (free + tf.transpose(free)))
        weights = random(*y.shape.as_list(), seed=3)
        total = tf.reduce_sum(y * weights)
        grad = tf.gradients(total, free)[0]
        with tf.Session() as session:
            result = session.run(grad, {free: start})
            for index in np.ndindex(3, 3):
                sums = []
                for step in (1e-6, -1e-6):
                    moved = start.copy()
                    moved[index] += step
                    sums.append(session.run(total, {free: moved}))
                assert result[index] == pytest.approx((sums[0] - sums[1]) / 2e-6, abs=1e-6)

    def test_refused(self):
        x = tf.constant(random(2, 3))
        with pytest.raises(NotImplementedError, match="more columns than rows"):
            tf.gradients(tf.qr(x)[1], x)
        x = tf.constant(random(4, 2))
        with pytest.raises(NotImplementedError, match="arbitrary"):
            tf.gradients(tf.svd(x, full_matrices=True)[1], x)
        x = tf.constant(random(2, 2) + 1j)
        with pytest.raises(NotImplementedError, match="complex"):
            tf.gradients(tf.svd(x)[1], x, [tf.constant(random(2, 2) + 0j)])


class TestNorm:
    @pytest.mark.parametrize("order", ["euclidean", 1, 2, 3, 2.5, np.inf])
    def test_of_vectors(self, order):
        x = random(2, 3, 4)
        numpy_order = 2 if order == "euclidean" else order
        tensor = tf.norm(x, order, axis=1, keepdims=True)
        np.testing.assert_allclose(run(tensor), np.linalg.norm(x, numpy_order, 1, True))
        whole = np.linalg.norm(x.reshape(-1), numpy_order)
        np.testing.assert_allclose(run(tf.norm(x, order)), whole)

    @pytest.mark.parametrize("order", ["euclidean", "fro", 1, 2, np.inf])
    @pytest.mark.parametrize("axis", [(-2, -1), (0, 2), (2, 1)])
    def test_of_matrices(self, order, axis):
        x = random(2, 3, 4)
        numpy_order = "fro" if order == "euclidean" else order
        for keep in (False, True):
            result = run(tf.norm(x, order, axis=axis, keepdims=keep))
            np.testing.assert_allclose(result, np.linalg.norm(x, numpy_order, axis, keep))

    def test_refused(self):
        for order, axis in (("fro", None), (0, None), (3, (0, 1)), ("x", 0), (2, (1, 1))):
            with pytest.raises(ValueError):
                tf.norm(random(2, 2), order, axis)
        with pytest.raises(ValueError, match="Cannot specify both"):
            tf.norm(random(2), keepdims=True, keep_dims=True)


class TestLeastSquares:
    @pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
    @pytest.mark.parametrize("known", [True, False])
    def test_values(self, shape, known):
        a, b = random(*shape), random(shape[0], 2, seed=4)
        x = tf.placeholder(tf.float64, shape if known else None)
        for fast in (True, False):
            tensor = tf.matrix_solve_ls(x, b, fast=fast)
            np.testing.assert_allclose(run(tensor, {x: a}), np.linalg.pinv(a) @ b, atol=1e-9)

    def test_regularized(self):
        a, b = random(4, 2), random(4, 1)
        wanted = np.linalg.solve(a.T @ a + 0.5 * np.eye(2), a.T @ b)
        np.testing.assert_allclose(run(tf.matrix_solve_ls(a, b, 0.5)), wanted)
        assert tf.linalg.lstsq is tf.matrix_solve_ls

    def test_rank_deficient(self):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(tf.matrix_solve_ls(np.zeros((3, 2)), np.ones((3, 1))))
        result = run(tf.matrix_solve_ls(np.zeros((3, 2)), np.ones((3, 1)), fast=False))
        np.testing.assert_array_equal(result, np.zeros((2, 1)))


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ijk->kji", (2, 3, 4)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("ij->", (2, 3)),
    ("i,i->", (3,), (3,)),
    ("i,j->ij", (3,), (2,)),
    ("ijm,jkm->ikm", (2, 3, 4), (3, 5, 4)),
    ("abc,cd,de->abe", (2, 3, 4), (4, 2), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("bhwc,hkc->bkw", (2, 3, 4, 5), (3, 2, 5)),
    ("ij,kl->", (2, 3), (4, 5)),
    ("i,ij->ij", (2,), (2, 3)),
]


class TestEinsum:
    @pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
    @pytest.mark.parametrize("known", [True, False])
    def test_values(self, case, known):
        equation, *shapes = case
        arrays = [random(*shape, seed=index) for index, shape in enumerate(shapes)]
        inputs = [tf.placeholder(tf.float64, x.shape if known else [None] * x.ndim) for x in arrays]
        tensor = tf.einsum(equation, *inputs)
        wanted = np.einsum(equation, *arrays)
        assert tensor.shape.is_compatible_with(wanted.shape)
        result = run(tensor, dict(zip(inputs, arrays, strict=True)))
        np.testing.assert_allclose(result, wanted)

    @pytest.mark.parametrize(
        ("equation", "shapes"),
        [
            ("ij,jk->iz", [(2, 3), (3, 4)]),
            ("ij->ii", [(2, 3)]),
            ("ij->i,j", [(2, 3)]),
            ("i,j->ij", [(2,)]),
            ("ijk->i", [(2, 3)]),
            ("...i->i", [(2, 3)]),
            ("ij,jk->ik", [(2, 3), (4, 2)]),
        ],
    )
    def test_refused(self, equation, shapes):
        with pytest.raises(ValueError):
            tf.einsum(equation, *[random(*shape) for shape in shapes])

    def test_unknown_rank(self):
        with pytest.raises(ValueError, match="rank"):
            tf.einsum("ij->ji", tf.placeholder(tf.float32))

    def test_gradient(self):
        a, b = tf.constant(random(2, 3)), tf.constant(random(3, 4))
        da, db = tf.gradients(tf.einsum("ij,jk->k", a, b), [a, b])
        result = run([da, db, a, b])
        np.testing.assert_allclose(result[0], np.ones((2, 1)) * result[3].sum(1))
        np.testing.assert_allclose(result[1], result[2].sum(0)[:, None] * np.ones((1, 4)))


def test_small_functions():
    a, p = random(2, 3, 3), definite(2, 3, 3)
    v = random(2, 3)
    fetched = run(
        [
            tf.linalg.matvec(a, v),
            tf.linalg.logdet(p),
            tf.linalg.adjoint(a + 1j),
            tf.cholesky_solve(tf.cholesky(p), a),
            tf.trace(a),
            list(tf.linalg.slogdet(a)),
        ]
    )
    wanted = [
        (a @ v[..., None])[..., 0],
        np.linalg.slogdet(p)[1],
        np.swapaxes(a - 1j, 1, 2),
        np.linalg.solve(p, a),
        np.trace(a, axis1=1, axis2=2),
    ]
    for result, right in zip(fetched, wanted):
        np.testing.assert_allclose(result, right, atol=1e-9)
    np.testing.assert_allclose(fetched[5][0] * np.exp(fetched[5][1]), np.linalg.det(a))


def test_complex_singular_values_are_real():
    x = random(3, 2) + 1j * random(3, 2, seed=9)
    s, u, v = tf.svd(x)
    assert s.dtype is tf.float64
    found_s, found_u, found_v = run([s, u, v])
    np.testing.assert_allclose((found_u * found_s) @ found_v.conj().T, x, atol=1e-12)
