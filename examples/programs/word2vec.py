"""Skip-grams with noise contrastive estimation, as in the tutorial on word vectors."""

import collections

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

vocabulary_size, embedding_size, batch_size, num_sampled = 200, 32, 64, 16
random = np.random.RandomState(1)
words = np.minimum(random.zipf(1.5, 4000) - 1, vocabulary_size - 1)
data_index = 0


def generate_batch(skip_window, num_skips):
    global data_index
    batch = np.ndarray(shape=(batch_size,), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(words[data_index : data_index + span], maxlen=span)
    data_index += span
    for i in range(batch_size // num_skips):
        context = [w for w in range(span) if w != skip_window]
        for j, position in enumerate(random.permutation(context)[:num_skips]):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[position]
        buffer.append(words[data_index])
        data_index = (data_index + 1) % (len(words) - span)
    return batch, labels


graph = tf.Graph()
with graph.as_default():
    tf.set_random_seed(1)
    with tf.name_scope("inputs"):
        train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
        train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(
            tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0, seed=2)
        )
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable(
            tf.truncated_normal([vocabulary_size, embedding_size], stddev=0.2, seed=3)
        )
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    sampled = tf.nn.log_uniform_candidate_sampler(
        tf.cast(train_labels, tf.int64), 1, num_sampled, True, vocabulary_size, seed=4
    )
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=nce_weights,
            biases=nce_biases,
            labels=train_labels,
            inputs=embed,
            num_sampled=num_sampled,
            num_classes=vocabulary_size,
            sampled_values=sampled,
        )
    )
    optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    normalized_embeddings = embeddings / norm
    similarity = tf.matmul(normalized_embeddings[:4], normalized_embeddings, transpose_b=True)
    init = tf.global_variables_initializer()

with tf.Session(graph=graph) as session:
    init.run()
    for step in range(20):
        batch_inputs, batch_labels = generate_batch(skip_window=2, num_skips=2)
        feed_dict = {train_inputs: batch_inputs, train_labels: batch_labels}
        _, loss_val = session.run([optimizer, loss], feed_dict=feed_dict)
        print("step %d loss %.9g" % (step, loss_val))
    print("nearest", (-similarity.eval()).argsort(axis=1)[:, 1:4].tolist())
