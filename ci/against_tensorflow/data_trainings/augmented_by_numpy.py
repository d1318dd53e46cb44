"""Images that NumPy augments in py_func, with threads and set shapes."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
images = rng.rand(64, 10, 10, 1).astype(np.float32)
labels = (images[:, :5].mean((1, 2, 3)) > images[:, 5:].mean((1, 2, 3))).astype(np.int64)


def rotate(image, turns):
    return np.rot90(image, turns).copy()


def augment(image, label):
    turns = tf.random_uniform([], 0, 2, tf.int32, seed=1) * 2
    shape = image.shape
    image = tf.py_func(rotate, [image, turns], tf.float32)
    image.set_shape(shape)
    label = tf.where(tf.equal(turns, 2), 1 - label, label)
    image = tf.image.random_brightness(image, 0.1, seed=2)
    return tf.clip_by_value(image, 0.0, 1.0), label


dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(64, seed=3).repeat(3)
dataset = dataset.map(augment).batch(8).prefetch(2)
x, y = dataset.make_one_shot_iterator().get_next()
net = tf.layers.flatten(x)
net = tf.layers.dense(net, 16, tf.nn.elu, kernel_initializer=tf.glorot_normal_initializer(seed=4))
logits = tf.layers.dense(net, 1, kernel_initializer=tf.glorot_normal_initializer(seed=5))
loss = tf.losses.sigmoid_cross_entropy(tf.expand_dims(y, 1), logits)
accuracy, update = tf.metrics.accuracy(tf.expand_dims(y, 1), tf.to_int64(logits > 0))
train_op = tf.train.AdamOptimizer(0.005).minimize(loss)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    while True:
        try:
            loss_value, _, _ = sess.run([loss, train_op, update])
            print("loss %.8g" % loss_value)
        except tf.errors.OutOfRangeError:
            break
    print("accuracy loss %.8g" % sess.run(accuracy))
