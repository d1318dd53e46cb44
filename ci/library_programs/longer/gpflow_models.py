"""gpflow: VGP, SVGP with natural gradients, GPMC, GPLVM, kernels, priors, mean functions and saving."""
import gpflow
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
X = random.rand(30, 1)
Y = np.sin(6 * X) + 0.1 * random.randn(30, 1)
C = (Y > 0).astype(float)
with gpflow.defer_build():
    kernel = gpflow.kernels.Matern52(1) + gpflow.kernels.White(1, 0.01) * gpflow.kernels.Constant(1)
    model = gpflow.models.GPR(X, Y, kern=gpflow.kernels.RBF(1, lengthscales=0.3), mean_function=gpflow.mean_functions.Linear())
    model.kern.lengthscales.prior = gpflow.priors.Gamma(2.0, 1.0)
    model.likelihood.variance = 0.01
    model.likelihood.variance.trainable = False
model.compile()
before = model.compute_log_likelihood()
gpflow.train.ScipyOptimizer().minimize(model, maxiter=30)
assert model.compute_log_likelihood() > before
mean, variance = model.predict_y(X)
assert np.abs(mean - Y).mean() < 0.2 and (variance > 0).all()
classifier = gpflow.models.VGP(X, C, kern=kernel, likelihood=gpflow.likelihoods.Bernoulli())
gpflow.train.ScipyOptimizer().minimize(classifier, maxiter=20)
assert ((classifier.predict_y(X)[0] > 0.5) == C).mean() > 0.9
sparse = gpflow.models.SVGP(
    X, Y, gpflow.kernels.RBF(1), gpflow.likelihoods.Gaussian(), Z=X[::5].copy(), minibatch_size=10, whiten=False)
sparse.q_mu.trainable = sparse.q_sqrt.trainable = False
natural = gpflow.train.NatGradOptimizer(0.1)
adam = gpflow.train.AdamOptimizer(0.02)
first = sparse.compute_log_likelihood()
for _ in range(5):
    natural.minimize(sparse, maxiter=2, var_list=[(sparse.q_mu, sparse.q_sqrt)])
    adam.minimize(sparse, maxiter=5)
assert sparse.compute_log_likelihood() > first
with gpflow.defer_build():
    mc = gpflow.models.GPMC(X, C, gpflow.kernels.RBF(1), gpflow.likelihoods.Bernoulli())
mc.compile()
samples = gpflow.train.HMC().sample(mc, 5, epsilon=0.05, lmax=5, thin=1)
assert len(samples) == 5
latent = gpflow.models.BayesianGPLVM(
    random.randn(12, 2), np.ones((12, 2)), random.randn(12, 4), gpflow.kernels.RBF(2, ARD=True), 4, Z=random.randn(4, 2))
gpflow.train.ScipyOptimizer().minimize(latent, maxiter=3)
assert np.isfinite(latent.compute_log_likelihood())
saver = gpflow.saver.Saver()
