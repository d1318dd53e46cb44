"""A feedable iterator that changes between training and validation."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
x_all = rng.randn(200, 6).astype(np.float32)
y_all = (x_all.dot(np.arange(6)) + 0.1 * rng.randn(200)).astype(np.float32)

features = tf.placeholder(tf.float32, [None, 6])
targets = tf.placeholder(tf.float32, [None])


def noisy(x, y):
    return x + tf.random_normal(tf.shape(x), stddev=0.05, seed=3), y


training = tf.data.Dataset.from_tensor_slices((features, targets))
training = training.shuffle(50, seed=5).map(noisy).batch(20).repeat()
validation = tf.data.Dataset.from_tensor_slices((features, targets)).batch(50)
handle = tf.placeholder(tf.string, shape=[])
iterator = tf.data.Iterator.from_string_handle(
    handle, training.output_types, training.output_shapes
)
x, y = iterator.get_next()
training_iterator = training.make_initializable_iterator()
validation_iterator = validation.make_initializable_iterator()

w = tf.get_variable("w", [6, 1], initializer=tf.zeros_initializer())
loss = tf.losses.mean_squared_error(y, tf.squeeze(tf.matmul(x, w), 1))
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.05, global_step, 10, 0.9)
train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    training_handle = sess.run(training_iterator.string_handle())
    validation_handle = sess.run(validation_iterator.string_handle())
    sess.run(training_iterator.initializer, {features: x_all[:150], targets: y_all[:150]})
    for epoch in range(4):
        for _ in range(8):
            loss_value, _ = sess.run([loss, train_op], feed_dict={handle: training_handle})
            print("training loss %.8g" % loss_value)
        sess.run(validation_iterator.initializer, {features: x_all[150:], targets: y_all[150:]})
        print("validation loss %.8g" % sess.run(loss, feed_dict={handle: validation_handle}))
