"""A convolutional net on TFRecords of raw images: parsed, scaled, shuffled, batched, prefetched."""

import os
import tempfile

import numpy as np
import tensorflow as tf

FOLDER = tempfile.mkdtemp()
PATHS = [os.path.join(FOLDER, "train-%d-of-3.tfrecords" % part) for part in range(3)]


def write_records():
    rng = np.random.RandomState(0)
    for path in PATHS:
        with tf.python_io.TFRecordWriter(path) as writer:
            for _ in range(40):
                label = rng.randint(4)
                image = rng.randint(0, 60, [12, 12])
                image[label * 3 : label * 3 + 3] += 150
                features = {
                    "image_raw": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[image.astype(np.uint8).tobytes()])
                    ),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def decode(serialized_example):
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape((144,))
    return image, tf.cast(features["label"], tf.int32)


def normalize(image, label):
    return tf.cast(image, tf.float32) * (1.0 / 255) - 0.5, label


def inputs(batch_size, num_epochs):
    with tf.name_scope("input"):
        dataset = tf.data.TFRecordDataset(PATHS)
        dataset = dataset.map(decode)
        dataset = dataset.map(normalize, num_parallel_calls=4)
        dataset = dataset.shuffle(1000 + 3 * batch_size, seed=3)
        dataset = dataset.repeat(num_epochs)
        dataset = dataset.batch(batch_size).prefetch(1)
        return dataset.make_one_shot_iterator().get_next()


write_records()
tf.set_random_seed(1)
images, labels = inputs(16, 4)
net = tf.reshape(images, [-1, 12, 12, 1])
net = tf.layers.conv2d(
    net, 8, 3, activation=tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=1)
)
net = tf.layers.max_pooling2d(net, 2, 2)
net = tf.layers.flatten(net)
logits = tf.layers.dense(net, 4, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
    step = 0
    try:
        while True:
            _, loss_value = sess.run([train_op, loss])
            print("step %d loss %.8g" % (step, loss_value))
            step += 1
    except tf.errors.OutOfRangeError:
        print("done training for %d steps" % step)
