"""Lines of text, split and looked up in a vocabulary file, for a bag of embedded words."""

import os
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()
GOOD, BAD, REST = ["good", "great", "fine"], ["bad", "poor", "awful"], ["the", "a", "film", "is"]


def write_files():
    rng = np.random.RandomState(6)
    with open(os.path.join(FOLDER, "vocabulary.txt"), "w") as f:
        f.write("\n".join(GOOD + BAD + REST))
    for part in range(3):
        with open(os.path.join(FOLDER, "part%d.txt" % part), "w") as f:
            f.write("label\ttext\n")
            for _ in range(40):
                label = rng.randint(2)
                words = list(rng.choice(REST + ["unseen%d" % rng.randint(5)], rng.randint(2, 6)))
                words += list(rng.choice([BAD, GOOD][label], 2))
                rng.shuffle(words)
                f.write("%d\t%s\n" % (label, " ".join(words)))


def parse(line):
    fields = tf.decode_csv(line, [[0], [""]], field_delim="\t")
    tokens = tf.string_split([fields[1]]).values
    tokens = tf.regex_replace(tokens, "^the$", "a")
    return {"tokens": tokens, "size": tf.size(tokens)}, fields[0]


write_files()
files = tf.data.Dataset.list_files(os.path.join(FOLDER, "part*.txt"), shuffle=False)
lines = files.interleave(
    lambda path: tf.data.TextLineDataset(path).skip(1), cycle_length=3, block_length=2
)
parsed = lines.map(parse, num_parallel_calls=2).cache().shuffle(200, seed=1).repeat(2)
padded = parsed.padded_batch(
    12,
    padded_shapes=({"tokens": [None], "size": []}, []),
    padding_values=({"tokens": "<pad>", "size": 0}, 0),
)
iterator = padded.make_initializable_iterator()
features, labels = iterator.get_next()
table = tf.contrib.lookup.index_table_from_file(
    os.path.join(FOLDER, "vocabulary.txt"), num_oov_buckets=3
)
ids = table.lookup(features["tokens"])
init = tf.random_normal_initializer(0, 0.1, seed=3)
embeddings = tf.get_variable("embeddings", [13, 6], initializer=init)
mask = tf.sequence_mask(features["size"], dtype=tf.float32)
embedded = tf.nn.embedding_lookup(embeddings, ids) * tf.expand_dims(mask, 2)
bag = tf.reduce_sum(embedded, 1) / tf.to_float(tf.expand_dims(features["size"], 1))
logits = tf.layers.dense(bag, 2, kernel_initializer=tf.glorot_uniform_initializer(seed=7))
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train_op = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    sess.run(iterator.initializer)
    while True:
        try:
            print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            break
