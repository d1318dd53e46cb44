"""Programs over shapes that vary: batches, sets, signals.

Each function builds a program in the current graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .program_parts import WIDTH, Feeds, Program, numbers, rnn_cell, train, uniform, weights


def lookup_table(tf: Any) -> Program:
    """A table of words; those that it knows."""
    s = tf.placeholder(tf.string, [None])
    tab = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant([f"w{i}" for i in range(100)]), tf.constant(np.arange(100), tf.int64)
        ),
        -1,
    )
    tf.add_to_collection("tabinit", tab._initializer if hasattr(tab, "_initializer") else None)
    ids = tab.lookup(s)
    known = tf.boolean_mask(ids, ids >= 0)
    e = tf.gather(weights(tf, "e", 100, 8), known)
    return [tf.reduce_mean(e, 0), tf.unique(known)[0]], lambda r: {
        s: np.array([f"w{r.randint(0, 140)}" for _ in range(r.randint(4, 100))], object)
    }


def dynamic_filter(tf: Any) -> Program:
    """Parts of a batch by class, each with its own layer, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    k = tf.placeholder(tf.int32, [None])
    parts = tf.dynamic_partition(x, k, 3)
    ix = tf.dynamic_partition(tf.range(tf.shape(x)[0]), k, 3)
    outs = [tf.layers.dense(p, 16, tf.nn.relu) for p in parts]
    y = tf.dynamic_stitch(ix, outs)
    loss = tf.reduce_mean(tf.square(y - 1.0))
    return [loss, train(tf, loss)], lambda r: (lambda b: {x: uniform(b, WIDTH), k: numbers(3, b)})(
        r.randint(3, 90)
    )


def sparse_dense(tf: Any) -> Program:
    """A sparse matrix times a dense one, trained."""
    ix = tf.placeholder(tf.int64, [None, 2])
    v = tf.placeholder(tf.float32, [None])
    sh = tf.placeholder(tf.int64, [2])
    w = weights(tf, "w", 50, 8)
    y = tf.sparse_tensor_dense_matmul(tf.SparseTensor(ix, v, sh), w)
    d = tf.sparse_tensor_to_dense(tf.SparseTensor(ix, v, sh))
    loss = tf.reduce_mean(tf.square(y)) + tf.reduce_mean(d)

    def draw(r: Any) -> Feeds:
        b = r.randint(2, 30)
        rows = sorted({(r.randint(0, b - 1), r.randint(0, 49)) for _ in range(b * 4)})
        return {ix: np.array(rows, "i8"), v: uniform(len(rows)), sh: np.array([b, 50], "i8")}

    return [loss, train(tf, loss)], draw


def iou_match(tf: Any) -> Program:
    """Anchors that are matched with boxes."""
    an = tf.placeholder(tf.float32, [None, 4])
    gt = tf.placeholder(tf.float32, [None, 4])
    lg = tf.placeholder(tf.float32, [None, 3])
    lt = tf.maximum(an[:, None, :2], gt[None, :, :2])
    rb = tf.minimum(an[:, None, 2:], gt[None, :, 2:])
    wh = tf.maximum(rb - lt, 0.0)
    inter = wh[..., 0] * wh[..., 1]

    def ar(b: Any) -> Any:
        return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])

    iou = inter / (ar(an)[:, None] + ar(gt)[None] - inter + 1e-6)
    best = tf.argmax(iou, 1)
    mx = tf.reduce_max(iou, 1)
    pos = tf.where(mx > 0.3)[:, 0]
    tg = tf.gather(gt, tf.gather(best, pos))
    l1 = tf.reduce_sum(tf.abs(tf.gather(an, pos) - tg)) / (tf.cast(tf.size(pos), tf.float32) + 1.0)
    neg = tf.boolean_mask(lg, mx <= 0.3)
    hard, _ = tf.nn.top_k(tf.reduce_logsumexp(neg, 1), tf.minimum(10, tf.shape(neg)[0]))
    return [l1, tf.reduce_mean(hard)], lambda r: (
        lambda n, m: {
            an: np.sort(uniform(n, 2, 2), 1).reshape(n, 4),
            gt: np.sort(uniform(m, 2, 2), 1).reshape(m, 4),
            lg: uniform(n, 3),
        }
    )(r.randint(30, 200), r.randint(1, 9))


def wavenet(tf: Any) -> Program:
    """Dilated causal convolutions, trained."""
    x = tf.placeholder(tf.float32, [None, None, 1])
    h = tf.layers.conv1d(x, 8, 1)
    for d in [1, 2, 4]:
        p = tf.pad(h, [[0, 0], [d, 0], [0, 0]])
        c = tf.layers.conv1d(p, 16, 2, dilation_rate=d)
        a, b = tf.split(c, 2, 2)
        h = h + tf.tanh(a) * tf.sigmoid(b)
    loss = tf.reduce_mean(tf.square(tf.layers.conv1d(h, 1, 1)[:, :-1] - x[:, 1:]))
    return [loss, train(tf, loss)], lambda r: {x: uniform(r.randint(1, 8), r.randint(16, 120), 1)}


def stft(tf: Any) -> Program:
    """The logarithm of a spectrogram."""
    x = tf.placeholder(tf.float32, [None, None])
    f = tf.signal.stft(x, 64, 32)
    m = tf.log(tf.abs(f) + 1e-3)
    return [m, tf.reduce_mean(m, 1)], lambda r: {x: uniform(r.randint(1, 8), r.randint(200, 2000))}


def cond_len(tf: Any) -> Program:
    """Pooling if a sequence is long, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    w = weights(tf, "w", WIDTH, WIDTH)
    n = tf.shape(x)[1]
    h = tf.cond(n > 20, lambda: tf.nn.pool(x, [2], "AVG", "SAME", strides=[2]), lambda: x)
    y = tf.tanh(tf.tensordot(h, w, 1))
    loss = tf.reduce_mean(tf.square(y))
    return [loss, train(tf, loss)], lambda r: {
        x: uniform(r.randint(1, 16), r.randint(2, 40), WIDTH)
    }


def lstm_packed(tf: Any) -> Program:
    """Two LSTMs with lengths, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    lens = tf.placeholder(tf.int32, [None])
    h = x
    for i in range(2):
        with tf.variable_scope(f"l{i}"):
            h, _ = tf.nn.dynamic_rnn(
                rnn_cell(tf, "LSTM", WIDTH), h, sequence_length=lens, dtype=tf.float32
            )
    last = tf.gather_nd(h, tf.stack([tf.range(tf.shape(x)[0]), lens - 1], 1))
    loss = tf.reduce_mean(tf.square(tf.layers.dense(last, 2)))

    def draw(r: Any) -> Feeds:
        b, count = r.randint(1, 24), r.randint(2, 30)
        return {x: uniform(b, count, WIDTH), lens: np.random.randint(1, count + 1, b).astype("i")}

    return [loss, tf.train.AdamOptimizer(1e-3).minimize(loss)], draw
