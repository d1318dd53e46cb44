"""tensorflow-probability: a variational autoencoder with Flipout and reparameterized layers."""
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions
tf.set_random_seed(1)
x_data = (np.random.RandomState(0).rand(64, 20) < np.linspace(0.1, 0.9, 20)).astype(np.float32)


def make_encoder():
    net = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation=tf.nn.relu),
        tf.keras.layers.Dense(2 * 2, activation=None),
    ])

    def encoder(x):
        out = net(x)
        return tfd.MultivariateNormalDiag(
            loc=out[..., :2], scale_diag=tf.nn.softplus(out[..., 2:] + np.log(np.expm1(1.0))), name='code'
        )
    return encoder


def make_decoder():
    net = tf.keras.Sequential([
        tf.keras.layers.Dense(16, activation='relu'), tf.keras.layers.Dense(20),
    ])
    return lambda z: tfd.Independent(tfd.Bernoulli(logits=net(z)), reinterpreted_batch_ndims=1, name='image')


x = tf.placeholder(tf.float32, [None, 20])
encoder, decoder = make_encoder(), make_decoder()
prior = tfd.MixtureSameFamily(
    components_distribution=tfd.MultivariateNormalDiag(
        loc=tf.get_variable('loc', [3, 2]), scale_diag=tf.nn.softplus(tf.get_variable('raw', [3, 2]))),
    mixture_distribution=tfd.Categorical(logits=tf.get_variable('logits', [3])), name='prior')
posterior = encoder(x)
code = posterior.sample(8)
likelihood = decoder(code).log_prob(x)
elbo = tf.reduce_mean(likelihood - (posterior.log_prob(code) - prior.log_prob(code)))
importance = tf.reduce_mean(
    tf.reduce_logsumexp(likelihood - posterior.log_prob(code) + prior.log_prob(code), axis=0) - np.log(8.0))
step = tf.train.AdamOptimizer(0.01).minimize(-elbo)
model = tf.keras.Sequential([
    tfp.layers.DenseFlipout(8, activation='relu'), tfp.layers.DenseReparameterization(1),
    tfp.layers.DenseLocalReparameterization(1),
])
target = tf.reduce_sum(x, 1, keepdims=True) / 20.0
fit = tf.reduce_mean(tf.square(model(x) - target)) + sum(model.losses) / 6400.0
step_2 = tf.train.AdamOptimizer(0.01).minimize(fit)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first, first_fit = session.run([elbo, fit], {x: x_data})
    for _ in range(150):
        session.run([step, step_2], {x: x_data})
    last, tighter, last_fit = session.run([elbo, importance, fit], {x: x_data})
assert len(model.losses) == 3
assert last > first + 1 and tighter > last - 0.5 and last_fit < first_fit, (first, last, tighter, first_fit, last_fit)
