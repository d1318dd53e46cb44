"""A Transformer over queues, trained by a Supervisor."""

from __future__ import print_function
import tensorflow as tf, numpy as np, os, tempfile, codecs


class Hyperparams:
    batch_size = 8
    lr = 0.001
    maxlen = 7
    hidden_units = 16
    num_blocks = 2
    num_heads = 4
    dropout_rate = 0.1
    sinusoid = False


hp = Hyperparams


def normalize(inputs, epsilon=1e-8, scope="ln", reuse=None):
    with tf.variable_scope(scope, reuse=reuse):
        params_shape = inputs.get_shape()[-1:]
        mean, variance = tf.nn.moments(inputs, [-1], keep_dims=True)
        beta = tf.Variable(tf.zeros(params_shape))
        gamma = tf.Variable(tf.ones(params_shape))
        return gamma * ((inputs - mean) / ((variance + epsilon) ** (0.5))) + beta


def embedding(
    inputs, vocab_size, num_units, zero_pad=True, scale=True, scope="embedding", reuse=None
):
    with tf.variable_scope(scope, reuse=reuse):
        lookup_table = tf.get_variable(
            "lookup_table",
            dtype=tf.float32,
            shape=[vocab_size, num_units],
            initializer=tf.contrib.layers.xavier_initializer(),
        )
        if zero_pad:
            lookup_table = tf.concat((tf.zeros(shape=[1, num_units]), lookup_table[1:, :]), 0)
        outputs = tf.nn.embedding_lookup(lookup_table, inputs)
        if scale:
            outputs = outputs * (num_units**0.5)
    return outputs


def multihead_attention(
    queries,
    keys,
    num_units=None,
    num_heads=8,
    dropout_rate=0,
    is_training=True,
    causality=False,
    scope="multihead_attention",
    reuse=None,
):
    with tf.variable_scope(scope, reuse=reuse):
        if num_units is None:
            num_units = queries.get_shape().as_list[-1]
        Q = tf.layers.dense(queries, num_units, activation=tf.nn.relu)
        K = tf.layers.dense(keys, num_units, activation=tf.nn.relu)
        V = tf.layers.dense(keys, num_units, activation=tf.nn.relu)
        Q_ = tf.concat(tf.split(Q, num_heads, axis=2), axis=0)
        K_ = tf.concat(tf.split(K, num_heads, axis=2), axis=0)
        V_ = tf.concat(tf.split(V, num_heads, axis=2), axis=0)
        outputs = tf.matmul(Q_, tf.transpose(K_, [0, 2, 1]))
        outputs = outputs / (K_.get_shape().as_list()[-1] ** 0.5)
        key_masks = tf.sign(tf.reduce_sum(tf.abs(keys), axis=-1))
        key_masks = tf.tile(key_masks, [num_heads, 1])
        key_masks = tf.tile(tf.expand_dims(key_masks, 1), [1, tf.shape(queries)[1], 1])
        paddings = tf.ones_like(outputs) * (-(2**32) + 1)
        outputs = tf.where(tf.equal(key_masks, 0), paddings, outputs)
        if causality:
            diag_vals = tf.ones_like(outputs[0, :, :])
            tril = tf.linalg.LinearOperatorLowerTriangular(diag_vals).to_dense()
            tril2 = tf.contrib.linalg.LinearOperatorLowerTriangular(diag_vals).to_dense()
            masks = tf.tile(tf.expand_dims(tril, 0), [tf.shape(outputs)[0], 1, 1])
            outputs = tf.where(tf.equal(masks, 0), tf.ones_like(masks) * (-(2**32) + 1), outputs)
        outputs = tf.nn.softmax(outputs)
        query_masks = tf.sign(tf.reduce_sum(tf.abs(queries), axis=-1))
        query_masks = tf.tile(query_masks, [num_heads, 1])
        query_masks = tf.tile(tf.expand_dims(query_masks, -1), [1, 1, tf.shape(keys)[1]])
        outputs *= query_masks
        outputs = tf.layers.dropout(
            outputs, rate=dropout_rate, training=tf.convert_to_tensor(is_training)
        )
        outputs = tf.concat(tf.split(tf.matmul(outputs, V_), num_heads, axis=0), axis=2)
        return normalize(outputs + queries)


def feedforward(inputs, num_units=[64, 16], scope="ff", reuse=None):
    with tf.variable_scope(scope, reuse=reuse):
        outputs = tf.layers.conv1d(
            **{
                "inputs": inputs,
                "filters": num_units[0],
                "kernel_size": 1,
                "activation": tf.nn.relu,
                "use_bias": True,
            }
        )
        outputs = tf.layers.conv1d(
            **{
                "inputs": outputs,
                "filters": num_units[1],
                "kernel_size": 1,
                "activation": None,
                "use_bias": True,
            }
        )
        return normalize(outputs + inputs)


