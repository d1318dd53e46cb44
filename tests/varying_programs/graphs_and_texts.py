"""Programs over shapes that vary: graphs, texts, networks.

Each function builds a program in the current graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .program_parts import WIDTH, Feeds, Program, numbers, rnn_cell, train, uniform, weights


def graph_net(tf: Any) -> Program:
    """Messages along the edges of graphs, trained."""
    x = tf.placeholder(tf.float32, [None, 16])
    src = tf.placeholder(tf.int32, [None])
    dst = tf.placeholder(tf.int32, [None])
    g = tf.placeholder(tf.int32, [None])
    y = tf.placeholder(tf.float32, [None, 1])
    h = tf.layers.dense(x, 32, tf.nn.relu)
    for _ in range(2):
        m = tf.layers.dense(tf.concat([tf.gather(h, src), tf.gather(h, dst)], 1), 32, tf.nn.relu)
        a = tf.unsorted_segment_sum(m, dst, tf.shape(h)[0])
        h = tf.layers.dense(tf.concat([h, a], 1), 32, tf.nn.relu)
    p = tf.segment_mean(h, g)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(p, 1) - y))

    def draw(r: Any) -> Feeds:
        k = r.randint(2, 10)
        sz = [r.randint(2, 12) for _ in range(k)]
        n = sum(sz)
        e = n * 3
        return {
            x: uniform(n, 16),
            src: numbers(n, e),
            dst: numbers(n, e),
            g: np.repeat(np.arange(k), sz).astype("i"),
            y: uniform(k, 1),
        }

    return [loss, tf.train.AdamOptimizer(1e-3).minimize(loss)], draw


def gat(tf: Any) -> Program:
    """Attention along the edges of a graph, trained."""
    x = tf.placeholder(tf.float32, [None, 16])
    src = tf.placeholder(tf.int32, [None])
    dst = tf.placeholder(tf.int32, [None])
    h = tf.layers.dense(x, 16)
    n = tf.shape(x)[0]
    s = tf.nn.leaky_relu(tf.layers.dense(tf.concat([tf.gather(h, src), tf.gather(h, dst)], 1), 1))[
        :, 0
    ]
    mx = tf.unsorted_segment_max(s, dst, n)
    ex = tf.exp(s - tf.gather(mx, dst))
    z = tf.unsorted_segment_sum(ex, dst, n)
    al = ex / tf.gather(z, dst)
    o = tf.unsorted_segment_sum(tf.gather(h, src) * al[:, None], dst, n)
    loss = tf.reduce_mean(tf.square(o - x))

    def draw(r: Any) -> Feeds:
        n = r.randint(5, 80)
        e = n * 4
        d = np.concatenate([np.arange(n), numbers(n, e - n)]).astype("i")
        return {x: uniform(n, 16), src: numbers(n, e), dst: d}

    return [loss, train(tf, loss)], draw


def deep_set(tf: Any) -> Program:
    """Sums over sets of varying sizes, trained."""
    x = tf.placeholder(tf.float32, [None, None, 8])
    m = tf.placeholder(tf.bool, [None, None])
    f = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 32, tf.nn.relu)
    mf = tf.cast(m, tf.float32)[..., None]
    s = tf.reduce_sum(f * mf, 1) / tf.maximum(tf.reduce_sum(mf, 1), 1.0)
    mx = tf.reduce_max(f - 1e3 * (1 - mf), 1)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.concat([s, mx], 1), 1)))

    def draw(r: Any) -> Feeds:
        b, n = r.randint(1, 32), r.randint(1, 30)
        return {x: uniform(b, n, 8), m: uniform(b, n) > 0.3}

    return [loss, train(tf, loss)], draw


def sparse_emb(tf: Any) -> Program:
    """Means of the embeddings of a SparseTensor of ids, trained."""
    ix = tf.placeholder(tf.int64, [None, 2])
    v = tf.placeholder(tf.int64, [None])
    sh = tf.placeholder(tf.int64, [2])
    e = tf.nn.embedding_lookup_sparse(
        weights(tf, "e", 1000, 16), tf.SparseTensor(ix, v, sh), None, combiner="mean"
    )
    loss = tf.reduce_mean(tf.square(tf.layers.dense(e, 4)))

    def draw(r: Any) -> Feeds:
        b = r.randint(2, 40)
        rows = [(i, j) for i in range(b) for j in range(r.randint(1, 6))]
        return {
            ix: np.array(rows, "i8"),
            v: np.random.randint(0, 1000, len(rows)).astype("i8"),
            sh: np.array([b, 6], "i8"),
        }

    return [loss, train(tf, loss)], draw


def sampled(tf: Any) -> Program:
    """A loss over sampled classes, trained."""
    c = tf.placeholder(tf.int32, [None])
    count = tf.placeholder(tf.int64, [None, 1])
    e = tf.nn.embedding_lookup(weights(tf, "emb", 2000, 32), c)
    loss = tf.reduce_mean(
        tf.nn.nce_loss(weights(tf, "w", 2000, 32), weights(tf, "b", 2000), count, e, 16, 2000)
    )

    def draw(r: Any) -> Feeds:
        b = r.randint(8, 128)
        return {c: numbers(2000, b), count: np.random.randint(0, 2000, (b, 1)).astype("i8")}

    return [loss, train(tf, loss, 0.1)], draw


def strfeat(tf: Any) -> Program:
    """Sentences: words, hash buckets, means of embeddings; trained."""
    s = tf.placeholder(tf.string, [None])
    t = tf.string_split(tf.strings.lower(s), " ")
    ids = tf.string_to_hash_bucket_fast(t.values, 500)
    e = tf.gather(weights(tf, "e", 500, 16), ids)
    p = tf.segment_mean(e, t.indices[:, 0])
    loss = tf.reduce_mean(tf.square(tf.layers.dense(p, 3)))
    ws = [f"w{i}" for i in range(200)]
    return [loss, train(tf, loss)], lambda r: {
        s: np.array(
            [
                " ".join(r.choice(ws) for _ in range(r.randint(1, 12)))
                for _ in range(r.randint(1, 40))
            ],
            object,
        )
    }


def strjoin(tf: Any) -> Program:
    """Strings that are cleaned, cut, joined and hashed."""
    s = tf.placeholder(tf.string, [None])
    n = tf.placeholder(tf.int32, [None])
    c = tf.regex_replace(s, "[^a-z ]", "")
    j = tf.string_join([c, tf.as_string(n)], "-")
    return [
        j,
        tf.strings.length(j),
        tf.string_to_hash_bucket_fast(tf.substr(s, 0, 1), 10),
    ], lambda r: (
        lambda b: {
            s: np.array([f"Hello {r.randint(0, 999)} world" for _ in range(b)], object),
            n: numbers(100, b),
        }
    )(r.randint(1, 60))


def seqconv_ctc(tf: Any) -> Program:
    """Convolutions over sequences with the CTC loss, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    lens = tf.placeholder(tf.int32, [None])
    h = tf.layers.conv1d(x, 16, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.conv1d(h, 16, 3, strides=2, padding="same", activation=tf.nn.relu)
    lo = tf.transpose(tf.layers.dense(h, 9), [1, 0, 2])
    ix = tf.placeholder(tf.int64, [None, 2])
    v = tf.placeholder(tf.int32, [None])
    sh = tf.placeholder(tf.int64, [2])
    loss = tf.reduce_mean(tf.nn.ctc_loss(tf.SparseTensor(ix, v, sh), lo, lens))

    def draw(r: Any) -> Feeds:
        b, t = r.randint(2, 8), r.randint(20, 60)
        k = [r.randint(1, 4) for _ in range(b)]
        rows = [(i, j) for i in range(b) for j in range(k[i])]
        return {
            x: uniform(b, t, WIDTH),
            lens: np.full(b, (t + 1) // 2, "i"),
            ix: np.array(rows, "i8"),
            v: numbers(8, len(rows)),
            sh: np.array([b, 4], "i8"),
        }

    return [loss, train(tf, loss)], draw


def unet(tf: Any) -> Program:
    """A U-Net over images of varying size, trained."""
    im = tf.placeholder(tf.float32, [None, None, None, 3])
    a = tf.layers.conv2d(im, 8, 3, padding="same", activation=tf.nn.relu)
    b = tf.layers.conv2d(
        tf.layers.max_pooling2d(a, 2, 2), 16, 3, padding="same", activation=tf.nn.relu
    )
    u = tf.layers.conv2d_transpose(b, 8, 2, 2, padding="same")
    s = tf.shape(u)
    a2 = a[:, : s[1], : s[2]]
    o = tf.layers.conv2d(tf.concat([a2, u], 3), 1, 1)
    loss = tf.reduce_mean(tf.square(o))
    return [loss, train(tf, loss)], lambda r: {
        im: uniform(r.randint(1, 4), r.randint(16, 64), r.randint(16, 64), 3)
    }


def batchnorm_cnn(tf: Any) -> Program:
    """Convolutions with batch normalization, trained."""
    im = tf.placeholder(tf.float32, [None, None, None, 3])
    h = tf.layers.conv2d(im, 8, 3, padding="same")
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=True))
    h = tf.reduce_mean(h, [1, 2])
    count = tf.layers.dense(h, 5)
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(-count), logits=count)
    )
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        t = train(tf, loss)
    return [loss, t], lambda r: {
        im: uniform(r.randint(2, 8), r.randint(12, 40), r.randint(12, 40), 3)
    }


