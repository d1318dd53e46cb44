"""kfac: a network trained by the K-FAC optimizer, with its layers registered by hand and by themselves."""
import kfac
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
x = tf.constant(random.randn(64, 6), tf.float32)
y = tf.constant((random.randn(64) > 0).astype(np.int32))
w = tf.get_variable('w', [6, 8], initializer=tf.glorot_uniform_initializer(seed=1))
b = tf.get_variable('b', [8], initializer=tf.zeros_initializer())
v = tf.get_variable('v', [8, 2], initializer=tf.glorot_uniform_initializer(seed=2))
before = tf.matmul(x, w) + b
hidden = tf.tanh(before)
logits = tf.matmul(hidden, v)
collection = kfac.LayerCollection()
collection.register_fully_connected((w, b), x, before)
collection.register_fully_connected(v, hidden, logits)
collection.register_categorical_predictive_distribution(logits, name='logits')
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
step = tf.train.get_or_create_global_step()
optimizer = kfac.PeriodicInvCovUpdateKfacOpt(
    invert_every=3, cov_update_every=1, learning_rate=0.05, cov_ema_decay=0.9, damping=0.05,
    layer_collection=collection, momentum=0.9, norm_constraint=0.1)
train = optimizer.minimize(loss, global_step=step)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(20):
        session.run(train)
    assert session.run(loss) < first * 0.95, (first, session.run(loss))
