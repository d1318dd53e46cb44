"""Windows of a time series, by Dataset.window and flat_map, for a dilated convolution."""

import numpy as np
import tensorflow as tf

SIZE = 12
time = np.arange(400, dtype=np.float32)
series = np.sin(time / 7) + 0.3 * np.sin(time / 2.3) + 0.01 * time


def windowed(values, batch_size):
    dataset = tf.data.Dataset.from_tensor_slices(values)
    dataset = dataset.window(SIZE + 1, shift=3, drop_remainder=True)
    dataset = dataset.flat_map(lambda window: window.batch(SIZE + 1))
    dataset = dataset.shuffle(40, seed=3)
    dataset = dataset.map(lambda window: (window[:-1], window[1:]))
    return dataset.batch(batch_size, drop_remainder=True).prefetch(1)


data = windowed(series.astype(np.float32), 16).repeat(4)
x, y = tf.compat.v1.data.make_one_shot_iterator(data).get_next()
net = tf.expand_dims(x, -1)
for layer, rate in enumerate((1, 2, 4)):
    padded = tf.pad(net, [[0, 0], [rate, 0], [0, 0]])
    net = tf.layers.conv1d(
        padded,
        6,
        2,
        dilation_rate=rate,
        activation=tf.nn.relu,
        kernel_initializer=tf.glorot_uniform_initializer(seed=layer),
    )
prediction = tf.layers.dense(net, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=9))
loss = tf.losses.huber_loss(y, prediction[:, :, 0])
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.train.SingularMonitoredSession() as sess:
    while not sess.should_stop():
        print("loss %.8g" % sess.run([loss, train_op])[0])
