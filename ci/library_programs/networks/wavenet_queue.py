"""Dilated causal convolutions fed by a PaddingFIFOQueue."""

import tensorflow as tf, numpy as np, threading, sys


def mu_law_encode(audio, quantization_channels):
    with tf.name_scope("encode"):
        mu = tf.to_float(quantization_channels - 1)
        safe = tf.minimum(tf.abs(audio), 1.0)
        magnitude = tf.log1p(mu * safe) / tf.log1p(mu)
        signal = tf.sign(audio) * magnitude
        return tf.to_int32((signal + 1) / 2 * mu + 0.5)


def time_to_batch(value, dilation, name=None):
    with tf.name_scope("time_to_batch"):
        shape = tf.shape(value)
        pad = dilation - 1 - (shape[1] + dilation - 1) % dilation
        padded = tf.pad(value, [[0, 0], [0, pad], [0, 0]])
        r = tf.reshape(padded, [-1, dilation, shape[2]])
        t = tf.transpose(r, perm=[1, 0, 2])
        return tf.reshape(t, [shape[0] * dilation, -1, shape[2]])


def batch_to_time(value, dilation):
    with tf.name_scope("batch_to_time"):
        shape = tf.shape(value)
        p = tf.reshape(value, [dilation, -1, shape[2]])
        t = tf.transpose(p, perm=[1, 0, 2])
        return tf.reshape(t, [tf.div(shape[0], dilation), -1, shape[2]])


def causal_conv(value, filter_, dilation, name="causal_conv"):
    with tf.name_scope(name):
        fw = tf.shape(filter_)[0]
        if dilation > 1:
            conv = tf.nn.conv1d(time_to_batch(value, dilation), filter_, stride=1, padding="VALID")
            restored = batch_to_time(conv, dilation)
        else:
            restored = tf.nn.conv1d(value, filter_, stride=1, padding="VALID")
        return tf.slice(restored, [0, 0, 0], [-1, tf.shape(value)[1] - (fw - 1) * dilation, -1])


class AudioReader:
    def __init__(self, coord):
        self.coord = coord
        self.placeholder = tf.placeholder(dtype=tf.float32, shape=None)
        self.queue = tf.PaddingFIFOQueue(16, ["float32"], shapes=[(None, 1)])
        self.enqueue = self.queue.enqueue([self.placeholder])
        self.threads = []

    def dequeue(self, n):
        return self.queue.dequeue_many(n)

    def main(self, sess):
        rng = np.random.RandomState(0)
        while not self.coord.should_stop():
            n = rng.randint(60, 90)
            try:
                sess.run(
                    self.enqueue, feed_dict={self.placeholder: np.sin(np.arange(n) * 0.3)[:, None]}
                )
            except tf.errors.CancelledError:
                return

    def start_threads(self, sess):
        t = threading.Thread(target=self.main, args=(sess,))
        t.daemon = True
        t.start()
        self.threads.append(t)
        return self.threads


coord = tf.train.Coordinator()
reader = AudioReader(coord)
Q, C = 16, 8
dil = [1, 2, 4]
with tf.variable_scope("wavenet"):
    init = tf.contrib.layers.xavier_initializer_conv2d()
    v = lambda n, s: (
        tf.get_variable(n, initializer=init(shape=s), trainable=True)
        if False
        else tf.Variable(init(shape=s), name=n)
    )
    audio = reader.dequeue(2)
    enc = mu_law_encode(audio, Q)
    one = tf.one_hot(enc, depth=Q, dtype=tf.float32)
    one = tf.reshape(one, [2, -1, Q])
    net = causal_conv(one[:, :-1], v("f0", [2, Q, C]), 1)
    skips = []
    outw = tf.shape(one)[1] - sum(dil) - 2
    for i, d in enumerate(dil):
        with tf.name_scope("layer%d" % i):
            f, g = (
                causal_conv(net, v("filter", [2, C, C]), d),
                causal_conv(net, v("gate", [2, C, C]), d),
            )
            o = tf.tanh(f) * tf.sigmoid(g)
            cut = tf.shape(o)[1] - outw
            s = tf.slice(o, [0, cut, 0], [-1, -1, -1])
            skips.append(tf.nn.conv1d(s, v("skip", [1, C, C]), stride=1, padding="SAME"))
            tr = tf.nn.conv1d(o, v("dense", [1, C, C]), 1, "SAME")
            ic = tf.shape(net)[1] - tf.shape(tr)[1]
            net = tf.slice(net, [0, ic, 0], [-1, -1, -1]) + tr
            tf.histogram_summary if hasattr(tf, "histogram_summary") else tf.summary.histogram(
                "f", f
            )
    out = tf.nn.conv1d(tf.nn.relu(sum(skips)), v("post", [1, C, Q]), 1, "SAME")
    target = tf.slice(tf.reshape(one, [2, -1, Q]), [0, sum(dil) + 2, 0], [-1, -1, -1])
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits(
            logits=tf.reshape(out, [-1, Q]), labels=tf.reshape(target, [-1, Q])
        )
    )
    loss += 0.001 * tf.add_n(
        [tf.nn.l2_loss(x) for x in tf.trainable_variables() if not ("bias" in x.name)]
    )
optim = tf.train.RMSPropOptimizer(0.01, momentum=0.5, epsilon=1e-5).minimize(
    loss, var_list=tf.trainable_variables()
)
sess = tf.Session(config=tf.ConfigProto(log_device_placement=False, intra_op_parallelism_threads=2))
sess.run(tf.global_variables_initializer())
threads = tf.train.start_queue_runners(sess=sess, coord=coord)
reader.start_threads(sess)
ls = [sess.run([loss, optim])[0] for _ in range(12)]
coord.request_stop()
sess.run(reader.queue.close(cancel_pending_enqueues=True))
coord.join(threads)
print(ls[0], ls[-1])
