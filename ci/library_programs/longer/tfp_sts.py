"""tensorflow-probability: a structural time series, fitted by variational loss and forecast; an HMM."""
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd, sts = tfp.distributions, tfp.sts
t = np.arange(48)
series = (0.1 * t + np.sin(2 * np.pi * t / 12) + 0.05 * np.random.RandomState(0).randn(48)).astype(np.float32)
trend = sts.LocalLinearTrend(observed_time_series=series)
season = sts.Seasonal(num_seasons=12, observed_time_series=series)
model = sts.Sum([trend, season], observed_time_series=series)
with tf.variable_scope('fit', reuse=tf.AUTO_REUSE):
    loss, posteriors = sts.build_factored_variational_loss(model, observed_time_series=series)
step = tf.train.AdamOptimizer(0.1).minimize(loss)
draws = {name: q.sample(5) for name, q in posteriors.items()}
forecast = sts.forecast(model, series, parameter_samples=draws, num_steps_forecast=12)
mean = forecast.mean()
hmm = tfd.HiddenMarkovModel(
    initial_distribution=tfd.Categorical(probs=[0.8, 0.2]),
    transition_distribution=tfd.Categorical(probs=[[0.7, 0.3], [0.2, 0.8]]),
    observation_distribution=tfd.Normal(loc=[0.0, 15.0], scale=[5.0, 10.0]), num_steps=7)
log_prob = hmm.log_prob(tf.constant([0.0, 1.0, 2.0, 15.0, 16.0, 2.0, 0.0]))
mode = hmm.posterior_mode(tf.constant([0.0, 1.0, 2.0, 20.0, 26.0, 22.0, 30.0]))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(60):
        session.run(step)
    assert session.run(loss) < first
    expected = 0.1 * np.arange(48, 60) + np.sin(2 * np.pi * np.arange(48, 60) / 12)
    assert np.abs(session.run(mean)[:, 0] - expected).mean() < 1.0, session.run(mean)[:, 0]
    assert np.isfinite(session.run(log_prob))
    assert list(session.run(mode)) == [0, 0, 0, 1, 1, 1, 1], session.run(mode)
