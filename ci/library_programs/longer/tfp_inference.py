"""tensorflow-probability: NUTS-free HMC with step size adaptation, GPs, STS, flows, JointDistribution."""
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
tf.set_random_seed(3)
random = np.random.RandomState(0)
x = random.randn(100, 2).astype(np.float32)
w_true = np.array([1.5, -0.7], np.float32)
y = (random.rand(100) < 1 / (1 + np.exp(-x @ w_true))).astype(np.float32)


def target(w):
    prior = tf.reduce_sum(tfd.Normal(0.0, 2.0).log_prob(w))
    return prior + tf.reduce_sum(tfd.Bernoulli(logits=tf.linalg.matvec(x, w)).log_prob(y))


kernel = tfp.mcmc.SimpleStepSizeAdaptation(
    tfp.mcmc.HamiltonianMonteCarlo(target, step_size=0.05, num_leapfrog_steps=4), num_adaptation_steps=80)
chain, accepted = tfp.mcmc.sample_chain(
    num_results=200, num_burnin_steps=100, current_state=tf.zeros([2]), kernel=kernel,
    trace_fn=lambda _, results: results.inner_results.is_accepted)
walk, _ = tfp.mcmc.sample_chain(
    300, tf.constant(0.0), kernel=tfp.mcmc.RandomWalkMetropolis(tfd.Normal(1.0, 0.5).log_prob), num_burnin_steps=50)
transformed = tfp.mcmc.TransformedTransitionKernel(
    tfp.mcmc.HamiltonianMonteCarlo(tfd.Gamma(3.0, 2.0).log_prob, step_size=0.3, num_leapfrog_steps=3), tfb.Exp())
positive, _ = tfp.mcmc.sample_chain(200, tf.constant(1.0), kernel=transformed, num_burnin_steps=50)
ess = tfp.mcmc.effective_sample_size(walk)

# a Gaussian process
points = np.linspace(-1, 1, 20)[:, None]
values = np.sin(3 * points[:, 0])
amplitude = tf.exp(tf.get_variable('amplitude', initializer=np.float64(0.0)))
length = tf.exp(tf.get_variable('length', initializer=np.float64(-1.0)))
covariance = tfp.positive_semidefinite_kernels.ExponentiatedQuadratic(amplitude, length)
process = tfd.GaussianProcess(covariance, points, observation_noise_variance=np.float64(1e-3))
likelihood = process.log_prob(values)
learn = tf.train.AdamOptimizer(0.05).minimize(-likelihood)
posterior = tfd.GaussianProcessRegressionModel(
    covariance, points[::2] + 0.05, points, values, observation_noise_variance=np.float64(1e-3))
fitted = posterior.mean()

# a normalizing flow
flow = tfb.Chain([
    tfb.RealNVP(1, shift_and_log_scale_fn=tfb.real_nvp_default_template([8])),
    tfb.Permute([1, 0]),
    tfb.MaskedAutoregressiveFlow(tfb.masked_autoregressive_default_template([8])),
])
base = tfd.MultivariateNormalDiag(tf.zeros([2]))
flowing = tfd.TransformedDistribution(base, flow)
moons = np.stack([x[:, 0], x[:, 0] ** 2 + 0.1 * x[:, 1]], 1).astype(np.float32)
nll = -tf.reduce_mean(flowing.log_prob(moons))
flow_step = tf.train.AdamOptimizer(0.01).minimize(nll)
there = flow.inverse(flow.forward(tf.constant(moons[:5])))

joint = tfd.JointDistributionSequential([
    tfd.Normal(0.0, 1.0), lambda a: tfd.Normal(a, 0.1), lambda b, a: tfd.Independent(tfd.Normal(tf.stack([a, b], -1), 1.0), 1)])
drawn = joint.sample(5, seed=1)
density = joint.log_prob(drawn)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    samples, rate = session.run([chain, accepted])
    assert rate.mean() > 0.4 and np.abs(samples.mean(0) - w_true).max() < 1.0, (rate.mean(), samples.mean(0))
    assert abs(session.run(walk).mean() - 1.0) < 0.4 and session.run(ess) > 5
    assert (session.run(positive) > 0).all()
    first = session.run([likelihood, nll])
    for _ in range(80):
        session.run([learn, flow_step])
    last = session.run([likelihood, nll])
    assert last[0] > first[0] and last[1] < first[1]
    np.testing.assert_allclose(session.run(fitted), np.sin(3 * (points[::2, 0] + 0.05)), atol=0.1)
    np.testing.assert_allclose(session.run(there), moons[:5], rtol=1e-3, atol=1e-3)
    assert session.run(density).shape == (5,)
