"""Bijectors: inverses, and determinants beside numerical Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

tfb = tf.contrib.distributions.bijectors
X = np.array([0.3, 0.5, 0.7])
TRIL = np.tril(np.random.RandomState(0).rand(3, 3) + 0.5)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    """Each test has a graph of its own."""
    with tf.Graph().as_default():
        yield


def double(value: float) -> Any:
    return np.float64(value)


VECTORS: dict[str, Callable[[], Any]] = {
    "Exp": tfb.Exp,
    "Sigmoid": tfb.Sigmoid,
    "Softsign": tfb.Softsign,
    "Square": tfb.Square,
    "Ordered": tfb.Ordered,
    "Identity": tfb.Identity,
    "PowerTransform": lambda: tfb.PowerTransform(0.5),
    "Softplus": lambda: tfb.Softplus(double(2.0)),
    "Gumbel": lambda: tfb.Gumbel(double(0.1), double(2.0)),
    "Weibull": lambda: tfb.Weibull(double(1.5), double(2.0)),
    "Kumaraswamy": lambda: tfb.Kumaraswamy(double(2.0), double(3.0)),
    "SinhArcsinh": lambda: tfb.SinhArcsinh(double(0.2), double(1.3)),
    "AffineScalar": lambda: tfb.AffineScalar(double(1.0), double(-2.0)),
    "Affine, triangle": lambda: tfb.Affine(X, scale_tril=TRIL),
    "Affine, number": lambda: tfb.Affine(X, scale_identity_multiplier=double(2.5)),
    "Affine, update": lambda: tfb.Affine(scale_diag=X, scale_perturb_factor=np.ones([3, 1])),
    "AffineLinearOperator": lambda: tfb.AffineLinearOperator(
        X, tf.linalg.LinearOperatorLowerTriangular(TRIL)
    ),
    "Permute": lambda: tfb.Permute([2, 0, 1]),
    "Invert": lambda: tfb.Invert(tfb.Exp()),
    "Chain": lambda: tfb.Chain([tfb.Affine(scale_diag=X), tfb.Softplus()]),
    "Inline": lambda: tfb.Inline(
        forward_fn=tf.exp,
        inverse_fn=tf.log,
        inverse_log_det_jacobian_fn=lambda y: -tf.log(y),
        forward_min_event_ndims=0,
    ),
}


def jacobian(bijector: Any, x: Any, places: Any = ...) -> Any:
    """Return the numerical Jacobian of the elements at `places`, and y."""
    with tf.Session() as session:
        given = tf.placeholder(tf.float64, x.shape)
        y = bijector.forward(given)
        rows = []
        for place in zip(*places) if places is not ... else np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[place] = 1e-6
            change = session.run(y, {given: x + step}) - session.run(y, {given: x - step})
            rows.append(change[places].reshape(-1) / 2e-6)
        return np.array(rows), session.run(y, {given: x})


def check(bijector: Any, x: Any, ndims: int, places: Any = ...) -> None:
    numbers, y = jacobian(bijector, x, places)
    with tf.Session() as session:
        forward, backward, again = session.run(
            [
                bijector.forward_log_det_jacobian(tf.constant(x), ndims),
                bijector.inverse_log_det_jacobian(tf.constant(y), ndims),
                bijector.inverse(tf.constant(y)),
            ]
        )
    expected = np.linalg.slogdet(numbers)[1]
    np.testing.assert_allclose([forward, -backward], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(again, x, rtol=1e-9)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    check(VECTORS[name](), X, 1)


@pytest.mark.parametrize(
    "make",
    [tfb.CholeskyOuterProduct, tfb.MatrixInverseTriL, lambda: tfb.TransformDiagonal(tfb.Exp())],
)
def test_triangular_matrices(make: Any) -> None:
    check(make(), TRIL, 2, np.tril_indices(3))


def test_triangles_of_vectors() -> None:
    fill = tf.contrib.distributions.fill_triangular
    back = tf.contrib.distributions.fill_triangular_inverse
    numbers = np.arange(1, 7)
    with tf.Session() as session:
        lower, upper = session.run([fill(numbers), fill(numbers, upper=True)])
        assert lower.tolist() == [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
        assert upper.tolist() == [[1, 2, 3], [0, 5, 6], [0, 0, 4]]
        again = session.run([back(tf.constant(lower)), back(tf.constant(upper), upper=True)])
        assert [part.tolist() for part in again] == [numbers.tolist()] * 2
        bijector = tfb.ScaleTriL(diag_shift=double(1e-5))
        matrix = bijector.forward(tf.constant(np.arange(1.0, 7.0)))
        assert (np.diagonal(session.run(matrix)) > 0).all()
        again = session.run(bijector.inverse(matrix + 0.0))
        np.testing.assert_allclose(again, np.arange(1.0, 7.0))
    assert (bijector.forward_min_event_ndims, bijector.inverse_min_event_ndims) == (1, 2)
    with pytest.raises(ValueError, match="does not correspond to a triangular matrix"):
        fill(np.arange(5))


def test_softmax_of_one_more_element() -> None:
    bijector = tfb.SoftmaxCentered()
    y = bijector.forward(tf.constant(X))
    with tf.Session() as session:
        values, again, logs = session.run(
            [y, bijector.inverse(y + 0.0), bijector.inverse_log_det_jacobian(y, 1)]
        )
    np.testing.assert_allclose(values.sum(), 1.0)
    np.testing.assert_allclose(again, X)
    np.testing.assert_allclose(logs, -np.log(values).sum())
    assert bijector.forward_event_shape([3]).as_list() == [4]


def test_reshape() -> None:
    bijector = tfb.Reshape([-1, 2], [6])
    y = bijector.forward(np.arange(12.0).reshape(2, 6))
    with tf.Session() as session:
        assert session.run(y).shape == (2, 3, 2)
        assert session.run(bijector.inverse(y + 0.0)).shape == (2, 6)
        assert session.run(bijector.forward_event_shape_tensor([6])).tolist() == [3, 2]
    assert bijector.forward_event_shape([6]).as_list() == [3, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tfb.MaskedAutoregressiveFlow(tfb.masked_autoregressive_default_template([6, 6])),
        lambda: tfb.MaskedAutoregressiveFlow(
            tfb.masked_autoregressive_default_template([6]), unroll_loop=True
        ),
        lambda: tfb.RealNVP(1, tfb.real_nvp_default_template([8])),
    ],
)
def test_flows(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        bijector, x = make(), tf.constant(X, tf.float32)
        y = bijector.forward(x)
        session.run(tf.global_variables_initializer())
        rows = session.run([tf.gradients(y[number], x)[0] for number in range(3)])
        value = tf.constant(session.run(y))
        logs, again = session.run(
            [bijector.inverse_log_det_jacobian(value, 1), bijector.inverse(value)]
        )
    np.testing.assert_allclose(-logs, np.linalg.slogdet(rows)[1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(again, X, rtol=1e-5)


def test_batches_are_normalized_and_their_moments_restored() -> None:
    batch = np.random.RandomState(0).randn(40, 3).astype(np.float32) * [1, 2, 3] + [3, 2, 1]
    y = tf.constant(batch, tf.float32)
    trained = tfb.BatchNormalization(tf.layers.BatchNormalization(momentum=0.0, epsilon=1e-6))
    x, logs = trained.inverse(y), trained.inverse_log_det_jacobian(y, 1)
    fixed = tfb.BatchNormalization(trained.batchnorm, training=False)
    z = tf.constant(batch * 2, tf.float32)
    again = fixed.inverse(tf.identity(fixed.forward(z)))
    fixed_logs = fixed.forward_log_det_jacobian(z, 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, log = session.run([x, logs])
        session.run(trained.batchnorm.updates)
        restored, fixed_log = session.run([again, fixed_logs])
        moments = session.run([trained.batchnorm.moving_mean, trained.forward(tf.zeros([1, 3]))])
    np.testing.assert_allclose(values.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(values.std(0), 1, atol=1e-4)
    np.testing.assert_allclose(log, -np.log(batch.std(0)).sum(), rtol=1e-4)
    np.testing.assert_allclose(fixed_log, -log, rtol=1e-4)
    np.testing.assert_allclose(restored, batch * 2, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moments[1][0], moments[0], rtol=1e-5)


def test_a_layer_that_batches_cannot_invert_is_refused() -> None:
    with pytest.raises(ValueError, match="does not support renormalization"):
        tfb.BatchNormalization(tf.layers.BatchNormalization(renorm=True))
    with pytest.raises(ValueError, match="must be an instance of BatchNormalization layer"):
        tfb.BatchNormalization(tf.layers.Dense(2))
    with pytest.raises(ValueError, match="shape known at graph construction"):
        tfb.BatchNormalization().forward(tf.placeholder(tf.float32, [None, 3]))


def test_the_inverse_of_a_result_is_its_argument() -> None:
    bijector, x = tfb.Exp(), tf.constant(X)
    assert bijector.inverse(bijector.forward(x)) is x


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Must specify at least one of"):
        tfb.Bijector()
    with pytest.raises(ValueError, match="must be larger than min_event_ndims"):
        tfb.Ordered().forward_log_det_jacobian(tf.constant(X), 0)
    with pytest.raises(NotImplementedError, match="non-injective"):
        tfb.Invert(tfb.AbsoluteValue())
    with pytest.raises(ValueError, match="exactly one of each"):
        tfb.Permute([0, 0])
    with pytest.raises(TypeError, match=r"not instance of tf\.LinearOperator"):
        tfb.AffineLinearOperator(scale=1.0)
