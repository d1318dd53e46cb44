"""Sequence to sequence with additive attention: an encoder by dynamic_rnn, a decoder by raw_rnn."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

VOCAB, UNITS, BATCH, TIME, GO = 12, 24, 16, 7, 0


def attention(query, keys, memory, mask):
    """Additive attention over the encoder's outputs."""
    with tf.variable_scope("attention", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("query_kernel", [UNITS, UNITS])
        v = tf.get_variable("attention_v", [UNITS])
        score = tf.reduce_sum(v * tf.tanh(keys + tf.expand_dims(tf.matmul(query, w), 1)), [2])
        score = tf.where(mask, score, tf.fill(tf.shape(score), -1e9))
        alignments = tf.nn.softmax(score)
        return tf.reduce_sum(tf.expand_dims(alignments, -1) * memory, [1])


tf.set_random_seed(21)
source = tf.placeholder(tf.int32, [None, TIME], name="source")
lengths = tf.placeholder(tf.int32, [None], name="lengths")
target = tf.placeholder(tf.int32, [None, TIME], name="target")
with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=8)):
    embedding = tf.get_variable("embedding", [VOCAB, UNITS])
    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(UNITS),
            tf.nn.embedding_lookup(embedding, source),
            sequence_length=lengths,
            dtype=tf.float32,
        )
    with tf.variable_scope("decoder") as decoder_scope:
        keys = tf.tensordot(memory, tf.get_variable("memory_kernel", [UNITS, UNITS]), [[2], [0]])
        mask = tf.sequence_mask(lengths, TIME)
        cell = tf.nn.rnn_cell.GRUCell(UNITS)
        go = tf.fill([tf.shape(target)[0], 1], GO)
        teacher = tf.concat([go, target[:, :-1]], 1)
        inputs = tf.TensorArray(tf.float32, TIME).unstack(
            tf.transpose(tf.nn.embedding_lookup(embedding, teacher), [1, 0, 2])
        )

        def loop_fn(time, cell_output, cell_state, loop_state):
            next_state = state if cell_output is None else cell_state
            finished = time >= lengths
            all_done = tf.reduce_all(finished)

            def next_input():
                context = attention(next_state, keys, memory, mask)
                return tf.concat([inputs.read(time), context], 1)

            zeros = tf.zeros([tf.shape(target)[0], 2 * UNITS])
            following = tf.cond(all_done, lambda: zeros, next_input)
            following.set_shape([None, 2 * UNITS])
            return finished, following, next_state, cell_output, None

        outputs_ta, _, _ = tf.nn.raw_rnn(cell, loop_fn, scope=decoder_scope)
        outputs = tf.transpose(outputs_ta.stack(), [1, 0, 2])
        logits = tf.layers.dense(outputs, VOCAB, name="projection")
steps = tf.shape(logits)[1]
weights = tf.sequence_mask(lengths, steps, dtype=tf.float32)
crossent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target[:, :steps], logits=logits)
loss = tf.reduce_sum(crossent * weights) / tf.reduce_sum(weights)
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01, global_step, 10, 0.9, staircase=True)
optimizer = tf.train.AdamOptimizer(rate)
gradients, variables = zip(*optimizer.compute_gradients(loss))
gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=global_step)

random = np.random.RandomState(4)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for step in range(20):
        texts = random.randint(1, VOCAB, size=(BATCH, TIME))
        feed = {source: texts, target: texts[:, ::-1], lengths: random.randint(4, TIME + 1, BATCH)}
        _, loss_value, norm_value = sess.run([train_op, loss, norm], feed)
        print("step %d loss %.9g norm %.6g" % (step, loss_value, norm_value))
