"""The iterator of a translation program: vocabularies, bucketing by length, padded batches."""

import collections
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import lookup_ops

FOLDER = tempfile.mkdtemp()
UNK_ID = 0
WORDS = ["<unk>", "<s>", "</s>"] + ["w%d" % i for i in range(17)]


class BatchedInput(
    collections.namedtuple(
        "BatchedInput",
        (
            "initializer",
            "source",
            "target_input",
            "target_output",
            "source_length",
            "target_length",
        ),
    )
):
    pass


def write_files():
    rng = np.random.RandomState(3)
    with open(os.path.join(FOLDER, "vocab"), "w") as f:
        f.write("\n".join(WORDS) + "\n")
    with open(os.path.join(FOLDER, "src"), "w") as s, open(os.path.join(FOLDER, "tgt"), "w") as t:
        for number in range(80):
            size = rng.randint(0, 13) if number % 9 else 0
            words = ["w%d" % i for i in rng.randint(0, 20, size)]
            s.write(" ".join(words) + "\n")
            t.write(" ".join(reversed(words[: rng.randint(2, 9)])) + "\n")


def get_iterator(
    src_dataset, tgt_dataset, src_vocab, tgt_vocab, batch_size, num_buckets, src_max_len, seed
):
    src_eos_id = tf.cast(src_vocab.lookup(tf.constant("</s>")), tf.int32)
    tgt_sos_id = tf.cast(tgt_vocab.lookup(tf.constant("<s>")), tf.int32)
    tgt_eos_id = tf.cast(tgt_vocab.lookup(tf.constant("</s>")), tf.int32)
    buffer = batch_size * 1000
    data = tf.data.Dataset.zip((src_dataset, tgt_dataset))
    data = data.shard(1, 0)
    data = data.shuffle(buffer, seed, reshuffle_each_iteration=True)
    data = data.map(
        lambda src, tgt: (tf.string_split([src]).values, tf.string_split([tgt]).values),
        num_parallel_calls=4,
    ).prefetch(buffer)
    data = data.filter(lambda src, tgt: tf.logical_and(tf.size(src) > 0, tf.size(tgt) > 0))
    data = data.map(lambda src, tgt: (src[:src_max_len], tgt), num_parallel_calls=4)
    data = data.map(
        lambda src, tgt: (
            tf.cast(src_vocab.lookup(src), tf.int32),
            tf.cast(tgt_vocab.lookup(tgt), tf.int32),
        ),
        num_parallel_calls=4,
    ).prefetch(buffer)
    data = data.map(
        lambda src, tgt: (
            src,
            tf.concat(([tgt_sos_id], tgt), 0),
            tf.concat((tgt, [tgt_eos_id]), 0),
        ),
        num_parallel_calls=4,
    )
    data = data.map(
        lambda src, tgt_in, tgt_out: (src, tgt_in, tgt_out, tf.size(src), tf.size(tgt_in)),
        num_parallel_calls=4,
    ).prefetch(buffer)

    def batching_func(x):
        none = tf.TensorShape([None])
        empty = tf.TensorShape([])
        return x.padded_batch(
            batch_size,
            padded_shapes=(none, none, none, empty, empty),
            padding_values=(src_eos_id, tgt_eos_id, tgt_eos_id, 0, 0),
        )

    def key_func(unused_1, unused_2, unused_3, src_len, tgt_len):
        bucket_width = (src_max_len + num_buckets - 1) // num_buckets
        bucket_id = tf.maximum(src_len // bucket_width, tgt_len // bucket_width)
        return tf.to_int64(tf.minimum(num_buckets, bucket_id))

    def reduce_func(unused_key, windowed_data):
        return batching_func(windowed_data)

    batched = data.apply(
        tf.contrib.data.group_by_window(
            key_func=key_func, reduce_func=reduce_func, window_size=batch_size
        )
    )
    iterator = batched.make_initializable_iterator()
    src, tgt_in, tgt_out, src_len, tgt_len = iterator.get_next()
    return BatchedInput(iterator.initializer, src, tgt_in, tgt_out, src_len, tgt_len)


write_files()
tf.set_random_seed(2)
vocab_file = os.path.join(FOLDER, "vocab")
src_vocab = lookup_ops.index_table_from_file(vocab_file, default_value=UNK_ID)
tgt_vocab = lookup_ops.index_table_from_file(vocab_file, default_value=UNK_ID)
batch = get_iterator(
    tf.data.TextLineDataset(os.path.join(FOLDER, "src")),
    tf.data.TextLineDataset(os.path.join(FOLDER, "tgt")),
    src_vocab,
    tgt_vocab,
    batch_size=8,
    num_buckets=3,
    src_max_len=10,
    seed=11,
)
init = tf.random_uniform_initializer(-0.2, 0.2, seed=4)
with tf.variable_scope("nmt", initializer=init):
    embedding = tf.get_variable("embedding", [20, 12])
    with tf.variable_scope("encoder"):
        outputs, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.BasicLSTMCell(12),
            tf.nn.embedding_lookup(embedding, batch.source),
            batch.source_length,
            dtype=tf.float32,
        )
    with tf.variable_scope("decoder"):
        outputs, _ = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.BasicLSTMCell(12),
            tf.nn.embedding_lookup(embedding, batch.target_input),
            batch.target_length,
            state,
        )
    logits = tf.layers.dense(outputs, 20, use_bias=False)
crossent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch.target_output, logits=logits)
weights = tf.sequence_mask(batch.target_length, dtype=tf.float32)
loss = tf.reduce_sum(crossent * weights) / tf.to_float(tf.size(batch.target_length))
params = tf.trainable_variables()
clipped, _ = tf.clip_by_global_norm(tf.gradients(loss, params), 5.0)
train_op = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(clipped, params))
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for epoch in range(3):
        sess.run(batch.initializer)
        while True:
            try:
                loss_value, _ = sess.run([loss, train_op])
                print("epoch %d loss %.8g" % (epoch, loss_value))
            except tf.errors.OutOfRangeError:
                break