def label_smoothing(inputs, epsilon=0.1):
    K = inputs.get_shape().as_list()[-1]
    return ((1 - epsilon) * inputs) + (epsilon / K)


rng = np.random.RandomState(0)
X = rng.randint(2, 20, (64, hp.maxlen)).astype(np.int32)
X[:, -1] = 0
Y = X[:, ::-1].copy()


def get_batch_data():
    x = tf.convert_to_tensor(X, tf.int32)
    y = tf.convert_to_tensor(Y, tf.int32)
    input_queues = tf.train.slice_input_producer([x, y])
    a, b = tf.train.shuffle_batch(
        input_queues,
        num_threads=2,
        batch_size=hp.batch_size,
        capacity=hp.batch_size * 8,
        min_after_dequeue=hp.batch_size * 4,
        allow_smaller_final_batch=False,
    )
    return a, b, 64 // hp.batch_size


class Graph:
    def __init__(self, is_training=True):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x, self.y, self.num_batch = get_batch_data()
            self.decoder_inputs = tf.concat((tf.ones_like(self.y[:, :1]) * 2, self.y[:, :-1]), -1)
            with tf.variable_scope("encoder"):
                self.enc = embedding(self.x, 20, hp.hidden_units, scope="enc_embed")
                self.enc += embedding(
                    tf.tile(
                        tf.expand_dims(tf.range(tf.shape(self.x)[1]), 0), [tf.shape(self.x)[0], 1]
                    ),
                    hp.maxlen,
                    hp.hidden_units,
                    zero_pad=False,
                    scale=False,
                    scope="enc_pe",
                )
                self.enc = tf.layers.dropout(
                    self.enc, hp.dropout_rate, training=tf.convert_to_tensor(is_training)
                )
                for i in range(hp.num_blocks):
                    with tf.variable_scope("num_blocks_{}".format(i)):
                        self.enc = feedforward(
                            multihead_attention(
                                self.enc,
                                self.enc,
                                hp.hidden_units,
                                hp.num_heads,
                                hp.dropout_rate,
                                is_training,
                            ),
                            [4 * hp.hidden_units, hp.hidden_units],
                        )
            with tf.variable_scope("decoder"):
                self.dec = embedding(self.decoder_inputs, 20, hp.hidden_units, scope="dec_embed")
                for i in range(hp.num_blocks):
                    with tf.variable_scope("num_blocks_{}".format(i)):
                        self.dec = multihead_attention(
                            self.dec,
                            self.dec,
                            hp.hidden_units,
                            hp.num_heads,
                            hp.dropout_rate,
                            is_training,
                            True,
                            scope="self_attention",
                        )
                        self.dec = feedforward(
                            multihead_attention(
                                self.dec,
                                self.enc,
                                hp.hidden_units,
                                hp.num_heads,
                                hp.dropout_rate,
                                is_training,
                                False,
                                scope="vanilla_attention",
                            ),
                            [64, hp.hidden_units],
                        )
            self.logits = tf.layers.dense(self.dec, 20)
            self.preds = tf.to_int32(tf.arg_max(self.logits, dimension=-1))
            self.istarget = tf.to_float(tf.not_equal(self.y, 0))
            self.acc = tf.reduce_sum(tf.to_float(tf.equal(self.preds, self.y)) * self.istarget) / (
                tf.reduce_sum(self.istarget)
            )
            tf.summary.scalar("acc", self.acc)
            self.y_smoothed = label_smoothing(tf.one_hot(self.y, depth=20))
            self.loss = tf.nn.softmax_cross_entropy_with_logits(
                logits=self.logits, labels=self.y_smoothed
            )
            self.mean_loss = tf.reduce_sum(self.loss * self.istarget) / (
                tf.reduce_sum(self.istarget)
            )
            self.global_step = tf.Variable(0, name="global_step", trainable=False)
            self.train_op = tf.train.AdamOptimizer(
                learning_rate=hp.lr, beta1=0.9, beta2=0.98, epsilon=1e-8
            ).minimize(self.mean_loss, global_step=self.global_step)
            tf.summary.scalar("mean_loss", self.mean_loss)
            self.merged = tf.summary.merge_all()


g = Graph()
logdir = tempfile.mkdtemp()
sv = tf.train.Supervisor(graph=g.graph, logdir=logdir, save_model_secs=0)
with sv.managed_session() as sess:
    for epoch in range(1, 4):
        if sv.should_stop():
            break
        for step in range(g.num_batch):
            sess.run(g.train_op)
        gs = sess.run(g.global_step)
        sv.saver.save(sess, logdir + "/model_epoch_%02d_gs_%d" % (epoch, gs))
    print(gs, sess.run(g.mean_loss), sess.run(g.acc))
with tf.Session(graph=g.graph) as s:
    tf.train.Saver
    sv.saver.restore(s, tf.train.latest_checkpoint(logdir))
    print(open(logdir + "/checkpoint", "r").read().split('"')[1].split("/")[-1])
