"""A reinitializable iterator over a training and a test dataset, with dropout by a placeholder."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
centers = rng.randn(3, 5) * 2


def examples(count, seed):
    local = np.random.RandomState(seed)
    labels = local.randint(0, 3, count)
    x = centers[labels] + local.randn(count, 5)
    return x.astype(np.float32), np.eye(3, dtype=np.float32)[labels]


def make(count, seed, batch_size, training):
    dataset = tf.data.Dataset.from_tensor_slices(examples(count, seed))
    if training:
        dataset = dataset.shuffle(count, seed=9, reshuffle_each_iteration=True)
    return dataset.batch(batch_size)


train_data, test_data = make(120, 1, 20, True), make(40, 2, 40, False)
iterator = tf.data.Iterator.from_structure(train_data.output_types, train_data.output_shapes)
train_init = iterator.make_initializer(train_data)
test_init = iterator.make_initializer(test_data)
x, y = iterator.get_next()
keep = tf.placeholder_with_default(1.0, [])
net = tf.layers.dense(x, 12, tf.nn.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
net = tf.nn.dropout(net, keep, seed=5)
logits = tf.layers.dense(net, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        sess.run(train_init)
        try:
            while True:
                print("loss %.8g" % sess.run([loss, train_op], {keep: 0.8})[0])
        except tf.errors.OutOfRangeError:
            pass
        sess.run(test_init)
        print("test loss %.8g" % sess.run(loss))
