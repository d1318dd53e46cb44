"""A deep convolutional GAN: transposed convolutions, batch normalization, two optimizers."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

BATCH, Z = 16, 20


def initializer(seed):
    return tf.random_normal_initializer(stddev=0.02, seed=seed)


def lrelu(x, leak=0.2, name="lrelu"):
    return tf.maximum(x, leak * x, name=name)


def batch_norm(x, train, name):
    return tf.layers.batch_normalization(
        x, momentum=0.9, epsilon=1e-5, training=train, name=name, fused=False
    )


def deconv2d(x, output_shape, seed, name):
    with tf.variable_scope(name):
        shape = [5, 5, output_shape[-1], x.get_shape()[-1]]
        w = tf.get_variable("w", shape, initializer=initializer(seed))
        out = tf.nn.conv2d_transpose(x, w, output_shape=output_shape, strides=[1, 2, 2, 1])
        biases = tf.get_variable("biases", [output_shape[-1]], initializer=tf.zeros_initializer())
        return tf.reshape(tf.nn.bias_add(out, biases), output_shape)


def conv2d(x, filters, seed, name):
    with tf.variable_scope(name):
        shape = [5, 5, x.get_shape()[-1], filters]
        w = tf.get_variable("w", shape, initializer=initializer(seed))
        return tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME")


def linear(x, size, seed, name):
    with tf.variable_scope(name):
        matrix = tf.get_variable("Matrix", [x.shape[1], size], tf.float32, initializer(seed))
        bias = tf.get_variable("bias", [size], initializer=tf.constant_initializer(0.0))
        return tf.matmul(x, matrix) + bias


def generator(z):
    with tf.variable_scope("generator"):
        h0 = tf.reshape(linear(z, 7 * 7 * 16, 1, "g_h0_lin"), [-1, 7, 7, 16])
        h0 = tf.nn.relu(batch_norm(h0, True, "g_bn0"))
        h1 = deconv2d(h0, [BATCH, 14, 14, 8], 2, "g_h1")
        h1 = tf.nn.relu(batch_norm(h1, True, "g_bn1"))
        return tf.nn.tanh(deconv2d(h1, [BATCH, 28, 28, 1], 3, "g_h2"))


def discriminator(image, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h0 = lrelu(conv2d(image, 8, 4, "d_h0_conv"))
        h1 = lrelu(batch_norm(conv2d(h0, 16, 5, "d_h1_conv"), True, "d_bn1"))
        h2 = linear(tf.reshape(h1, [BATCH, -1]), 1, 6, "d_h2_lin")
        return tf.nn.sigmoid(h2), h2


tf.set_random_seed(3)
real = tf.placeholder(tf.float32, [BATCH, 28, 28, 1], name="real_images")
z = tf.placeholder(tf.float32, [None, Z], name="z")
fake = generator(z)
D, D_logits = discriminator(real)
D_, D_logits_ = discriminator(fake, reuse=True)
sce = tf.nn.sigmoid_cross_entropy_with_logits
d_loss_real = tf.reduce_mean(sce(logits=D_logits, labels=tf.ones_like(D)))
d_loss_fake = tf.reduce_mean(sce(logits=D_logits_, labels=tf.zeros_like(D_)))
d_loss = d_loss_real + d_loss_fake
g_loss = tf.reduce_mean(sce(logits=D_logits_, labels=tf.ones_like(D_)))
t_vars = tf.trainable_variables()
d_vars = [var for var in t_vars if "d_" in var.name]
g_vars = [var for var in t_vars if "g_" in var.name]
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    d_optim = tf.train.AdamOptimizer(0.0002, 0.5, epsilon=1e-4).minimize(d_loss, var_list=d_vars)
    g_optim = tf.train.AdamOptimizer(0.0002, 0.5, epsilon=1e-4).minimize(g_loss, var_list=g_vars)

random = np.random.RandomState(2)
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for step in range(20):
        images = np.clip(0.3 * random.randn(BATCH, 28, 28, 1), -1, 1)
        batch_z = random.uniform(-1, 1, [BATCH, Z]).astype(np.float32)
        _, d_value = sess.run([d_optim, d_loss], feed_dict={real: images, z: batch_z})
        _, g_value = sess.run([g_optim, g_loss], feed_dict={real: images, z: batch_z})
        print("step %d loss %.9g %.9g" % (step, d_value, g_value))
