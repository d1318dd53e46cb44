"""tf.contrib.gan, which tensorflow-gan provides: a Wasserstein GAN with gradient penalty."""

import tempfile

import numpy as np
import tensorflow as tf

tfgan = tf.contrib.gan
layers = tf.contrib.layers


def generator(noise):
    return layers.fully_connected(layers.fully_connected(noise, 8), 4, activation_fn=tf.tanh)


def discriminator(data, unused_conditioning):
    return layers.fully_connected(layers.fully_connected(data, 8), 1, activation_fn=None)


model = tfgan.gan_model(
    generator,
    discriminator,
    real_data=tf.random_uniform([6, 4]),
    generator_inputs=tf.random_normal([6, 3]),
)
loss = tfgan.gan_loss(
    model,
    generator_loss_fn=tfgan.losses.wasserstein_generator_loss,
    discriminator_loss_fn=tfgan.losses.wasserstein_discriminator_loss,
    gradient_penalty_weight=1.0,
)
train_ops = tfgan.gan_train_ops(
    model,
    loss,
    tf.train.AdamOptimizer(0.001, beta1=0.5),
    tf.train.AdamOptimizer(0.001, beta1=0.5),
    summarize_gradients=True,
)
value = tfgan.gan_train(
    train_ops,
    logdir=tempfile.mkdtemp(),
    get_hooks_fn=tfgan.get_joint_train_hooks(),
    hooks=[tf.train.StopAtStepHook(num_steps=5)],
)
assert np.isfinite(value), value
print("loss", value)
