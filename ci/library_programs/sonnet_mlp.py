"""dm-sonnet: an MLP and an LSTM as modules, shared variables, a checkpoint."""
import tempfile

import numpy as np
import sonnet as snt
import tensorflow as tf

random = np.random.RandomState(0)
x, target = random.randn(32, 3).astype(np.float32), random.randn(32, 1).astype(np.float32)
mlp = snt.nets.MLP([16, 1], activation=tf.tanh, name='mlp')
loss = tf.reduce_mean(tf.square(mlp(tf.constant(x)) - target))
again = tf.reduce_mean(tf.square(mlp(tf.constant(x)) - target))
step = tf.train.AdamOptimizer(0.05).minimize(loss)
core = snt.LSTM(5)
outputs, _ = tf.nn.dynamic_rnn(core, tf.constant(x[None]), initial_state=core.initial_state(1))
conv = snt.Conv2D(4, 3)(tf.ones([1, 8, 8, 1]))
linear = snt.Linear(2)
product = linear(tf.constant(x))
saver = tf.train.Saver(snt.get_variables_in_module(mlp))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(20):
        session.run(step)
    last, same = session.run([loss, again])
    assert last < first and last == same, (first, last)
    assert session.run(outputs).shape == (1, 32, 5) and session.run(conv).shape == (1, 8, 8, 4)
    value, w, b = session.run([product, linear.w, linear.b])
    np.testing.assert_allclose(value, x.dot(w) + b, rtol=1e-5, atol=1e-6)
    path = saver.save(session, tempfile.mkdtemp() + '/mlp')
    session.run(tf.global_variables_initializer())
    saver.restore(session, path)
    assert session.run(loss) == last
