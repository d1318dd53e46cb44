"""Densities, statistics and divergences agree with integration over the events."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

contrib = tf.contrib.distributions

GRID = np.linspace(-60, 60, 160_001)
POSITIVE = np.linspace(0, 120, 160_001)[1:]
UNIT = np.linspace(0, 1, 80_001)[1:-1]

CONTINUOUS = {
    "Normal": (lambda d: d.Normal(np.float64(0.5), np.float64(1.3)), GRID),
    "Laplace": (lambda d: d.Laplace(np.float64(-0.5), np.float64(0.7)), GRID),
    "StudentT": (lambda d: d.StudentT(np.float64(9), np.float64(1), np.float64(0.5)), GRID),
    "Uniform": (lambda d: d.Uniform(np.float64(-1), np.float64(2)), GRID),
    "Gamma": (lambda d: d.Gamma(np.float64(2.5), np.float64(0.8)), POSITIVE),
    "Exponential": (lambda d: d.Exponential(np.float64(0.6)), POSITIVE),
    "Beta": (lambda d: d.Beta(np.float64(2.5), np.float64(3.5)), UNIT),
}


def value(*tensors):
    with tf.Session() as session:
        values = session.run(list(tensors))
    return values if len(values) > 1 else values[0]


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_integrates_to_the_statistics(name):
    create, grid = CONTINUOUS[name]
    distribution = create(tf.distributions)
    step = grid[1] - grid[0]
    density, log_density, cdf, survival = value(
        distribution.prob(grid),
        distribution.log_prob(grid),
        distribution.cdf(grid),
        distribution.survival_function(grid),
    )
    mean, variance, stddev, entropy = value(
        distribution.mean(), distribution.variance(), distribution.stddev(), distribution.entropy()
    )
    np.testing.assert_allclose(density.sum() * step, 1, atol=6e-4)
    np.testing.assert_allclose((grid * density).sum() * step, mean, atol=1e-3)
    spread = ((grid - mean) ** 2 * density).sum() * step
    np.testing.assert_allclose(spread, variance, rtol=2e-3)
    np.testing.assert_allclose(stddev**2, variance)
    positive = density > 0
    surprise = -(log_density[positive] * density[positive]).sum() * step
    np.testing.assert_allclose(surprise, entropy, atol=1e-3)
    np.testing.assert_allclose(np.cumsum(density) * step, cdf, atol=1e-3)
    np.testing.assert_allclose(survival, 1 - cdf, atol=1e-9)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_have_the_mean_and_the_variance(name):
    distribution = CONTINUOUS[name][0](tf.distributions)
    samples, mean, variance = value(
        distribution.sample(200_000, seed=3), distribution.mean(), distribution.variance()
    )
    assert samples.shape == (200_000,)
    np.testing.assert_allclose(samples.mean(), mean, atol=5 * np.sqrt(variance / 200_000))
    np.testing.assert_allclose(samples.var(), variance, rtol=0.03)


@pytest.mark.parametrize(
    "name, first, second",
    [
        ("Normal", (0.0, 1.0), (0.7, 1.6)),
        ("Gamma", (2.0, 1.0), (3.0, 1.4)),
        ("Beta", (2.0, 3.0), (3.0, 1.5)),
    ],
)
def test_divergence_is_the_mean_of_the_difference_of_logs(name, first, second):
    a, b = (getattr(tf.distributions, name)(*map(np.float64, some)) for some in (first, second))
    grid = CONTINUOUS[name][1]
    density, log_a, log_b = value(a.prob(grid), a.log_prob(grid), b.log_prob(grid))
    expected = (density * (log_a - log_b)).sum() * (grid[1] - grid[0])
    divergence, cross = value(tf.distributions.kl_divergence(a, b), a.cross_entropy(b))
    np.testing.assert_allclose(divergence, expected, atol=1e-4)
    np.testing.assert_allclose(cross, expected + value(a.entropy()), atol=1e-4)


def test_tails_of_the_normal_distribution_are_accurate():
    """By Mills' ratio: log P[X <= -30] = -454.3212439935."""
    normal = tf.distributions.Normal(np.float64(0), np.float64(1))
    x = tf.constant([-30.0, -21.0, -5.0, 0.0, 9.0], tf.float64)
    log_cdf, upper, slope = value(
        normal.log_cdf(x), normal.log_survival_function(-x), tf.gradients(normal.log_cdf(x), x)[0]
    )
    expected = [-454.3212439935, -224.4657905, -15.06499839, np.log(0.5), -1.1285884e-19]
    np.testing.assert_allclose(log_cdf, expected, rtol=2e-6)
    np.testing.assert_allclose(upper, log_cdf)
    assert np.all(np.isfinite(slope)) and np.all(slope >= 0)


def test_quantile_inverts_the_cdf():
    normal = tf.distributions.Normal([0.0, 2.0], [1.0, 3.0])
    p = np.array([[0.1, 0.2], [0.5, 0.975]], np.float32)
    np.testing.assert_allclose(value(normal.cdf(normal.quantile(p))), p, rtol=1e-5)


def test_bernoulli_is_one_with_its_probability():
    bernoulli = tf.distributions.Bernoulli(probs=[0.1, 0.8])
    probs, samples, entropy, mode = value(
        bernoulli.prob([[0, 0], [1, 1]]),
        bernoulli.sample(100_000, seed=1),
        bernoulli.entropy(),
        bernoulli.mode(),
    )
    np.testing.assert_allclose(probs, [[0.9, 0.2], [0.1, 0.8]], rtol=1e-5)
    np.testing.assert_allclose(samples.mean(0), [0.1, 0.8], atol=0.01)
    assert samples.dtype == np.int32
    p = np.array([0.1, 0.8])
    np.testing.assert_allclose(entropy, -p * np.log(p) - (1 - p) * np.log(1 - p), rtol=1e-5)
    assert mode.tolist() == [0, 1]


