"""Two shuffled datasets zipped, for a pair of networks that train against each other."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)
real = (rng.randn(100, 2) * [1.0, 0.2] + [2, -1]).astype(np.float32)


def batches(dataset, seed):
    return dataset.shuffle(100, seed=seed).repeat().batch(16).make_one_shot_iterator().get_next()


noise = tf.data.experimental.RandomDataset(seed=4).map(
    lambda number: tf.random.stateless_normal([3], [number, 1])
)
pairs = tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(real), noise))
samples, latent = batches(pairs, 3)
dense = tf.layers.dense


def generator(z):
    with tf.variable_scope("g", initializer=tf.glorot_uniform_initializer(seed=1)):
        return dense(dense(z, 8, tf.nn.relu), 2)


def discriminator(x):
    init = tf.glorot_uniform_initializer(seed=2)
    with tf.variable_scope("d", reuse=tf.AUTO_REUSE, initializer=init):
        return dense(dense(x, 8, tf.nn.leaky_relu, name="hidden"), 1, name="out")


fake = generator(latent)
real_logits, fake_logits = discriminator(samples), discriminator(fake)
cross = tf.losses.sigmoid_cross_entropy
d_loss = cross(tf.ones_like(real_logits), real_logits) + cross(
    tf.zeros_like(fake_logits), fake_logits
)
g_loss = cross(tf.ones_like(fake_logits), fake_logits)
d_step = tf.train.AdamOptimizer(0.01, 0.5).minimize(d_loss, var_list=tf.trainable_variables("d"))
g_step = tf.train.AdamOptimizer(0.01, 0.5).minimize(g_loss, var_list=tf.trainable_variables("g"))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(20):
        d_value, _ = sess.run([d_loss, d_step])
        g_value, _ = sess.run([g_loss, g_step])
        print("loss %.8g %.8g" % (d_value, g_value))