def map_rows(tf: Any) -> Program:
    """`tf.map_fn` over rows that are cut to their lengths."""
    x = tf.placeholder(tf.float32, [None, None, 8])
    lens = tf.placeholder(tf.int32, [None])
    y = tf.map_fn(lambda a: tf.reduce_max(a[0][: a[1]], 0), (x, lens), dtype=tf.float32)

    def draw(r: Any) -> Feeds:
        b, count = r.randint(1, 20), r.randint(2, 30)
        return {x: uniform(b, count, 8), lens: np.random.randint(1, count + 1, b).astype("i")}

    return [y], draw


def seq2seq_attn(tf: Any) -> Program:
    """An encoder, and a decoder with attention, trained."""
    x = tf.placeholder(tf.int32, [None, None])
    y = tf.placeholder(tf.int32, [None, None])
    emb = weights(tf, "emb", 100, WIDTH)
    with tf.variable_scope("enc"):
        enc, st = tf.nn.dynamic_rnn(rnn_cell(tf, "GRU", WIDTH), tf.gather(emb, x), dtype=tf.float32)
    with tf.variable_scope("dec"):
        dec, _ = tf.nn.dynamic_rnn(rnn_cell(tf, "GRU", WIDTH), tf.gather(emb, y), initial_state=st)
    a = tf.nn.softmax(tf.matmul(dec, enc, transpose_b=True))
    c = tf.concat([tf.matmul(a, enc), dec], 2)
    lo = tf.layers.dense(c, 100)
    w = tf.cast(tf.not_equal(y, 0), tf.float32)
    ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=lo)
    loss = tf.reduce_sum(ce * w) / tf.reduce_sum(w + 1e-6)
    v = tf.trainable_variables()
    g, _ = tf.clip_by_global_norm(tf.gradients(loss, v), 1.0)
    t = tf.train.AdamOptimizer(1e-3).apply_gradients(zip(g, v))

    def draw(r: Any) -> Feeds:
        b = r.randint(2, 16)
        return {x: numbers(100, b, r.randint(3, 20)), y: numbers(100, b, r.randint(3, 20))}

    return [loss, t], draw


