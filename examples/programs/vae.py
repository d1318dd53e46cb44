"""A variational autoencoder in the manner of the time: one class that keeps a session."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def xavier_init(fan_in, fan_out, seed):
    high = np.sqrt(6.0 / (fan_in + fan_out))
    return tf.random_uniform((fan_in, fan_out), -high, high, dtype=tf.float32, seed=seed)


class VariationalAutoencoder(object):
    def __init__(self, n_input=64, n_hidden=32, n_z=4, batch_size=50, learning_rate=0.003):
        self.sizes = n_input, n_hidden, n_z
        self.batch_size = batch_size
        self.x = tf.placeholder(tf.float32, [None, n_input])
        self._create_network()
        self._create_loss_optimizer(learning_rate)
        self.sess = tf.InteractiveSession()
        self.sess.run(tf.global_variables_initializer())

    def _create_network(self):
        n_input, n_hidden, n_z = self.sizes
        shapes = dict(
            h1=(n_input, n_hidden), mean=(n_hidden, n_z), log_sigma=(n_hidden, n_z),
            g1=(n_z, n_hidden), out=(n_hidden, n_input),
        )  # fmt: skip
        weights, biases = {}, {}
        for seed, (name, (fan_in, fan_out)) in enumerate(sorted(shapes.items())):
            weights[name] = tf.Variable(xavier_init(fan_in, fan_out, seed + 1))
            biases[name] = tf.Variable(tf.zeros([fan_out], dtype=tf.float32))

        def layer(x, name):
            return tf.add(tf.matmul(x, weights[name]), biases[name])

        hidden = tf.nn.softplus(layer(self.x, "h1"))
        self.z_mean = layer(hidden, "mean")
        self.z_log_sigma_sq = layer(hidden, "log_sigma")
        eps = tf.random_normal((self.batch_size, n_z), 0, 1, dtype=tf.float32, seed=11)
        self.z = tf.add(self.z_mean, tf.multiply(tf.sqrt(tf.exp(self.z_log_sigma_sq)), eps))
        self.logits = layer(tf.nn.softplus(layer(self.z, "g1")), "out")
        self.x_reconstr_mean = tf.nn.sigmoid(self.logits)

    def _create_loss_optimizer(self, learning_rate):
        cross_entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=self.x, logits=self.logits)
        reconstr_loss = tf.reduce_sum(cross_entropy, 1)
        latent_loss = -0.5 * tf.reduce_sum(
            1 + self.z_log_sigma_sq - tf.square(self.z_mean) - tf.exp(self.z_log_sigma_sq), 1
        )
        self.cost = tf.reduce_mean(reconstr_loss + latent_loss)
        self.optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate).minimize(self.cost)

    def partial_fit(self, X):
        return self.sess.run((self.optimizer, self.cost), feed_dict={self.x: X})[1]


tf.set_random_seed(0)
np.random.seed(0)
vae = VariationalAutoencoder()
prototypes = (np.random.rand(6, 64) > 0.5).astype(np.float32)
for epoch in range(20):
    X = np.abs(prototypes[np.random.randint(6, size=50)] - (np.random.rand(50, 64) > 0.95))
    print("step %d loss %.9g" % (epoch, vae.partial_fit(X)))
