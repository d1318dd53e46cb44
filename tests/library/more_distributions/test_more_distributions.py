"""Distributions of tf.contrib.distributions beside SciPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import gpugraph as tf

tfd = tf.contrib.distributions
X = np.array([0.3, 1.0, 2.5])
COUNTS = np.array([0.0, 3.0, 10.0])
COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    """Each test has a graph of its own."""
    with tf.Graph().as_default():
        yield


def double(value: float) -> Any:
    return np.float64(value)


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


NUMBERS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "Cauchy": (lambda: tfd.Cauchy(double(0.5), double(2.0)), stats.cauchy(0.5, 2), X),
    "Logistic": (lambda: tfd.Logistic(double(0.5), double(2.0)), stats.logistic(0.5, 2), X),
    "HalfNormal": (lambda: tfd.HalfNormal(double(2.0)), stats.halfnorm(0, 2), X),
    "InverseGamma": (
        lambda: tfd.InverseGamma(double(3.0), double(2.0)),
        stats.invgamma(3, scale=2),
        X,
    ),
    "Chi2": (lambda: tfd.Chi2(double(3.0)), stats.chi2(3), X),
    "Chi2WithAbsDf": (lambda: tfd.Chi2WithAbsDf(double(-3.5)), stats.chi2(3), X),
    "Binomial": (lambda: tfd.Binomial(double(10), probs=double(0.3)), stats.binom(10, 0.3), COUNTS),
    "Geometric": (lambda: tfd.Geometric(probs=double(0.3)), stats.geom(0.3, loc=-1), COUNTS),
    "NegativeBinomial": (
        lambda: tfd.NegativeBinomial(double(5), probs=double(0.3)),
        stats.nbinom(5, 0.7),
        COUNTS,
    ),
    "Poisson": (lambda: tfd.Poisson(double(2.5)), stats.poisson(2.5), COUNTS),
    "Poisson, by its logarithm": (
        lambda: tfd.Poisson(log_rate=double(np.log(2.5))),
        stats.poisson(2.5),
        COUNTS,
    ),
    "log-normal": (
        lambda: tfd.TransformedDistribution(
            tfd.Normal(double(0.2), double(0.7)), tfd.bijectors.Exp()
        ),
        stats.lognorm(0.7, scale=np.exp(0.2)),
        X,
    ),
    "SinhArcsinh": (lambda: tfd.SinhArcsinh(double(0.0), double(1.0)), stats.norm(), X),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    make, reference, x = NUMBERS[name]
    distribution = make()
    density = reference.logpmf if hasattr(reference.dist, "pmf") else reference.logpdf
    np.testing.assert_allclose(run(distribution.log_prob(x)), density(x), rtol=1e-6)
    np.testing.assert_allclose(run(distribution.cdf(x)), reference.cdf(x), rtol=1e-6, atol=1e-9)
    for method, expected in (
        ("mean", reference.mean()),
        ("variance", reference.var()),
        ("entropy", reference.entropy()),
    ):
        try:
            ours = run(getattr(distribution, method)())
        except NotImplementedError:
            continue
        np.testing.assert_allclose(ours, expected, rtol=1e-6)
    if name != "Binomial":
        samples = run(distribution.sample(20000, seed=1))
        assert abs(np.median(samples) - reference.median()) < 0.1


def test_kumaraswamy() -> None:
    distribution = tfd.Kumaraswamy(double(2.0), double(3.0))
    x = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(run(distribution.prob(x)), 6 * x * (1 - x**2) ** 2)
    np.testing.assert_allclose(run(distribution.cdf(x)), 1 - (1 - x**2) ** 3)
    samples = run(distribution.sample(20000, seed=2))
    mean, variance = run([distribution.mean(), distribution.variance()])
    np.testing.assert_allclose([samples.mean(), samples.var()], [mean, variance], rtol=0.03)


@pytest.mark.parametrize("kind", ["Mixture", "MixtureSameFamily"])
def test_mixtures(kind: str) -> None:
    weights = tfd.Categorical(probs=np.array([0.3, 0.7]))
    parts = [(0.0, 1.0), (3.0, 0.5)]
    if kind == "Mixture":
        normals: Any = [tfd.Normal(double(loc), double(scale)) for loc, scale in parts]
    else:
        normals = tfd.Normal(*map(np.array, zip(*parts)))
    mixture = getattr(tfd, kind)(weights, normals)
    density = sum(w * stats.norm(*part).pdf(X) for w, part in zip((0.3, 0.7), parts))
    cdf = sum(w * stats.norm(*part).cdf(X) for w, part in zip((0.3, 0.7), parts))
    np.testing.assert_allclose(run(mixture.prob(X)), density)
    np.testing.assert_allclose(run(mixture.cdf(X)), cdf)
    np.testing.assert_allclose(run([mixture.mean(), mixture.variance()]), [2.1, 2.365])
    samples = run(mixture.sample(20000, seed=3))
    np.testing.assert_allclose([samples.mean(), samples.var()], [2.1, 2.365], rtol=0.03)


def test_independent_events() -> None:
    locations = np.arange(6.0).reshape(2, 3)
    whole = tfd.Independent(tfd.Normal(locations, np.ones([2, 3])), 1)
    assert (whole.batch_shape.as_list(), whole.event_shape.as_list()) == ([2], [3])
    expected = stats.norm(locations).logpdf(1.0).sum(-1)
    np.testing.assert_allclose(run(whole.log_prob(np.ones([2, 3]))), expected)
    assert run(whole.sample(4)).shape == (4, 2, 3)
    other = tfd.Independent(tfd.Normal(np.zeros([2, 3]), np.ones([2, 3])), 1)
    divergence = run(whole.kl_divergence(other))
    np.testing.assert_allclose(divergence, 0.5 * (locations**2).sum(-1))


def test_quantized_and_deterministic_values() -> None:
    quantized = tfd.QuantizedDistribution(tfd.Normal(double(0), double(1)), low=-2.0, high=2.0)
    y = np.arange(-3.0, 4.0)
    probs = run(quantized.prob(y))
    inner = stats.norm.cdf([-1, 0, 1]) - stats.norm.cdf([-2, -1, 0])
    expected = [0, stats.norm.cdf(-2), *inner, stats.norm.sf(1), 0]
    np.testing.assert_allclose(probs, expected, rtol=1e-6, atol=1e-12)
    assert set(run(quantized.sample(1000))) <= {-2.0, -1.0, 0.0, 1.0, 2.0}
    one = tfd.Deterministic(double(2), atol=double(0.1))
    assert run([one.prob(2.05), one.prob(2.5), one.cdf(1.0)]) == [1.0, 0.0, 0.0]
    vector = tfd.VectorDeterministic(np.array([1.0, 2.0]))
    assert run([vector.prob(np.array([1.0, 2.0])), vector.prob(np.array([1.0, 3.0]))]) == [1.0, 0.0]


def test_relaxed_distributions() -> None:
    probs, temperature = np.array([0.2, 0.3, 0.5]), double(0.5)
    relaxed = tfd.RelaxedOneHotCategorical(temperature, probs=probs)
    samples = run(relaxed.sample(20000, seed=1))
    np.testing.assert_allclose(samples.sum(-1), 1.0)
    np.testing.assert_allclose(np.bincount(samples.argmax(-1)) / 20000, probs, atol=0.02)
    x = np.array([0.2, 0.3, 0.5])
    powers = probs * x ** (-temperature - 1)
    density = 2 * temperature**2 * powers.prod() / (probs * x**-temperature).sum() ** 3
    np.testing.assert_allclose(run(relaxed.prob(x)), density)
    binary = tfd.RelaxedBernoulli(double(0.7), probs=double(0.3))
    assert abs(np.mean(run(binary.sample(20000, seed=1)) > 0.5) - 0.3) < 0.02


def test_vectors() -> None:
    x, loc = np.array([0.3, 0.2]), np.array([1.0, 2.0])
    full = tfd.MultivariateNormalFullCovariance(loc, COVARIANCE)
    expected = stats.multivariate_normal(loc, COVARIANCE).logpdf(x)
    np.testing.assert_allclose(run(full.log_prob(x)), expected)
    updated = tfd.MultivariateNormalDiagPlusLowRank(
        loc, np.array([1.0, 2.0]), scale_perturb_factor=np.ones([2, 1])
    )
    scale = np.diag([1.0, 2.0]) + 1
    expected = stats.multivariate_normal(loc, scale @ scale.T).logpdf(x)
    np.testing.assert_allclose(run(updated.log_prob(x)), expected)
    laplace = tfd.VectorLaplaceDiag(np.stack([loc, 0 * loc]), np.array([1.0, 2.0]))
    assert (laplace.batch_shape.as_list(), laplace.event_shape.as_list()) == ([2], [2])
    expected = stats.laplace([loc, 0 * loc], [1, 2]).logpdf(x).sum(-1)
    np.testing.assert_allclose(run(laplace.log_prob(x)), expected)
    exponential = tfd.VectorExponentialDiag(scale_diag=np.array([1.0, 2.0]))
    expected = stats.expon(scale=[1, 2]).logpdf(x).sum()
    np.testing.assert_allclose(run(exponential.log_prob(x)), expected)
    skewed = tfd.VectorSinhArcsinhDiag(np.zeros(2), np.array([1.0, 2.0]))
    expected = stats.norm(0, [1, 2]).logpdf(x).sum()
    np.testing.assert_allclose(run(skewed.log_prob(x)), expected)


@pytest.mark.parametrize("is_factor", [False, True])
def test_wishart(is_factor: bool) -> None:
    factor = np.linalg.cholesky(COVARIANCE)
    distribution = (
        tfd.WishartCholesky(double(5), factor)
        if is_factor
        else tfd.WishartFull(double(5), COVARIANCE)
    )
    reference, x = stats.wishart(5, COVARIANCE), np.array([[3.0, 0.2], [0.2, 2.0]])
    for ours, expected in (
        (distribution.log_prob(x), reference.logpdf(x)),
        (distribution.entropy(), reference.entropy()),
        (distribution.mean(), reference.mean()),
        (distribution.variance(), reference.var()),
    ):
        np.testing.assert_allclose(run(ours), expected)
    samples = run(distribution.sample(20000, seed=1))
    np.testing.assert_allclose(samples.mean(0), reference.mean(), rtol=0.05)


@pytest.mark.parametrize(
    ("base", "batch"),
    [
        (lambda: tfd.Normal(double(0), double(1)), [4]),
        (lambda: tfd.Normal(np.zeros(4), np.ones(4)), None),
    ],
)
def test_shapes_of_transformed_scalars(base: Any, batch: Any) -> None:
    affine = tfd.bijectors.AffineScalar(double(1), double(2))
    whole = tfd.TransformedDistribution(base(), affine, batch_shape=batch, event_shape=[3])
    assert (whole.batch_shape.as_list(), whole.event_shape.as_list()) == ([4], [3])
    assert run(whole.sample(5)).shape == (5, 4, 3)
    logs = run(whole.log_prob(np.ones([4, 3])))
    np.testing.assert_allclose(logs, 3 * (stats.norm.logpdf(0) - np.log(2)))


def test_softplus_of_parameters() -> None:
    scale = np.log1p(np.exp(2.0))
    ours = run(tfd.NormalWithSoftplusScale(double(1), double(2)).log_prob(X))
    np.testing.assert_allclose(ours, stats.norm(1, scale).logpdf(X))
    student = tfd.StudentTWithAbsDfSoftplusScale(double(-3.5), double(1), double(2))
    np.testing.assert_allclose(run(student.log_prob(X)), stats.t(3, 1, scale).logpdf(X))
    again = student.copy(loc=double(0))
    np.testing.assert_allclose(run(again.log_prob(X)), stats.t(3, 0, scale).logpdf(X))


def test_functions() -> None:
    below, diagonal, above = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.array([6.0, 7.0])
    expected = np.diag(diagonal) + np.diag(below, -1) + np.diag(above, 1)
    np.testing.assert_array_equal(run(tfd.tridiag(below, diagonal, above)), expected)
    assert run(tfd.percentile(np.arange(11.0), 30.0)) == 3.0
    logs, sign = run(
        tfd.reduce_weighted_logsumexp(np.array([1.0, 2.0]), np.array([1.0, -2.0]), return_sign=True)
    )
    np.testing.assert_allclose(sign * np.exp(logs), np.exp(1) - 2 * np.exp(2))
    x = np.array([1e-20, 0.5, 3.0, 50.0])
    np.testing.assert_allclose(run(tf.nn.softplus(tfd.softplus_inverse(x))), x, rtol=1e-12)
    prior = tfd.Normal(double(0), double(2))
    total = tf.constant(3.0, tf.float64)
    posterior = tfd.normal_conjugates_known_scale_posterior(prior, double(1), total, 2)
    np.testing.assert_allclose(run([posterior.loc, posterior.scale]), [4 / 3, 2 / 3])


def test_moving_statistics() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        moved = tfd.moving_mean_variance(tf.constant([1.0, 3.0]), 0.9)
        session.run(tf.global_variables_initializer())
        mean, variance = session.run(moved)
    np.testing.assert_allclose(mean, [0.1, 0.3], rtol=1e-5)
    np.testing.assert_allclose(variance, [0.09, 0.81], rtol=1e-5)
