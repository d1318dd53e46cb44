"""Skip-grams from windows of text, and negative samples, all in the pipeline."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
VOCABULARY = 30
corpus = np.concatenate([(rng.randint(0, 10) * 3 + np.arange(3)) % VOCABULARY for _ in range(120)])


def pairs(window):
    center = window[2]
    context = tf.concat([window[:2], window[3:]], 0)
    return tf.data.Dataset.from_tensor_slices((tf.fill([4], center), context))


dataset = tf.data.Dataset.from_tensor_slices(corpus.astype(np.int64))
dataset = dataset.window(5, 1, 1, drop_remainder=True)
dataset = dataset.flat_map(lambda window: window.batch(5))
dataset = dataset.interleave(pairs, cycle_length=4, block_length=2)
dataset = dataset.filter(lambda center, context: tf.not_equal(center, context))
dataset = dataset.shuffle(100, seed=5).batch(48, drop_remainder=True)
center, context = dataset.make_one_shot_iterator().get_next()
init = tf.random_uniform_initializer(-0.5, 0.5, seed=2)
embeddings = tf.get_variable("embeddings", [VOCABULARY, 8], initializer=init)
weights = tf.get_variable("weights", [VOCABULARY, 8], initializer=tf.zeros_initializer())
biases = tf.get_variable("biases", [VOCABULARY], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(
    tf.nn.sampled_softmax_loss(
        weights,
        biases,
        tf.expand_dims(context, 1),
        tf.nn.embedding_lookup(embeddings, center),
        num_sampled=8,
        num_classes=VOCABULARY,
        seed=3,
    )
)
train_op = tf.train.AdagradOptimizer(0.5).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    while True:
        try:
            print("loss %.8g" % sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            break
