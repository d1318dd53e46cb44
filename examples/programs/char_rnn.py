"""The char-RNN of the time: stacked LSTM cells with dropout, dynamic_rnn, clipped gradients."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

TEXT = "to be or not to be that is the question whether tis nobler in the mind to suffer " * 20
chars = sorted(set(TEXT))
vocab = {c: i for i, c in enumerate(chars)}
data = np.array([vocab[c] for c in TEXT], dtype=np.int32)


class Model(object):
    def __init__(self, batch_size=8, seq_length=15, rnn_size=32, num_layers=2, grad_clip=5.0):
        initializer = tf.random_uniform_initializer(-0.1, 0.1, seed=5)
        with tf.variable_scope("rnnlm", initializer=initializer):
            cells = []
            for _ in range(num_layers):
                cells.append(tf.nn.rnn_cell.BasicLSTMCell(rnn_size, forget_bias=1.0))
            self.cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
            self.input_data = tf.placeholder(tf.int32, [batch_size, seq_length])
            self.targets = tf.placeholder(tf.int32, [batch_size, seq_length])
            self.initial_state = self.cell.zero_state(batch_size, tf.float32)
            embedding = tf.get_variable("embedding", [len(chars), rnn_size])
            inputs = tf.nn.embedding_lookup(embedding, self.input_data)
            inputs = tf.nn.dropout(inputs, keep_prob=0.9, seed=6)
            outputs, self.final_state = tf.nn.dynamic_rnn(
                self.cell, inputs, initial_state=self.initial_state
            )
            softmax_w = tf.get_variable("softmax_w", [rnn_size, len(chars)])
            softmax_b = tf.get_variable("softmax_b", [len(chars)])
            output = tf.reshape(outputs, [-1, rnn_size])
            self.logits = tf.matmul(output, softmax_w) + softmax_b
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(self.targets, [-1]), logits=self.logits
            )
            self.cost = tf.reduce_sum(losses) / batch_size / seq_length
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), grad_clip)
        self.train_op = tf.train.AdamOptimizer(self.lr).apply_gradients(zip(grads, tvars))


tf.set_random_seed(11)
model = Model()
batches = data[: 8 * (len(data) // 8)].reshape(8, -1)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.assign(model.lr, 0.01))
    state = sess.run(model.initial_state)
    for step in range(20):
        start = step * 5
        feed = {
            model.input_data: batches[:, start : start + 15],
            model.targets: batches[:, start + 1 : start + 16],
        }
        for i, (c, h) in enumerate(model.initial_state):
            feed[c] = state[i].c
            feed[h] = state[i].h
        cost, state, _ = sess.run([model.cost, model.final_state, model.train_op], feed)
        print("step %d loss %.9g" % (step, cost))
