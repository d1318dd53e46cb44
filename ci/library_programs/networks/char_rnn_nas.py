"""A character model with legacy_seq2seq."""

from __future__ import print_function
import tensorflow as tf, numpy as np, argparse, os, tempfile, codecs, collections
from six.moves import cPickle
from tensorflow.contrib import rnn, legacy_seq2seq

text = "from fairest creatures we desire increase that thereby beauty's rose might never die " * 30


class Args:
    pass


a = Args()
(
    a.rnn_size,
    a.num_layers,
    a.model,
    a.batch_size,
    a.seq_length,
    a.grad_clip,
    a.input_keep_prob,
    a.output_keep_prob,
    a.save_dir,
) = 24, 2, "nas", 5, 10, 5.0, 0.9, 0.9, tempfile.mkdtemp()
c = sorted(collections.Counter(text).items(), key=lambda x: -x[1])
chars, _ = zip(*c)
vocab = dict(zip(chars, range(len(chars))))
a.vocab_size = len(chars)
tensor = np.array(list(map(vocab.get, text)))
nb = int(tensor.size / (a.batch_size * a.seq_length))
tensor = tensor[: nb * a.batch_size * a.seq_length]
yd = np.copy(tensor)
yd[:-1] = tensor[1:]
yd[-1] = tensor[0]
xb = np.split(tensor.reshape(a.batch_size, -1), nb, 1)
yb = np.split(yd.reshape(a.batch_size, -1), nb, 1)


class Model:
    def __init__(self, args, training=True):
        if not training:
            args.batch_size = 1
            args.seq_length = 1
        cell_fn = {
            "rnn": rnn.BasicRNNCell,
            "gru": rnn.GRUCell,
            "lstm": rnn.BasicLSTMCell,
            "nas": rnn.NASCell,
        }[args.model]
        cells = []
        for _ in range(args.num_layers):
            cell = cell_fn(args.rnn_size)
            if training:
                cell = rnn.DropoutWrapper(
                    cell,
                    input_keep_prob=args.input_keep_prob,
                    output_keep_prob=args.output_keep_prob,
                )
            cells.append(cell)
        self.cell = cell = rnn.MultiRNNCell(cells, state_is_tuple=True)
        self.input_data = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
        self.targets = tf.placeholder(tf.int32, [args.batch_size, args.seq_length])
        self.initial_state = cell.zero_state(args.batch_size, tf.float32)
        with tf.variable_scope("rnnlm"):
            softmax_w = tf.get_variable("softmax_w", [args.rnn_size, args.vocab_size])
            softmax_b = tf.get_variable("softmax_b", [args.vocab_size])
        embedding = tf.get_variable("embedding", [args.vocab_size, args.rnn_size])
        inputs = tf.nn.embedding_lookup(embedding, self.input_data)
        inputs = tf.split(inputs, args.seq_length, 1)
        inputs = [tf.squeeze(i, [1]) for i in inputs]

        def loop(prev, _):
            prev = tf.matmul(prev, softmax_w) + softmax_b
            return tf.nn.embedding_lookup(embedding, tf.stop_gradient(tf.argmax(prev, 1)))

        outputs, last_state = legacy_seq2seq.rnn_decoder(
            inputs,
            self.initial_state,
            cell,
            loop_function=loop if not training else None,
            scope="rnnlm",
        )
        output = tf.reshape(tf.concat(outputs, 1), [-1, args.rnn_size])
        self.logits = tf.matmul(output, softmax_w) + softmax_b
        self.probs = tf.nn.softmax(self.logits)
        loss = legacy_seq2seq.sequence_loss_by_example(
            [self.logits],
            [tf.reshape(self.targets, [-1])],
            [tf.ones([args.batch_size * args.seq_length])],
        )
        with tf.name_scope("cost"):
            self.cost = tf.reduce_sum(loss) / args.batch_size / args.seq_length
        self.final_state = last_state
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), args.grad_clip)
        with tf.name_scope("optimizer"):
            optimizer = tf.train.AdamOptimizer(self.lr)
        self.train_op = optimizer.apply_gradients(zip(grads, tvars))

    def sample(self, sess, num=20, prime="from "):
        state = sess.run(self.cell.zero_state(1, tf.float32))
        for char in prime[:-1]:
            x = np.zeros((1, 1))
            x[0, 0] = vocab[char]
            [state] = sess.run([self.final_state], {self.input_data: x, self.initial_state: state})
        ret = prime
        char = prime[-1]
        for n in range(num):
            x = np.zeros((1, 1))
            x[0, 0] = vocab[char]
            [probs, state] = sess.run(
                [self.probs, self.final_state], {self.input_data: x, self.initial_state: state}
            )
            char = chars[np.searchsorted(np.cumsum(probs[0]), np.random.rand() * 0.999)]
            ret += char
        return ret


m = Model(a)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    saver = tf.train.Saver(tf.global_variables())
    sess.run(tf.assign(m.lr, 0.01))
    state = sess.run(m.initial_state)
    for x, y in zip(xb[:25], yb):
        feed = {m.input_data: x, m.targets: y}
        for i, st in enumerate(m.initial_state):
            feed[st.c] = state[i].c
            feed[st.h] = state[i].h
        l, state, _ = sess.run([m.cost, m.final_state, m.train_op], feed)
    saver.save(sess, os.path.join(a.save_dir, "model.ckpt"), global_step=25)
    cPickle.dump(vocab, open(os.path.join(a.save_dir, "v.pkl"), "wb"))
    print(l)
tf.reset_default_graph()
m = Model(a, training=False)
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    ckpt = tf.train.get_checkpoint_state(a.save_dir)
    assert ckpt and ckpt.model_checkpoint_path
    tf.train.Saver(tf.global_variables()).restore(sess, ckpt.model_checkpoint_path)
    print(m.sample(sess))