def test_categorical_and_its_divergence():
    a = tf.distributions.Categorical(probs=[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    b = tf.distributions.Categorical(logits=[0.0, 0.0, 0.0])
    assert a.batch_shape == [2] and a.event_shape == []
    probs, cdf, samples, divergence, mode = value(
        a.prob([2, 0]), a.cdf([1, 2]), a.sample([3, 2]), a.kl_divergence(b), a.mode()
    )
    np.testing.assert_allclose(probs, [0.5, 0.6], rtol=1e-5)
    np.testing.assert_allclose(cdf, [0.2, 0.9], rtol=1e-5)  # TensorFlow's is P[X < k]
    assert samples.shape == (3, 2, 2) and samples.max() < 3
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    np.testing.assert_allclose(divergence, (p * np.log(3 * p)).sum(1), rtol=1e-5)
    assert mode.tolist() == [2, 0]


@pytest.mark.parametrize("name", ["Multinomial", "DirichletMultinomial"])
def test_counts_have_probabilities_that_sum_to_one(name):
    trials, classes = 4, 3
    options = {"probs": [0.2, 0.3, 0.5]} if name == "Multinomial" else {}
    concentration = {} if options else {"concentration": [1.0, 2.0, 1.5]}
    counts = getattr(tf.distributions, name)(float(trials), **options, **concentration)
    grid = np.indices((trials + 1,) * classes).reshape(classes, -1).T
    grid = grid[grid.sum(1) == trials].astype(np.float32)
    probs, mean, covariance, variance, samples = value(
        counts.prob(grid), counts.mean(), counts.covariance(), counts.variance(), counts.sample(50)
    )
    np.testing.assert_allclose(probs.sum(), 1, rtol=1e-5)
    np.testing.assert_allclose(probs @ grid, mean, rtol=1e-4)
    centered = grid - mean
    np.testing.assert_allclose((centered.T * probs) @ centered, covariance, atol=1e-4)
    np.testing.assert_allclose(np.diag(covariance), variance, rtol=1e-5)
    assert samples.shape == (50, 3) and np.all(samples.sum(1) == trials)


def test_dirichlet_has_the_moments_of_its_samples():
    dirichlet = tf.distributions.Dirichlet([2.0, 3.0, 5.0])
    samples, mean, covariance, mode = value(
        dirichlet.sample(200_000, seed=2),
        dirichlet.mean(),
        dirichlet.covariance(),
        dirichlet.mode(),
    )
    np.testing.assert_allclose(samples.sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(samples.mean(0), mean, atol=2e-3)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=3e-4)
    np.testing.assert_allclose(mode, np.array([1, 2, 4]) / 7, rtol=1e-6)
    other = tf.distributions.Dirichlet([1.0, 1.0, 1.0])  # of density 2 everywhere
    divergence = value(dirichlet.kl_divergence(other))
    estimate = value(dirichlet.log_prob(samples)).mean() - np.log(2)
    np.testing.assert_allclose(divergence, estimate, atol=0.01)


def test_vectors_are_normal_by_diagonal_and_by_triangle():
    loc, diagonal = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    triangle = np.array([[0.5, 0.0], [1.2, 2.0]])
    x = np.array([[0.3, 0.4], [2.0, -3.0]])
    for normal, scale in (
        (contrib.MultivariateNormalDiag(loc, diagonal), np.diag(diagonal)),
        (contrib.MultivariateNormalTriL(loc, triangle), triangle),
    ):
        covariance = scale @ scale.T
        z = np.linalg.solve(scale, (x - loc).T)
        log_prob = -0.5 * (z**2).sum(0) - np.log(2 * np.pi) - np.log(np.linalg.det(scale))
        assert normal.batch_shape == [] and normal.event_shape == [2]
        results = value(normal.log_prob(x), normal.covariance(), normal.sample(100_000, seed=5))
        np.testing.assert_allclose(results[0], log_prob)
        np.testing.assert_allclose(results[1], covariance)
        np.testing.assert_allclose(np.cov(results[2].T), covariance, atol=0.1)
        entropy = 0.5 * np.log(np.linalg.det(2 * np.pi * np.e * covariance))
        np.testing.assert_allclose(value(normal.entropy()), entropy)


def test_divergence_of_normal_vectors():
    a = contrib.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [0.5, 2.0]])
    b = contrib.MultivariateNormalDiag([1.0, 1.0], [2.0, 1.0])
    cov_a, cov_b = np.array([[1, 0.5], [0.5, 4.25]]), np.diag([4.0, 1.0])
    step = np.array([1.0, 0.0])
    inverse = np.linalg.inv(cov_b)
    logs = np.log(np.linalg.det(cov_b) / np.linalg.det(cov_a))
    expected = 0.5 * (np.trace(inverse @ cov_a) + step @ inverse @ step - 2 + logs)
    np.testing.assert_allclose(value(a.kl_divergence(b)), expected, rtol=1e-5)


def test_scale_of_a_diagonal_may_be_one_number():
    normal = contrib.MultivariateNormalDiag([1.0, 2.0, 3.0], scale_identity_multiplier=2.0)
    assert value(normal.stddev()).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="Must specify one or both"):
        contrib.MultivariateNormalDiag()
