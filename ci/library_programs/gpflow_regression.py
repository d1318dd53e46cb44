"""gpflow: Gaussian process regression, its likelihood against NumPy, trained by SciPy."""
import gpflow
import numpy as np

random = np.random.RandomState(0)
x = random.rand(12, 1)
y = np.sin(6 * x) + 0.05 * random.randn(12, 1)
model = gpflow.models.GPR(x, y, gpflow.kernels.RBF(1, variance=1.0, lengthscales=0.5))
model.likelihood.variance = 0.1
k = np.exp(-0.5 * ((x - x.T) / 0.5) ** 2) + 0.1 * np.eye(12)
expected = -0.5 * (
    y.T.dot(np.linalg.solve(k, y)).item() + np.linalg.slogdet(k)[1] + 12 * np.log(2 * np.pi)
)
np.testing.assert_allclose(model.compute_log_likelihood(), expected, rtol=1e-6)
gpflow.train.ScipyOptimizer().minimize(model, maxiter=20)
assert model.compute_log_likelihood() > expected
mean, variance = model.predict_y(x)
assert np.abs(mean - y).max() < 0.3 and (variance > 0).all()
svgp = gpflow.models.SVGP(x, y, gpflow.kernels.Matern52(1), gpflow.likelihoods.Gaussian(), x[:4].copy())
before = svgp.compute_log_likelihood()
gpflow.train.AdamOptimizer(0.05).minimize(svgp, maxiter=20)
assert svgp.compute_log_likelihood() > before