def topk_metrics(tf: Any) -> Program:
    """Metrics of the best classes."""
    s = tf.placeholder(tf.float32, [None, None])
    count = tf.placeholder(tf.int32, [None])
    k = tf.minimum(5, tf.shape(s)[1])
    _, ix = tf.nn.top_k(s, k)
    hit = tf.reduce_any(tf.equal(ix, count[:, None]), 1)
    acc = tf.reduce_mean(tf.cast(hit, tf.float32))
    bad = tf.where(tf.logical_not(hit))[:, 0]
    return [
        acc,
        bad,
        tf.gather(count, bad),
        tf.reduce_mean(tf.cast(tf.nn.in_top_k(s, count, 1), tf.float32)),
    ], lambda r: (lambda b, c: {s: uniform(b, c), count: numbers(c, b)})(
        r.randint(1, 64), r.randint(2, 40)
    )


def pack_unpad(tf: Any) -> Program:
    """A layer over the words without the padding, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    m = tf.placeholder(tf.float32, [None, None])
    ix = tf.where(m > 0.5)
    rows = tf.gather_nd(x, ix)
    h = tf.layers.dense(tf.layers.dense(rows, 48, tf.nn.relu), WIDTH)
    y = tf.scatter_nd(ix, h, tf.shape(x, out_type=tf.int64)) + x
    loss = tf.reduce_mean(tf.square(y))

    def draw(r: Any) -> Feeds:
        b, count = r.randint(1, 16), r.randint(2, 40)
        return {x: uniform(b, count, WIDTH), m: uniform(b, count)}

    return [loss, train(tf, loss)], draw


def triplet(tf: Any) -> Program:
    """The triplet loss of the hardest pairs of a batch, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    count = tf.placeholder(tf.int32, [None])
    e = tf.nn.l2_normalize(tf.layers.dense(x, 16), 1)
    d = 2 - 2 * tf.matmul(e, e, transpose_b=True)
    d = tf.maximum(d, 0.0)
    same = tf.equal(count[:, None], count[None])
    pos = tf.logical_and(same, tf.logical_not(tf.cast(tf.eye(tf.shape(x)[0]), tf.bool)))
    hp = tf.reduce_max(d * tf.cast(pos, tf.float32), 1)
    hn = tf.reduce_min(d + 1e3 * tf.cast(same, tf.float32), 1)
    loss = tf.reduce_mean(tf.maximum(hp - hn + 0.2, 0.0))
    return [loss, train(tf, loss)], lambda r: (
        lambda b: {x: uniform(b, WIDTH), count: numbers(6, b)}
    )(r.randint(4, 80))
