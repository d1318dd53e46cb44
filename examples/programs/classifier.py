"""The tutorial's classifier: two convolutions, a dense layer with dropout, softmax regression."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = tf.app.flags
flags.DEFINE_integer("max_steps", 20, "Number of steps to train.")
flags.DEFINE_integer("batch_size", 32, "Images in a batch.")
flags.DEFINE_float("learning_rate", 1e-3, "Learning rate of Adam.")
FLAGS = flags.FLAGS


def weight_variable(shape, seed):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1, seed=seed), name="weights")


def bias_variable(shape):
    return tf.Variable(tf.constant(0.1, shape=shape), name="biases")


def conv2d(x, W):
    return tf.nn.conv2d(x, W, strides=[1, 1, 1, 1], padding="SAME")


def max_pool_2x2(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def inference(images, keep_prob):
    with tf.name_scope("conv1"):
        hidden = max_pool_2x2(
            tf.nn.relu(conv2d(images, weight_variable([5, 5, 1, 16], 1)) + bias_variable([16]))
        )
    with tf.name_scope("conv2"):
        hidden = max_pool_2x2(
            tf.nn.relu(conv2d(hidden, weight_variable([5, 5, 16, 32], 2)) + bias_variable([32]))
        )
    with tf.name_scope("fc1"):
        flat = tf.reshape(hidden, [-1, 7 * 7 * 32])
        hidden = tf.nn.relu(
            tf.matmul(flat, weight_variable([7 * 7 * 32, 64], 3)) + bias_variable([64])
        )
        hidden = tf.nn.dropout(hidden, keep_prob, seed=4)
    with tf.name_scope("fc2"):
        return tf.matmul(hidden, weight_variable([64, 10], 5)) + bias_variable([10])


def main(_):
    tf.set_random_seed(7)
    random = np.random.RandomState(0)
    prototypes = random.rand(10, 28, 28, 1)
    images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    keep_prob = tf.placeholder(tf.float32, name="keep_prob")
    logits = inference(images, keep_prob)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(cross_entropy, name="loss")
    global_step = tf.Variable(0, name="global_step", trainable=False)
    train_op = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step=global_step)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.max_steps):
            digits = random.randint(10, size=FLAGS.batch_size)
            batch = prototypes[digits] + 0.3 * random.randn(FLAGS.batch_size, 28, 28, 1)
            feed_dict = {images: batch, labels: digits, keep_prob: 0.5}
            _, loss_value = sess.run([train_op, loss], feed_dict=feed_dict)
            print("step %d loss %.9g" % (step, loss_value))
        print("accuracy %.3f" % accuracy.eval({images: batch, labels: digits, keep_prob: 1.0}))


if __name__ == "__main__":
    tf.app.run()
