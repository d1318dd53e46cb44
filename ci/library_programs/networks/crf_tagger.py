"""A bidirectional tagger with a conditional random field, and flags."""

import tensorflow as tf, numpy as np
from tensorflow.contrib import crf, rnn
from tensorflow.python.platform import flags
from tensorflow.contrib.layers.python.layers import initializers

FLAGS = flags.FLAGS
flags.DEFINE_integer("char_dim", 8, "Embedding size for characters")
flags.DEFINE_boolean("clean", True, "clean train folder")
flags.DEFINE_float("clip", 5, "Gradient clip")
flags.DEFINE_enum("optimizer", "adam", ["adam", "sgd", "adgrad"], "opt")
flags.DEFINE_string("ckpt_path", None, "x")


class Model(object):
    def __init__(self, num_tags=4, vocab=30, lstm_dim=10):
        self.global_step = tf.Variable(0, trainable=False)
        self.best_dev_f1 = tf.Variable(0.0, trainable=False)
        self.initializer = initializers.xavier_initializer()
        self.char_inputs = tf.placeholder(dtype=tf.int32, shape=[None, None], name="ChatInputs")
        self.targets = tf.placeholder(dtype=tf.int32, shape=[None, None], name="Targets")
        self.dropout = tf.placeholder(dtype=tf.float32, name="Dropout")
        used = tf.sign(tf.abs(self.char_inputs))
        length = tf.reduce_sum(used, reduction_indices=1)
        self.lengths = tf.cast(length, tf.int32)
        self.batch_size = tf.shape(self.char_inputs)[0]
        self.num_steps = tf.shape(self.char_inputs)[-1]
        self.num_tags = num_tags
        self.lstm_dim = lstm_dim
        with tf.variable_scope("char_embedding"), tf.device("/cpu:0"):
            lookup = tf.get_variable(
                name="char_embedding", shape=[vocab, FLAGS.char_dim], initializer=self.initializer
            )
            emb = tf.nn.embedding_lookup(lookup, self.char_inputs)
        x = tf.nn.dropout(emb, self.dropout)
        with tf.variable_scope("char_BiLSTM"):
            cell = {}
            for d in ["forward", "backward"]:
                with tf.variable_scope(d):
                    cell[d] = rnn.CoupledInputForgetGateLSTMCell(
                        lstm_dim,
                        use_peepholes=True,
                        initializer=self.initializer,
                        state_is_tuple=True,
                    )
            outputs, final = tf.nn.bidirectional_dynamic_rnn(
                cell["forward"], cell["backward"], x, dtype=tf.float32, sequence_length=self.lengths
            )
        out = tf.concat(outputs, axis=2)
        with tf.variable_scope("project"):
            with tf.variable_scope("hidden"):
                W = tf.get_variable(
                    "W",
                    shape=[lstm_dim * 2, lstm_dim],
                    dtype=tf.float32,
                    initializer=self.initializer,
                )
                b = tf.get_variable(
                    "b", shape=[lstm_dim], dtype=tf.float32, initializer=tf.zeros_initializer()
                )
                hidden = tf.tanh(tf.nn.xw_plus_b(tf.reshape(out, [-1, lstm_dim * 2]), W, b))
            with tf.variable_scope("logits"):
                W = tf.get_variable("W", shape=[lstm_dim, num_tags], initializer=self.initializer)
                b = tf.get_variable("b", shape=[num_tags], initializer=tf.zeros_initializer())
                self.logits = tf.reshape(
                    tf.nn.xw_plus_b(hidden, W, b), [-1, self.num_steps, num_tags]
                )
        with tf.variable_scope("crf_loss"):
            small = -1000.0
            start = tf.concat(
                [
                    small * tf.ones(shape=[self.batch_size, 1, num_tags]),
                    tf.zeros(shape=[self.batch_size, 1, 1]),
                ],
                axis=-1,
            )
            pad = tf.cast(small * tf.ones([self.batch_size, self.num_steps, 1]), tf.float32)
            logits = tf.concat([tf.concat([self.logits, pad], axis=-1)], axis=1)
            logits = tf.concat([start, logits], axis=1)
            targets = tf.concat(
                [tf.cast(num_tags * tf.ones([self.batch_size, 1]), tf.int32), self.targets], axis=-1
            )
            self.trans = tf.get_variable(
                "transitions", shape=[num_tags + 1, num_tags + 1], initializer=self.initializer
            )
            ll, self.trans = crf.crf_log_likelihood(
                inputs=logits,
                tag_indices=targets,
                transition_params=self.trans,
                sequence_lengths=self.lengths + 1,
            )
            self.loss = tf.reduce_mean(-ll)
            self.full_logits = logits
        self.decoded, self.score = crf.crf_decode(logits, self.trans, self.lengths + 1)
        with tf.variable_scope("optimizer"):
            opt = tf.train.AdamOptimizer(0.05)
            gv = opt.compute_gradients(self.loss)
            capped = [
                [tf.clip_by_value(g, -FLAGS.clip, FLAGS.clip), v] for g, v in gv if g is not None
            ]
            self.train_op = opt.apply_gradients(capped, self.global_step)
        self.saver = tf.train.Saver(tf.global_variables(), max_to_keep=5)


def main(_):
    assert FLAGS.clip > 0 and FLAGS.optimizer == "adam"
    np.random.seed(0)
    m = Model()
    cfg = tf.ConfigProto()
    cfg.gpu_options.allow_growth = True
    X = np.random.randint(1, 30, (6, 9))
    X[0, 5:] = 0
    X[1, 7:] = 0
    Y = X % 4
    with tf.Session(config=cfg) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(40):
            gs, loss, _ = sess.run(
                [m.global_step, m.loss, m.train_op],
                {m.char_inputs: X, m.targets: Y, m.dropout: 0.9},
            )
        lens, scores, tr = sess.run(
            [m.lengths, m.full_logits, m.trans], {m.char_inputs: X, m.dropout: 1.0}
        )
        paths = [crf.viterbi_decode(s[: l + 1], tr)[0][1:] for s, l in zip(scores, lens)]
        dec = sess.run(m.decoded, {m.char_inputs: X, m.dropout: 1.0})
        assert all(list(d[1 : l + 1]) == list(p) for d, p, l in zip(dec, paths, lens))
        sess.run(tf.assign(m.best_dev_f1, 0.5))
        print(gs, loss, np.mean(np.array(paths[2]) == Y[2]))


if __name__ == "__main__":
    tf.app.run(main)
