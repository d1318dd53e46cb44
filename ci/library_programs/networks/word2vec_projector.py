"""Word vectors by noise-contrastive estimation, for the projector of TensorBoard."""

from __future__ import absolute_import, division, print_function
import collections, math, os, random
import numpy as np
from six.moves import xrange
import tensorflow as tf
from tensorflow.contrib.tensorboard.plugins import projector
import tempfile

words = (
    "the quick brown fox jumps over the lazy dog and the cat sat on the mat while " * 60
).split()


def build_dataset(words, n_words):
    count = [["UNK", -1]]
    count.extend(collections.Counter(words).most_common(n_words - 1))
    dictionary = dict()
    for word, _ in count:
        dictionary[word] = len(dictionary)
    data = [dictionary.get(w, 0) for w in words]
    return data, count, dictionary, dict(zip(dictionary.values(), dictionary.keys()))


vocabulary_size = 14
data, count, dictionary, reverse_dictionary = build_dataset(words, vocabulary_size)
data_index = 0


def generate_batch(batch_size, num_skips, skip_window):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    if data_index + span > len(data):
        data_index = 0
    buffer.extend(data[data_index : data_index + span])
    data_index += span
    for i in range(batch_size // num_skips):
        context_words = [w for w in range(span) if w != skip_window]
        words_to_use = random.sample(context_words, num_skips)
        for j, context_word in enumerate(words_to_use):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[context_word]
        if data_index == len(data):
            buffer.extend(data[0:span])
            data_index = span
        else:
            buffer.append(data[data_index])
            data_index += 1
    data_index = (data_index + len(data) - span) % len(data)
    return batch, labels


log_dir = tempfile.mkdtemp()
graph = tf.Graph()
with graph.as_default():
    with tf.name_scope("inputs"):
        train_inputs = tf.placeholder(tf.int32, shape=[32])
        train_labels = tf.placeholder(tf.int32, shape=[32, 1])
        valid_dataset = tf.constant(np.array([1, 2, 3]), dtype=tf.int32)
    with tf.device("/cpu:0"):
        with tf.name_scope("embeddings"):
            embeddings = tf.Variable(tf.random_uniform([vocabulary_size, 16], -1.0, 1.0))
            embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        with tf.name_scope("weights"):
            nce_weights = tf.Variable(
                tf.truncated_normal([vocabulary_size, 16], stddev=1.0 / math.sqrt(16))
            )
        with tf.name_scope("biases"):
            nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    with tf.name_scope("loss"):
        unigrams = [c for _, c in count]
        unigrams[0] = 1
        sampled = tf.nn.fixed_unigram_candidate_sampler(
            true_classes=tf.cast(train_labels, tf.int64),
            num_true=1,
            num_sampled=5,
            unique=True,
            range_max=vocabulary_size,
            distortion=0.75,
            unigrams=unigrams,
        )
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=nce_weights,
                biases=nce_biases,
                labels=train_labels,
                inputs=embed,
                num_sampled=5,
                num_classes=vocabulary_size,
                sampled_values=sampled,
                remove_accidental_hits=True,
            )
        )
    tf.summary.scalar("loss", loss)
    with tf.name_scope("optimizer"):
        optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    normalized_embeddings = embeddings / norm
    valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_dataset)
    similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)
    merged = tf.summary.merge_all()
    init = tf.global_variables_initializer()
    saver = tf.train.Saver()
with tf.Session(graph=graph) as session:
    writer = tf.summary.FileWriter(log_dir, session.graph)
    init.run()
    average_loss = 0
    for step in xrange(101):
        batch_inputs, batch_labels = generate_batch(32, 2, 1)
        run_metadata = tf.RunMetadata()
        _, summary, loss_val = session.run(
            [optimizer, merged, loss],
            feed_dict={train_inputs: batch_inputs, train_labels: batch_labels},
            run_metadata=run_metadata,
        )
        average_loss += loss_val
        writer.add_summary(summary, step)
        if step == 100:
            writer.add_run_metadata(run_metadata, "step%d" % step)
    sim = similarity.eval()
    nearest = (-sim[0, :]).argsort()[1:4]
    print("loss", average_loss / 101, [reverse_dictionary[k] for k in nearest])
    final_embeddings = normalized_embeddings.eval()
    with open(log_dir + "/metadata.tsv", "w") as f:
        for i in xrange(vocabulary_size):
            f.write(reverse_dictionary.get(i, "?") + "\n")
    saver.save(session, os.path.join(log_dir, "model.ckpt"))
    config = projector.ProjectorConfig()
    embedding_conf = config.embeddings.add()
    embedding_conf.tensor_name = embeddings.name
    embedding_conf.metadata_path = os.path.join(log_dir, "metadata.tsv")
    embedding_conf.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(writer, config)
writer.close()
