"""tensorflow-gan: GANModel, losses, train ops and gan_train; an estimator of a GAN."""
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_gan as tfgan

tf.logging.set_verbosity(tf.logging.ERROR)


def generator(noise, mode=None):
    net = tf.layers.dense(noise, 16, tf.nn.relu, kernel_initializer=tf.random_normal_initializer(0, 0.1))
    return tf.layers.dense(net, 2)


def discriminator(data, conditioning, mode=None):
    return tf.layers.dense(tf.layers.dense(data, 16, tf.nn.leaky_relu), 1)


real = tf.constant(np.random.RandomState(0).randn(32, 2) * 0.1 + [2.0, -1.0], tf.float32)
tf.set_random_seed(0)
model = tfgan.gan_model(generator, discriminator, real_data=real, generator_inputs=tf.random_normal([32, 4]))
loss = tfgan.gan_loss(
    model, generator_loss_fn=tfgan.losses.wasserstein_generator_loss,
    discriminator_loss_fn=tfgan.losses.wasserstein_discriminator_loss, gradient_penalty_weight=1.0)
ops = tfgan.gan_train_ops(model, loss, tf.train.AdamOptimizer(0.01, 0.5), tf.train.AdamOptimizer(0.02, 0.5))
steps = tfgan.get_sequential_train_hooks(tfgan.GANTrainSteps(1, 2))
tfgan.gan_train(ops, logdir='', get_hooks_fn=steps, hooks=[tf.train.StopAtStepHook(num_steps=40)])


def inputs(mode=None, params=None):
    data = tf.data.Dataset.from_tensors((np.zeros([32, 4], np.float32), np.ones([32, 2], np.float32))).repeat()
    return data.map(lambda noise, points: (tf.random_normal([32, 4]), points))


estimator = tfgan.estimator.GANEstimator(
    tempfile.mkdtemp(), generator_fn=generator, discriminator_fn=discriminator,
    generator_loss_fn=tfgan.losses.modified_generator_loss, discriminator_loss_fn=tfgan.losses.modified_discriminator_loss,
    generator_optimizer=tf.train.AdamOptimizer(0.01), discriminator_optimizer=tf.train.AdamOptimizer(0.01))
estimator.train(inputs, max_steps=20)
assert np.isfinite(estimator.evaluate(inputs, steps=2)['loss'])
