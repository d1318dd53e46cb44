"""A program of what is refused: eager execution, and devices that are not there."""

import tensorflow as tf
import tensorflow.contrib.eager as tfe

if tf.executing_eagerly():
    tf.enable_eager_execution()
rate = tfe.Variable(0.1)


def model(params):
    if params["use_tpu"]:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))
    else:
        optimizer = tf.train.AdamOptimizer(rate)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(params["x"]))
    return optimizer.apply_gradients([(tape.gradient(loss, params["x"]), params["x"])])


print(tf.GraphKeys.LOSSES)
tf.enable_eager_execution()
