"""Sequences of a Python generator, in padded batches, for a recurrent classifier."""

import numpy as np
import tensorflow as tf


def sequences(seed):
    rng = np.random.RandomState(seed)
    for _ in range(96):
        size = rng.randint(2, 12)
        values = rng.randn(size, 3)
        yield {"values": values, "length": size}, int(values.sum() > 0)


dataset = tf.data.Dataset.from_generator(
    sequences,
    ({"values": tf.float32, "length": tf.int32}, tf.int32),
    ({"values": [None, 3], "length": []}, []),
    args=(7,),
)
dataset = dataset.padded_batch(8, ({"values": [None, 3], "length": []}, [])).repeat(2)
dataset = dataset.prefetch(1)
inputs, labels = dataset.make_one_shot_iterator().get_next()
cell = tf.nn.rnn_cell.BasicLSTMCell(8)
with tf.variable_scope("rnn", initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=6)):
    outputs, state = tf.nn.bidirectional_dynamic_rnn(
        cell,
        tf.nn.rnn_cell.GRUCell(8),
        inputs["values"],
        sequence_length=inputs["length"],
        dtype=tf.float32,
    )
    last = tf.concat([state[0].h, state[1]], 1)
    logits = tf.layers.dense(last, 2)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
train_op = tf.train.RMSPropOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        try:
            print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            break
