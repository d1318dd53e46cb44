"""A classifier of points, as tutorials of TensorFlow 1 had it."""

from __future__ import print_function

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_float("learning_rate", 0.5, "Learning rate.")
flags.DEFINE_integer("max_steps", 100, "Number of steps.")
FLAGS = flags.FLAGS


def points(count):
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=count)
    centers = np.array([[0.0, 2.0], [2.0, 0.0], [-2.0, -1.0]])
    return (centers[labels] + rng.randn(count, 2) * 0.5).astype(np.float32), labels


def main(_):
    images, labels = points(300)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y_ = tf.placeholder(tf.int64, [None], name="y_")
    W = tf.Variable(tf.zeros([2, 3]))
    b = tf.Variable(tf.zeros([3]))
    y = tf.matmul(x, W) + b

    loss = tf.losses.sparse_softmax_cross_entropy(labels=y_, logits=y)
    train_step = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(loss)
    correct = tf.equal(tf.argmax(y, 1), y_)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    sess = tf.InteractiveSession()
    tf.global_variables_initializer().run()
    for _ in range(FLAGS.max_steps):
        sess.run(train_step, feed_dict={x: images, y_: labels})
    print("accuracy", sess.run(accuracy, feed_dict={x: images, y_: labels}))
    tf.reset_default_graph()


if __name__ == "__main__":
    tf.app.run()
