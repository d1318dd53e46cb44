"""A capsule network with MonitoredTrainingSession."""

import tensorflow as tf, numpy as np
from tensorflow.contrib.framework.python.ops import arg_scope

epsilon = 1e-9


def squash(vector):
    n = tf.reduce_sum(tf.square(vector), -2, keep_dims=True)
    return (n / (1 + n) / tf.sqrt(n + epsilon)) * vector


def routing(input, b_IJ, iters=3):
    W = tf.get_variable(
        "Weight",
        shape=(1, 32, 32, 8, 1),
        dtype=tf.float32,
        initializer=tf.random_normal_initializer(stddev=0.1),
    )
    biases = tf.get_variable("bias", shape=(1, 1, 4, 8, 1))
    input = tf.tile(input, [1, 1, 32, 1, 1])
    u_hat = tf.reduce_sum(W * input, axis=3, keep_dims=True)
    u_hat = tf.reshape(u_hat, shape=[-1, 32, 4, 8, 1])
    assert u_hat.get_shape() == [4, 32, 4, 8, 1]
    u_stop = tf.stop_gradient(u_hat, name="stop_gradient")
    with tf.variable_scope("routing"):
        for r_iter in range(iters):
            with tf.variable_scope("iter_" + str(r_iter)):
                c_IJ = tf.nn.softmax(b_IJ, dim=2)
                if r_iter == iters - 1:
                    v_J = squash(
                        tf.reduce_sum(tf.multiply(c_IJ, u_hat), axis=1, keep_dims=True) + biases
                    )
                else:
                    v_J = squash(
                        tf.reduce_sum(tf.multiply(c_IJ, u_stop), axis=1, keep_dims=True) + biases
                    )
                    b_IJ += tf.reduce_sum(
                        u_stop * tf.tile(v_J, [1, 32, 1, 1, 1]), axis=3, keep_dims=True
                    )
    return v_J


class CapsNet:
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            rng = np.random.RandomState(0)
            data = (
                tf.data.Dataset.from_tensor_slices(
                    (rng.rand(32, 14, 14, 1).astype("f"), rng.randint(0, 4, 32))
                )
                .apply(tf.contrib.data.shuffle_and_repeat(32))
                .apply(tf.contrib.data.batch_and_drop_remainder(4))
            )
            self.X, self.labels = data.make_one_shot_iterator().get_next()
            self.Y = tf.one_hot(self.labels, depth=4, axis=1, dtype=tf.float32)
            with tf.variable_scope("Conv1_layer"):
                conv1 = tf.contrib.layers.conv2d(
                    self.X, num_outputs=16, kernel_size=5, stride=1, padding="VALID"
                )
            with tf.variable_scope("PrimaryCaps_layer"):
                caps = tf.contrib.layers.conv2d(
                    conv1, 16, 3, 4, padding="VALID", activation_fn=tf.nn.relu
                )
                caps = tf.reshape(caps, (4, -1, 8, 1))
                caps = squash(caps[:, :8])
                caps = tf.tile(caps, [1, 4, 1, 1])
            with tf.variable_scope("DigitCaps_layer"):
                inp = tf.reshape(caps, shape=(4, -1, 1, 8, 1))
                b = tf.constant(np.zeros([4, 32, 4, 1, 1], dtype=np.float32))
                self.caps2 = tf.squeeze(routing(inp, b), axis=1)
            self.v_length = tf.sqrt(
                tf.reduce_sum(tf.square(self.caps2), axis=2, keep_dims=True) + epsilon
            )
            self.argmax_idx = tf.to_int32(tf.argmax(tf.nn.softmax(self.v_length, axis=1), axis=1))
            self.argmax_idx = tf.reshape(self.argmax_idx, shape=(4,))
            self.masked_v = tf.multiply(tf.squeeze(self.caps2), tf.reshape(self.Y, (-1, 4, 1)))
            fc = tf.contrib.layers.fully_connected(
                tf.reshape(self.masked_v, (4, -1)), num_outputs=32
            )
            with arg_scope([tf.contrib.layers.fully_connected], activation_fn=tf.sigmoid):
                self.decoded = tf.contrib.layers.fully_connected(fc, num_outputs=196)
            ml = tf.square(tf.maximum(0.0, 0.9 - self.v_length))
            mr = tf.square(tf.maximum(0.0, self.v_length - 0.1))
            ml = tf.reshape(ml, shape=(4, -1))
            mr = tf.reshape(mr, shape=(4, -1))
            self.margin = tf.reduce_mean(
                tf.reduce_sum(self.Y * ml + 0.5 * (1 - self.Y) * mr, axis=1)
            )
            self.rec = tf.reduce_mean(
                tf.squared_difference(self.decoded, tf.reshape(self.X, (4, -1)))
            )
            self.total = self.margin + 0.392 * self.rec
            self.summary = tf.summary.merge(
                [
                    tf.summary.scalar("train/margin_loss", self.margin),
                    tf.summary.image("train/rec", tf.reshape(self.decoded, [4, 14, 14, 1]), 2),
                ]
            )
            self.global_step = tf.Variable(0, name="global_step", trainable=False)
            self.acc = tf.reduce_sum(
                tf.cast(tf.equal(tf.to_int32(self.labels), self.argmax_idx), tf.float32)
            )
            self.train_op = tf.train.AdamOptimizer().minimize(
                self.total, global_step=self.global_step
            )
            tf.logging.info("Seting up the main structure")


model = CapsNet()
with model.graph.as_default():
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=None,
        hooks=[
            tf.train.StopAtStepHook(last_step=12),
            tf.train.NanTensorHook(model.total),
            tf.train.LoggingTensorHook({"l": model.total}, every_n_iter=5),
        ],
    ) as sess:
        while not sess.should_stop():
            _, l, a = sess.run([model.train_op, model.total, model.acc])
    print(l, a)
