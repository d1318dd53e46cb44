"""SequenceExamples, bucketed by length, with sparse features and a CTC loss."""

import os
import tempfile

import numpy as np
import tensorflow as tf

PATH = os.path.join(tempfile.mkdtemp(), "utterances.tfrecord.gz")


def write_records():
    rng = np.random.RandomState(9)
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(PATH, options=options) as writer:
        for number in range(60):
            labels = rng.randint(0, 4, rng.randint(1, 4))
            frames = np.repeat(np.eye(4)[labels], 4, 0) + 0.1 * rng.randn(4 * len(labels), 4)
            example = tf.train.SequenceExample()
            example.context.feature["id"].int64_list.value.append(number)
            example.context.feature["labels"].int64_list.value.extend(labels)
            for frame in frames:
                feature = example.feature_lists.feature_list["frames"].feature.add()
                feature.float_list.value.extend(frame)
            writer.write(example.SerializeToString())


def parse(serialized):
    context, sequence = tf.parse_single_sequence_example(
        serialized,
        context_features={
            "id": tf.FixedLenFeature([], tf.int64),
            "labels": tf.VarLenFeature(tf.int64),
        },
        sequence_features={"frames": tf.FixedLenSequenceFeature([4], tf.float32)},
    )
    labels = tf.sparse_tensor_to_dense(context["labels"])
    return sequence["frames"], tf.cast(labels, tf.int32), tf.shape(sequence["frames"])[0]


write_records()
dataset = tf.data.TFRecordDataset(PATH, compression_type="GZIP", buffer_size=4096)
dataset = dataset.map(parse, num_parallel_calls=tf.data.experimental.AUTOTUNE)
dataset = dataset.shuffle(60, seed=1).repeat(3)
dataset = dataset.apply(
    tf.data.experimental.bucket_by_sequence_length(
        lambda frames, labels, size: size,
        bucket_boundaries=[5, 9],
        bucket_batch_sizes=[6, 5, 4],
        padding_values=(0.0, -1, 0),
    )
)
frames, labels, sizes = dataset.make_one_shot_iterator().get_next()
with tf.variable_scope("net", initializer=tf.glorot_uniform_initializer(seed=3)):
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(10), frames, sizes, dtype=tf.float32)
    logits = tf.layers.dense(outputs, 5)
indices = tf.where(labels >= 0)
sparse = tf.SparseTensor(
    indices, tf.gather_nd(labels, indices), tf.shape(labels, out_type=tf.int64)
)
loss = tf.reduce_mean(tf.nn.ctc_loss(sparse, logits, sizes, time_major=False))
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        try:
            print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            break
