"""tensorflow-probability: densities against SciPy's formulas, bijectors, HMC, variational inference."""
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
x = np.linspace(-2.0, 2.0, 7).astype(np.float32)
normal = tfd.Normal(loc=0.5, scale=2.0)
expected = -0.5 * ((x - 0.5) / 2.0) ** 2 - np.log(2.0 * np.sqrt(2 * np.pi))
mixture = tfd.MixtureSameFamily(
    tfd.Categorical(probs=[0.3, 0.7]), tfd.Normal(loc=[-1.0, 1.0], scale=[0.5, 0.5])
)
log_normal = tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Exp())
covariance = tfd.MultivariateNormalTriL([0.0, 0.0], [[1.0, 0.0], [0.5, 1.0]]).covariance()
samples, _ = tfp.mcmc.sample_chain(
    num_results=300,
    num_burnin_steps=100,
    current_state=tf.constant(0.0),
    kernel=tfp.mcmc.HamiltonianMonteCarlo(
        target_log_prob_fn=tfd.Normal(3.0, 1.0).log_prob, step_size=0.5, num_leapfrog_steps=3, seed=1
    ),
)
loc = tf.get_variable('loc', initializer=0.0)
scale = tf.nn.softplus(tf.get_variable('scale', initializer=0.0))
divergence = tfd.kl_divergence(tfd.Normal(loc, scale), tfd.Normal(1.0, 2.0))
step = tf.train.AdamOptimizer(0.2).minimize(divergence)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(normal.log_prob(x)), expected, rtol=1e-5)
    parts = [0.3, 0.7] * np.exp(-0.5 * ((x[:, None] - [-1.0, 1.0]) / 0.5) ** 2) / (0.5 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(session.run(mixture.prob(x)), parts.sum(1), rtol=1e-4)
    np.testing.assert_allclose(session.run(log_normal.prob(2.0)), 0.15687, rtol=1e-3)
    np.testing.assert_allclose(session.run(covariance), [[1.0, 0.5], [0.5, 1.25]], rtol=1e-5)
    assert abs(session.run(samples).mean() - 3.0) < 0.5
    for _ in range(60):
        session.run(step)
    assert session.run(divergence) < 0.05
