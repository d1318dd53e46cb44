"""An LSTM that adds up a sequence, with names from TensorFlow's own folders."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib import slim
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops, rnn_cell_impl, variable_scope
from tensorflow.python.util import nest


class ScaledCell(rnn_cell_impl.RNNCell):
    def __init__(self, cell):
        super(ScaledCell, self).__init__()
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def call(self, inputs, state):
        assert nest.is_sequence(state)
        output, state = self._cell(inputs, state)
        scale = variable_scope.get_variable("scale", [], initializer=tf.ones_initializer())
        return array_ops.identity(output * scale), state


with ops.Graph().as_default():
    tf.set_random_seed(1)
    inputs = tf.placeholder(tf.float32, [None, 8, 1])
    targets = tf.reduce_sum(inputs, axis=1)
    cell = ScaledCell(tf.nn.rnn_cell.BasicLSTMCell(16))
    outputs, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    predictions = slim.fully_connected(outputs[:, -1], 1, activation_fn=None)
    loss = tf.losses.mean_squared_error(targets, predictions)
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
    batch = np.random.RandomState(0).rand(32, 8, 1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(60):
            _, value = sess.run([train_op, loss], {inputs: batch})
        print("loss below 1:", value < 1.0)
