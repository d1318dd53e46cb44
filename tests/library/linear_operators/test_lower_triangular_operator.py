"""LinearOperatorLowerTriangular against NumPy's dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

Lower = tf.linalg.LinearOperatorLowerTriangular
TRIL = np.array([[[2.0, 9.0], [1.0, -3.0]], [[4.0, 9.0], [1.0, 5.0]], [[1.0, 2.0], [3.0, 4.0]]])
DENSE = np.tril(TRIL)


def value(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("adjoint_arg", [False, True])
@pytest.mark.parametrize("batch", [(3,), (), (4, 3)])
@pytest.mark.parametrize("is_fed", [False, True])
def test_products_and_solutions(adjoint, adjoint_arg, batch, is_fed):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(*batch, *((5, 2) if adjoint_arg else (2, 5))))
    dense = np.swapaxes(DENSE, -1, -2) if adjoint else DENSE
    right = np.swapaxes(x, -1, -2) if adjoint_arg else x
    given = tf.placeholder(tf.float64, None) if is_fed else tf.constant(x)
    operator = Lower(TRIL)
    product = operator.matmul(given, adjoint, adjoint_arg)
    solution = operator.solve(given, adjoint, adjoint_arg)
    ours = value((product, solution), {given: x})
    np.testing.assert_allclose(ours[0], dense @ right, rtol=1e-12)
    np.testing.assert_allclose(ours[1], np.linalg.inv(dense) @ right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("adjoint", [False, True])
def test_vectors(adjoint):
    x = np.array([[1.0, 2.0], [3.0, -4.0], [0.5, 0.0]])
    dense = np.swapaxes(DENSE, -1, -2) if adjoint else DENSE
    operator = Lower(TRIL)
    product, solution = value((operator.matvec(x, adjoint), operator.solvevec(x, adjoint)))
    np.testing.assert_allclose(product, (dense @ x[..., None])[..., 0])
    np.testing.assert_allclose(solution, (np.linalg.inv(dense) @ x[..., None])[..., 0])


def test_statistics():
    operator = Lower(TRIL)
    addend = np.ones([2, 2])
    for ours, expected in [
        (operator.to_dense(), DENSE),
        (operator.diag_part(), np.diagonal(DENSE, axis1=1, axis2=2)),
        (operator.trace(), np.trace(DENSE, axis1=1, axis2=2)),
        (operator.determinant(), np.linalg.det(DENSE)),
        (operator.log_abs_determinant(), np.linalg.slogdet(DENSE)[1]),
        (operator.add_to_tensor(addend), DENSE + addend),
        (operator @ addend, DENSE @ addend),
        (operator.shape_tensor(), [3, 2, 2]),
        (operator.batch_shape_tensor(), [3]),
        (operator.domain_dimension_tensor(), 2),
        (operator.range_dimension_tensor(), 2),
    ]:
        np.testing.assert_allclose(value(ours), expected)
    assert operator.shape.as_list() == [3, 2, 2] and operator.batch_shape.as_list() == [3]
    assert operator.tensor_rank == 3 and operator.domain_dimension == 2
    assert operator.name == "LinearOperatorLowerTriangular" and operator.dtype == tf.float64


def test_gradients_are_those_of_the_triangle():
    tril = tf.constant(TRIL[0])
    operator = Lower(tril)
    (slope,) = tf.gradients(operator.log_abs_determinant(), [tril])
    np.testing.assert_allclose(value(slope), np.diag([0.5, -1 / 3]))
    (slope,) = tf.gradients(operator.matmul(np.eye(2)), [tril])
    np.testing.assert_allclose(value(slope), np.tril(np.ones([2, 2])))


def test_promises():
    operator = Lower(TRIL, is_positive_definite=True)
    assert operator.is_non_singular and operator.is_square and operator.is_self_adjoint is None
    assert Lower(TRIL).is_non_singular is None
    with pytest.raises(ValueError, match="A positive definite matrix is always non-singular"):
        Lower(TRIL, is_non_singular=False, is_positive_definite=True)
    with pytest.raises(ValueError, match="Only square lower triangular operators supported"):
        Lower(TRIL, is_square=False)
    with pytest.raises(NotImplementedError, match="expected to be singular"):
        Lower(TRIL, is_non_singular=False).solve(np.ones([2, 1]))


def test_checks_in_a_run():
    value(Lower(TRIL).assert_non_singular())
    with pytest.raises(tf.errors.InvalidArgumentError, match="Diagonal contained zero values"):
        value(Lower(tf.placeholder_with_default([[0.0, 0], [1, 1]], [2, 2])).assert_non_singular())
    symmetric = Lower(tf.placeholder_with_default([[1.0, 0], [0, 2]], [2, 2]))
    value(symmetric.assert_self_adjoint())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to its adjoint"):
        value(Lower(tf.placeholder_with_default([[1.0, 0], [1, 2]], [2, 2])).assert_self_adjoint())
    with pytest.raises(NotImplementedError, match="assert_positive_definite is not implemented"):
        symmetric.assert_positive_definite()


def test_arguments_that_do_not_fit():
    operator = Lower(TRIL)
    with pytest.raises(ValueError, match="Argument tril must have at least 2 dimensions"):
        Lower([1.0])
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        operator.matmul(np.ones([3, 1]))
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        operator.solve(np.ones([3, 1]))
    with pytest.raises(TypeError, match="Expected argument to have dtype"):
        operator.matmul(np.ones([2, 1], np.float32))
    with pytest.raises(ValueError, match="must have rank at least 2"):
        operator.matmul(np.ones([2]))


def test_an_operator_of_the_program():
    class Twice(tf.linalg.LinearOperator):
        def _shape(self):
            return tf.TensorShape([2, 2])

        def _shape_tensor(self):
            return tf.constant([2, 2])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)

    operator = Twice(tf.float32)
    x = np.array([[1, 2], [3, 4]], np.float32)
    dense, product, solution, size, diagonal = value(
        (
            operator.to_dense(),
            operator.matmul(x, adjoint_arg=True),
            operator.solve(x),
            operator.log_abs_determinant(),
            operator.diag_part(),
        )
    )
    np.testing.assert_allclose(dense, 2 * np.eye(2))
    np.testing.assert_allclose(product, 2 * x.T)
    np.testing.assert_allclose(solution, x / 2)
    np.testing.assert_allclose(size, np.log(4), rtol=1e-6)
    np.testing.assert_allclose(diagonal, [2, 2])
