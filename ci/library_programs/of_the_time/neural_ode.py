"""A differential equation fitted by tf.contrib.integrate."""

import tensorflow as tf, numpy as np
from tensorflow.contrib.integrate import odeint, odeint_fixed

A = tf.constant([[-0.1, 2.0], [-2.0, -0.1]])
y0 = tf.constant([[2.0, 0.0]])
t = np.linspace(0, 2.0, 20)
true = odeint(lambda y, t: tf.matmul(y**3, A), y0, t, rtol=1e-5, atol=1e-7)
w1 = tf.get_variable("w1", [2, 16])
b1 = tf.get_variable("b1", [16])
w2 = tf.get_variable("w2", [16, 2])
f = lambda y, t: tf.matmul(tf.tanh(tf.matmul(y**3, w1) + b1), w2)
pred = odeint_fixed(f, y0, tf.constant(t, tf.float32), dt=0.05, method="rk4")
loss = tf.reduce_mean(tf.abs(pred - tf.stop_gradient(true)))
pred2, info = odeint(f, y0, tf.constant(t[:4], tf.float64), full_output=True)
train = tf.train.AdamOptimizer(0.02).minimize(loss)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    l = [s.run([loss, train])[0] for _ in range(15)]
    print(l[0], l[-1], s.run(true)[-1], sorted(info), s.run(tf.shape(pred2)))
