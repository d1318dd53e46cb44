"""Decoders with monotonic attention."""

import tensorflow as tf, numpy as np
from tensorflow.contrib.rnn import (
    GRUCell,
    MultiRNNCell,
    OutputProjectionWrapper,
    ResidualWrapper,
    RNNCell,
    InputProjectionWrapper,
)
from tensorflow.contrib.seq2seq import (
    BasicDecoder,
    BahdanauAttention,
    AttentionWrapper,
    Helper,
    BahdanauMonotonicAttention,
    LuongMonotonicAttention,
)
from tensorflow.python.layers import core as layers_core


def prenet(x, is_training, sizes=[16, 8], scope=None):
    with tf.variable_scope(scope or "prenet"):
        for i, s in enumerate(sizes):
            x = tf.layers.dropout(
                tf.layers.dense(x, units=s, activation=tf.nn.relu, name="dense_%d" % (i + 1)),
                rate=0.5,
                training=is_training,
                name="dropout_%d" % (i + 1),
            )
    return x


def highwaynet(x, scope):
    with tf.variable_scope(scope):
        H = tf.layers.dense(x, units=16, activation=tf.nn.relu, name="H")
        T = tf.layers.dense(
            x,
            units=16,
            activation=tf.nn.sigmoid,
            name="T",
            bias_initializer=tf.constant_initializer(-1.0),
        )
        return H * T + x * (1.0 - T)


def conv1d(x, k, c, act, tr, scope):
    with tf.variable_scope(scope):
        return tf.layers.batch_normalization(
            tf.layers.conv1d(x, filters=c, kernel_size=k, activation=act, padding="same"),
            training=tr,
        )


def cbhg(x, lens, tr, K=3):
    with tf.variable_scope("cbhg"):
        with tf.variable_scope("conv_bank"):
            c = tf.concat(
                [conv1d(x, k, 8, tf.nn.relu, tr, "conv1d_%d" % k) for k in range(1, K + 1)], axis=-1
            )
        mp = tf.layers.max_pooling1d(c, pool_size=2, strides=1, padding="same")
        h = conv1d(mp, 3, 8, None, tr, "proj") + x
        h = tf.layers.dense(h, 16)
        for i in range(2):
            h = highwaynet(h, "highway_%d" % i)
        o, st = tf.nn.bidirectional_dynamic_rnn(
            GRUCell(8), GRUCell(8), h, sequence_length=lens, dtype=tf.float32
        )
        return tf.concat(o, axis=2)


class DecoderPrenetWrapper(RNNCell):
    def __init__(self, cell, tr):
        super(DecoderPrenetWrapper, self).__init__()
        self._cell = cell
        self._tr = tr

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def call(self, inputs, state):
        return self._cell(prenet(inputs, self._tr, scope="decoder_prenet"), state)

    def zero_state(self, b, d):
        return self._cell.zero_state(b, d)


class ConcatOutputAndAttentionWrapper(RNNCell):
    def __init__(self, cell):
        super(ConcatOutputAndAttentionWrapper, self).__init__()
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size + self._cell.state_size.attention

    def call(self, inputs, state):
        o, res = self._cell(inputs, state)
        return tf.concat([o, res.attention], axis=-1), res

    def zero_state(self, b, d):
        return self._cell.zero_state(b, d)


class TacoHelper(Helper):
    def __init__(self, inputs, targets, od, r):
        with tf.name_scope("TacoTrainingHelper"):
            self._bs = tf.shape(inputs)[0]
            self._od = od
            self._targets = targets[:, r - 1 :: r, :]
            n = tf.shape(self._targets)[1]
            self._lens = tf.tile([n], [self._bs])

    @property
    def batch_size(self):
        return self._bs

    @property
    def token_output_size(self):
        return self._od

    @property
    def sample_ids_shape(self):
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self):
        return np.int32

    def initialize(self, name=None):
        return (tf.tile([False], [self._bs]), tf.tile([[0.0]], [self._bs, self._od]))

    def sample(self, time, outputs, state, name=None):
        return tf.tile([0], [self._bs])

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with tf.name_scope(name or "x"):
            return (time + 1 >= self._lens, self._targets[:, time, :], state)


r, M = 2, 6
x = tf.placeholder(tf.int32, [None, None])
lens = tf.placeholder(tf.int32, [None])
mel = tf.placeholder(tf.float32, [None, None, M])
emb = tf.get_variable(
    "embedding", [12, 16], initializer=tf.truncated_normal_initializer(stddev=0.5)
)
enc = cbhg(prenet(tf.nn.embedding_lookup(emb, x), True), lens, True)
losses = []
for name, mech in (
    ("b", lambda m: BahdanauAttention(16, m)),
    (
        "bm",
        lambda m: BahdanauMonotonicAttention(
            16,
            m,
            memory_sequence_length=lens,
            score_bias_init=-1.0,
            sigmoid_noise=0.5,
            mode="parallel",
        ),
    ),
    (
        "lm",
        lambda m: LuongMonotonicAttention(16, m, scale=True, mode="recursive", score_bias_init=0.1),
    ),
    ("hard", lambda m: BahdanauMonotonicAttention(16, m, mode="hard", normalize=True)),
):
    with tf.variable_scope(name):
        ac = AttentionWrapper(
            DecoderPrenetWrapper(GRUCell(16), True),
            mech(enc),
            alignment_history=True,
            output_attention=False,
        )
        cc = ConcatOutputAndAttentionWrapper(ac)
        dc = MultiRNNCell(
            [OutputProjectionWrapper(cc, 16), ResidualWrapper(GRUCell(16))], state_is_tuple=True
        )
        oc = OutputProjectionWrapper(dc, M * r)
        init = oc.zero_state(batch_size=tf.shape(x)[0], dtype=tf.float32)
        (do, _), fs, _ = tf.contrib.seq2seq.dynamic_decode(
            BasicDecoder(oc, TacoHelper(x, mel, M, r), init), maximum_iterations=20
        )
        mo = tf.reshape(do, [tf.shape(x)[0], -1, M])
        al = tf.transpose(fs[0].alignment_history.stack(), [1, 2, 0])
        losses.append(tf.reduce_mean(tf.abs(mel - mo)))
total = tf.add_n(losses)
train = tf.train.AdamOptimizer(0.01).minimize(total)
rng = np.random.RandomState(0)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    fd = {x: rng.randint(0, 12, (3, 5)), lens: [5, 4, 3], mel: rng.randn(3, 8, M)}
    for i in range(5):
        l, _ = s.run([losses, train], fd)
    print(l, s.run(tf.shape(al), fd))
