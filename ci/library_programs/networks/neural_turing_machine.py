"""A neural Turing machine as an RNNCell."""

import collections, tensorflow as tf, numpy as np
from tensorflow.python.ops import rnn_cell_impl, array_ops, math_ops

NTMState = collections.namedtuple("NTMState", ("controller_state", "read_vectors", "w", "M"))


class NTMCell(tf.nn.rnn_cell.RNNCell):
    def __init__(self, n, m, units, out, reuse=None):
        super(NTMCell, self).__init__(_reuse=reuse)
        self.n, self.m, self.units, self.out = n, m, units, out
        self.controller = tf.contrib.rnn.LSTMBlockCell(units)

    @property
    def state_size(self):
        return NTMState(
            self.controller.state_size, self.m, [self.n, self.n], tf.TensorShape([self.n, self.m])
        )

    @property
    def output_size(self):
        return self.out

    def zero_state(self, batch_size, dtype):
        with tf.name_scope("NTMZero", values=[batch_size]):
            e = lambda x: tf.tile(tf.expand_dims(x, 0), [batch_size] + [1] * x.shape.ndims)
            return NTMState(
                self.controller.zero_state(batch_size, dtype),
                e(
                    tf.get_variable(
                        "r0", [self.m], initializer=tf.random_normal_initializer(stddev=0.5)
                    )
                ),
                [e(tf.nn.softmax(tf.get_variable("w0%d" % i, [self.n]))) for i in range(2)],
                e(
                    tf.tanh(
                        tf.get_variable(
                            "m0", [self.n, self.m], initializer=tf.constant_initializer(1e-6)
                        )
                    )
                ),
            )

    def call(self, x, st):
        h, cst = self.controller(tf.concat([x, st.read_vectors], 1), st.controller_state)
        p = tf.layers.dense(h, 2 * (self.m + 6) + 2 * self.m, use_bias=True, name="params")
        heads = tf.split(p[:, : 2 * (self.m + 6)], 2, axis=1)
        erase, add = tf.split(p[:, 2 * (self.m + 6) :], 2, axis=1)
        ws = []
        for i, hp in enumerate(heads):
            k = tf.tanh(hp[:, : self.m])
            beta = tf.nn.softplus(hp[:, self.m])
            g = tf.sigmoid(hp[:, self.m + 1])
            s = tf.nn.softmax(hp[:, self.m + 2 : self.m + 5])
            gamma = tf.nn.softplus(hp[:, self.m + 5]) + 1
            ws.append(self.address(k, beta, g, s, gamma, st.M, st.w[i]))
        r = tf.reduce_sum(tf.expand_dims(ws[0], 2) * st.M, axis=1)
        w = tf.expand_dims(ws[1], 2)
        M = st.M * (
            tf.ones(st.M.get_shape() if st.M.shape.is_fully_defined() else tf.shape(st.M))
            - tf.matmul(w, tf.expand_dims(tf.sigmoid(erase), 1))
        ) + tf.matmul(w, tf.expand_dims(tf.tanh(add), 1))
        o = (
            rnn_cell_impl._Linear([h, r], self.out, True)([h, r])
            if False
            else tf.layers.dense(tf.concat([h, r], 1), self.out, name="o2o")
        )
        return tf.clip_by_value(o, -20, 20), NTMState(cst, r, ws, M)

    def address(self, k, beta, g, s, gamma, M, prev):
        k = tf.expand_dims(k, axis=2)
        inner = tf.matmul(M, k)
        kn = tf.sqrt(tf.reduce_sum(tf.square(k), axis=1, keep_dims=True))
        Mn = tf.sqrt(tf.reduce_sum(tf.square(M), axis=2, keep_dims=True))
        K = tf.squeeze(inner / (Mn * kn + 1e-8))
        K = tf.reshape(K, [-1, self.n])
        wc = tf.nn.softmax(tf.expand_dims(beta, 1) * K)
        g = tf.expand_dims(g, axis=1)
        wg = g * wc + (1 - g) * prev
        s = tf.concat([s[:, :2], tf.zeros([tf.shape(s)[0], self.n - 3]), s[:, -1:]], axis=1)
        t = tf.concat([tf.reverse(s, axis=[1]), tf.reverse(s, axis=[1])], axis=1)
        sm = tf.stack([t[:, self.n - i - 1 : self.n * 2 - i - 1] for i in range(self.n)], axis=1)
        w_ = tf.reduce_sum(tf.expand_dims(wg, axis=1) * sm, axis=2)
        ws = tf.pow(w_, tf.expand_dims(gamma, axis=1))
        return ws / tf.reduce_sum(ws, axis=1, keep_dims=True)


T, D = 4, 5
x = tf.placeholder(tf.float32, [None, 2 * T + 1, D + 1])
y = tf.placeholder(tf.float32, [None, T, D])
cell = NTMCell(8, 6, 20, D)
with tf.variable_scope("root"):
    out, final = tf.nn.dynamic_rnn(
        cell, x, initial_state=cell.zero_state(tf.shape(x)[0], tf.float32), time_major=False
    )
logits = out[:, T + 1 :]
loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)) / tf.cast(
    tf.shape(y)[0], tf.float32
)
opt = tf.train.RMSPropOptimizer(1e-3, momentum=0.9, centered=True)
gv = opt.compute_gradients(loss, aggregation_method=2)
train = opt.apply_gradients([(tf.clip_by_norm(g, 10.0), v) for g, v in gv])
np.random.seed(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    ls = []
    for i in range(25):
        s = np.random.randint(0, 2, (8, T, D)).astype(np.float32)
        inp = np.zeros((8, 2 * T + 1, D + 1), "f")
        inp[:, :T, :D] = s
        inp[:, T, D] = 1
        ls.append(sess.run([loss, train], {x: inp, y: s})[0])
    print(ls[0], ls[-1], final.M.shape, final.w[0].shape)
