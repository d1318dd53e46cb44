"""A GAN with spectral normalization, self-attention and a gradient penalty."""

import tensorflow as tf, numpy as np, functools
from tensorflow.contrib.layers import variance_scaling_initializer


def spectral_norm(w, iteration=1):
    w_shape = w.shape.as_list()
    w = tf.reshape(w, [-1, w_shape[-1]])
    u = tf.get_variable(
        "u", [1, w_shape[-1]], initializer=tf.truncated_normal_initializer(), trainable=False
    )
    u_hat = u
    v_hat = None
    for i in range(iteration):
        v_ = tf.matmul(u_hat, tf.transpose(w))
        v_hat = (
            tf.nn.l2_normalize(v_, dim=None)
            if False
            else v_ / (tf.reduce_sum(v_**2) ** 0.5 + 1e-12)
        )
        u_ = tf.matmul(v_hat, w)
        u_hat = u_ / (tf.reduce_sum(u_**2) ** 0.5 + 1e-12)
    u_hat, v_hat = tf.stop_gradient(u_hat), tf.stop_gradient(v_hat)
    sigma = tf.matmul(tf.matmul(v_hat, w), tf.transpose(u_hat))
    with tf.control_dependencies([u.assign(u_hat)]):
        w_norm = w / sigma
        return tf.reshape(w_norm, w_shape)


def conv(x, c, k=3, s=1, pad_type="reflect", sn=True, scope="conv_0"):
    with tf.variable_scope(scope):
        x = (
            tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
            if pad_type == "reflect"
            else x
        )
        w = tf.get_variable(
            "kernel",
            shape=[k, k, x.get_shape()[-1], c],
            initializer=variance_scaling_initializer(),
            regularizer=tf.contrib.layers.l2_regularizer(1e-4),
        )
        return tf.nn.bias_add(
            tf.nn.conv2d(
                input=x, filter=spectral_norm(w) if sn else w, strides=[1, s, s, 1], padding="VALID"
            ),
            tf.get_variable("bias", [c], initializer=tf.constant_initializer(0.0)),
        )


def attention(x, ch, scope="attention"):
    with tf.variable_scope(scope):
        hw = lambda t: tf.reshape(t, shape=[tf.shape(t)[0], -1, t.shape[-1]])
        f, g, h = (
            conv(x, ch // 4, 1, pad_type="v", scope="f"),
            conv(x, ch // 4, 1, pad_type="v", scope="g"),
            conv(x, ch, 1, pad_type="v", scope="h"),
        )
        beta = tf.nn.softmax(tf.matmul(hw(g), hw(f), transpose_b=True))
        o = tf.matmul(beta, hw(h))
        gamma = tf.get_variable("gamma", [1], initializer=tf.constant_initializer(0.0))
        return gamma * tf.reshape(o, shape=tf.shape(x)) + x


def gen(z, train, reuse=False):
    with tf.variable_scope("generator", reuse=reuse):
        x = tf.layers.dense(z, 4 * 4 * 16)
        x = tf.reshape(x, [-1, 4, 4, 16])
        x = tf.nn.relu(
            tf.contrib.layers.batch_norm(
                x,
                decay=0.9,
                epsilon=1e-5,
                center=True,
                scale=True,
                is_training=train,
                scope="bn",
                updates_collections=tf.GraphKeys.UPDATE_OPS,
            )
        )
        x = tf.image.resize_nearest_neighbor(x, [8, 8])
        x = attention(conv(x, 16, scope="c1"), 16)
        x = tf.depth_to_space(conv(x, 12, scope="c2"), 2)
        return tf.tanh(x)


def dis(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        for i in range(3):
            x = tf.nn.leaky_relu(conv(x, 8 * 2**i, s=2, scope="c%d" % i), 0.2)
        x = tf.contrib.layers.flatten(x)
        mb = tf.layers.dense(x, 4 * 3)
        a = tf.reshape(mb, (-1, 4, 3))
        d = tf.expand_dims(a, 3) - tf.expand_dims(tf.transpose(a, [1, 2, 0]), 0)
        m = tf.reduce_sum(tf.exp(-tf.reduce_sum(tf.abs(d), 2)), 2)
        return tf.layers.dense(tf.concat([x, m], 1), 1)


tf.set_random_seed(0)
real = tf.placeholder(tf.float32, [8, 16, 16, 3])
z = tf.contrib.distributions.Normal(0.0, 1.0).sample([8, 10])
fake = gen(z, True)
rl, fl = dis(real), dis(fake, True)
eps = tf.random_uniform([8, 1, 1, 1], 0.0, 1.0)
inter = eps * real + (1.0 - eps) * fake
grad = tf.gradients(dis(inter, True), [inter])[0]
gp = tf.reduce_mean(tf.square(tf.norm(tf.contrib.layers.flatten(grad), axis=1) - 1.0))
d_loss = tf.reduce_mean(tf.nn.relu(1.0 - rl)) + tf.reduce_mean(tf.nn.relu(1.0 + fl)) + 10 * gp
g_loss = -tf.reduce_mean(fl) + tf.losses.get_regularization_loss(scope="generator")
dv = tf.trainable_variables("discriminator")
gv = tf.trainable_variables(scope="generator")
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    do = tf.train.AdamOptimizer(4e-4, beta1=0.0, beta2=0.9).minimize(d_loss, var_list=dv)
    go = tf.train.AdamOptimizer(1e-4, beta1=0.0, beta2=0.9).minimize(g_loss, var_list=gv)
ema = tf.train.ExponentialMovingAverage(0.99)
with tf.control_dependencies([go]):
    keep = ema.apply(gv)


def ema_getter(getter, name, *a, **k):
    v = getter(name, *a, **k)
    m = ema.average(v)
    return m if m is not None else v


with tf.variable_scope("", custom_getter=ema_getter):
    smp = gen(z, False, reuse=True)
img = tf.contrib.gan.eval.image_grid(smp, (2, 4), (16, 16), 3) if False else smp
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    r = np.random.RandomState(0).rand(8, 16, 16, 3) * 2 - 1
    for i in range(5):
        l = s.run([d_loss, do], {real: r})[0]
        l2 = s.run([g_loss, keep], {real: r})[0]
    print(l, l2, s.run(img).shape)
