"""Programs over shapes that vary: sizes that are fed or computed.

Each function builds a program in the current graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .program_parts import WIDTH, Feeds, Program, numbers, rnn_cell, train, uniform, weights


def sortsets(tf: Any) -> Program:
    """Sorted rows, and different numbers."""
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.placeholder(tf.int32, [None])
    o = tf.argsort(x, 1, direction="DESCENDING")
    s = tf.batch_gather(x, o)
    c = tf.cumsum(s, 1)
    u, ix, cnt = tf.unique_with_counts(y)
    d = tf.setdiff1d(u, tf.range(5))
    return [c, tf.gather(cnt, ix), d.out, tf.reverse(s, [1])], lambda r: {
        x: uniform(r.randint(1, 20), r.randint(2, 50)),
        y: numbers(12, r.randint(3, 60)),
    }


def fed_batch(tf: Any) -> Program:
    """A GRU whose batch size is fed, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    b = tf.placeholder(tf.int32, [])
    cell = rnn_cell(tf, "GRU", WIDTH)
    out, _ = tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(b, tf.float32))
    loss = tf.reduce_mean(tf.square(out[:, -1]))

    def draw(r: Any) -> Feeds:
        n = r.randint(1, 20)
        return {x: uniform(n, r.randint(2, 30), WIDTH), b: np.int32(n)}

    return [loss, train(tf, loss)], draw


def seqmask(tf: Any) -> Program:
    """Sequences that are cut to the longest, trained."""
    x = tf.placeholder(tf.int32, [None, None])
    lens = tf.placeholder(tf.int32, [None])
    m = tf.reduce_max(lens)
    t = x[:, :m]
    e = tf.nn.embedding_lookup(weights(tf, "e", 300, WIDTH), t)
    k = tf.sequence_mask(lens, dtype=tf.float32)
    h = tf.layers.dense(e, WIDTH, tf.nn.relu)
    loss = tf.reduce_sum(tf.square(h) * k[..., None]) / tf.reduce_sum(k)

    def draw(r: Any) -> Feeds:
        b, count = r.randint(2, 20), r.randint(4, 40)
        return {x: numbers(300, b, count), lens: np.random.randint(1, count + 1, b).astype("i")}

    return [loss, train(tf, loss)], draw


def resize_keep(tf: Any) -> Program:
    """An image whose shorter side becomes 40."""
    im = tf.placeholder(tf.float32, [None, None, 3])
    hw = tf.cast(tf.shape(im)[:2], tf.float32)
    sc = 40.0 / tf.reduce_min(hw)
    new = tf.cast(tf.round(hw * sc), tf.int32)
    r1 = tf.image.resize_images(im, new)
    c = (
        tf.image.resize_image_with_crop_or_pad(r1, 40, 40)
        if hasattr(tf.image, "resize_image_with_crop_or_pad")
        else r1
    )
    k = tf.nn.conv2d(c[None], weights(tf, "k", 3, 3, 3, 8), [1, 2, 2, 1], "SAME")
    return [tf.reduce_mean(tf.nn.relu(k), [1, 2])], lambda r: {
        im: uniform(r.randint(40, 90), r.randint(40, 90), 3)
    }


def fed_range(tf: Any) -> Program:
    """A fed number of samples of a latent vector."""
    n = tf.placeholder(tf.int32, [])
    z = tf.random_normal([n, 8])
    h = tf.layers.dense(z, WIDTH, tf.nn.relu)
    o = tf.layers.dense(h, 16, tf.sigmoid)
    ids = tf.range(n)
    return [o, tf.gather(o, ids[::-1])], lambda r: {n: np.int32(r.randint(1, 60))}


def ceil_len(tf: Any) -> Program:
    """Lengths after strides, by `tf.ceil`, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    h = tf.layers.conv1d(x, 16, 3, strides=2, padding="same", activation=tf.nn.relu)
    L = tf.cast(tf.ceil(tf.cast(tf.shape(x)[1], tf.float32) / 2.0), tf.int32)
    pos = tf.cast(tf.range(L), tf.float32) / tf.cast(L, tf.float32)
    y = h * pos[None, :, None]
    loss = tf.reduce_mean(tf.square(y))
    return [loss, train(tf, loss)], lambda r: {
        x: uniform(r.randint(1, 12), r.randint(4, 60), WIDTH)
    }


def pad_to_max(tf: Any) -> Program:
    """Sequences that are padded to a fed length, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    L = tf.placeholder(tf.int32, [])
    p = tf.pad(x, [[0, 0], [0, L - tf.shape(x)[1]], [0, 0]])
    s = tf.nn.softmax(tf.matmul(p, p, transpose_b=True) * 0.2)
    y = tf.layers.dense(tf.matmul(s, p), WIDTH)
    loss = tf.reduce_mean(tf.square(y))

    def draw(r: Any) -> Feeds:
        count = r.randint(2, 30)
        return {x: uniform(r.randint(1, 8), count, WIDTH), L: np.int32(count + r.randint(0, 8))}

    return [loss, train(tf, loss)], draw


def pool_pyramid(tf: Any) -> Program:
    """Pooling over a pyramid of parts of an image, trained."""
    im = tf.placeholder(tf.float32, [None, None, None, 8])
    s = tf.shape(im)
    outs = []
    for k in (1, 2):
        for i in range(k):
            for j in range(k):
                a, b = s[1] * i // k, s[1] * (i + 1) // k
                c, d = s[2] * j // k, s[2] * (j + 1) // k
                outs.append(tf.reduce_max(im[:, a:b, c:d], [1, 2]))
    y = tf.layers.dense(tf.concat(outs, 1), 4)
    loss = tf.reduce_mean(tf.square(y))
    return [loss, train(tf, loss)], lambda r: {
        im: uniform(r.randint(1, 6), r.randint(6, 30), r.randint(6, 30), 8)
    }


def tile_pairs(tf: Any) -> Program:
    """All pairs of objects, trained."""
    x = tf.placeholder(tf.float32, [None, None, 8])
    n = tf.shape(x)[1]
    a = tf.tile(x[:, :, None], [1, 1, n, 1])
    b = tf.tile(x[:, None], [1, n, 1, 1])
    h = tf.layers.dense(tf.concat([a, b], 3), 16, tf.nn.relu)
    g = tf.reduce_sum(h, [1, 2])
    loss = tf.reduce_mean(tf.square(tf.layers.dense(g, 2)))
    return [loss, train(tf, loss)], lambda r: {x: uniform(r.randint(1, 8), r.randint(2, 10), 8)}


def decode_max(tf: Any) -> Program:
    """A decoder that stops at an end word or a fed length."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    mx = tf.placeholder(tf.int32, [])
    w = weights(tf, "w", WIDTH, WIDTH)
    o = weights(tf, "o", WIDTH, 20, scale=1.0)
    emb = weights(tf, "emb", 20, WIDTH)
    ta = tf.TensorArray(tf.int32, 0, dynamic_size=True)

    def body(i, h, fin, ta):
        lo = tf.matmul(h, o)
        t = tf.argmax(lo, 1, output_type=tf.int32)
        return (
            i + 1,
            tf.tanh(tf.matmul(h, w) + tf.gather(emb, t)),
            tf.logical_or(fin, tf.equal(t, 3)),
            ta.write(i, t),
        )

    _, h, _, ta = tf.while_loop(
        lambda i, h, fin, _: tf.logical_and(i < mx, tf.logical_not(tf.reduce_all(fin))),
        body,
        [0, x, tf.zeros([tf.shape(x)[0]], tf.bool), ta],
    )
    return [tf.transpose(ta.stack()), h], lambda r: {
        x: uniform(r.randint(1, 12), WIDTH),
        mx: np.int32(r.randint(3, 25)),
    }


def var_classes(tf: Any) -> Program:
    """A confusion matrix of a varying number of classes."""
    count = tf.placeholder(tf.int32, [None])
    p = tf.placeholder(tf.int32, [None])
    cm = tf.math.confusion_matrix(count, p)
    d = tf.cast(tf.diag_part(cm), tf.float32)
    return [cm, d / tf.cast(tf.reduce_sum(cm, 1) + 1, tf.float32)], lambda r: (
        lambda b: {count: numbers(8, b), p: numbers(8, b)}
    )(r.randint(4, 60))


def bincount(tf: Any) -> Program:
    """Counts of numbers."""
    x = tf.placeholder(tf.int32, [None])
    b = tf.math.bincount(x)
    return [b, tf.argmax(b), tf.repeat(tf.range(3), [1, 2, 3])], lambda r: {
        x: numbers(30, r.randint(3, 80))
    }


def repeat_rows(tf: Any) -> Program:
    """Rows that are repeated, and sums of the repetitions, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    n = tf.placeholder(tf.int32, [None])
    y = tf.repeat(x, n, axis=0)
    seg = tf.repeat(tf.range(tf.shape(x)[0]), n)
    loss = tf.reduce_mean(tf.square(tf.segment_sum(tf.layers.dense(y, 8), seg)))

    def draw(r: Any) -> Feeds:
        b = r.randint(2, 20)
        return {x: uniform(b, WIDTH), n: np.random.randint(1, 5, b).astype("i")}

    return [loss, train(tf, loss)], draw


def split_half(tf: Any) -> Program:
    """A batch in two parts, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    n = tf.shape(x)[0]
    k = tf.cast(tf.cast(n, tf.float32) * 0.7, tf.int32)
    a, b = x[:k], x[k:]
    y = tf.layers.dense(a, 8)
    z = tf.reduce_mean(y) - tf.reduce_mean(b)
    return [z, train(tf, z * z)], lambda r: {x: uniform(r.randint(4, 60), WIDTH)}


def mixup(tf: Any) -> Program:
    """A batch that is mixed with itself, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    ix = tf.random_shuffle(tf.range(tf.shape(x)[0]))
    lam = tf.random_uniform([tf.shape(x)[0], 1])
    m = x * lam + tf.gather(x, ix) * (1 - lam)
    h = tf.layers.dropout(tf.layers.dense(m, 32, tf.nn.relu), 0.3, training=True)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 2)))
    return [loss, train(tf, loss)], lambda r: {x: uniform(r.randint(2, 80), WIDTH)}


def keras_lstm(tf: Any) -> Program:
    """An LSTM of Keras with a mask, trained."""
    k = tf.keras
    x = tf.placeholder(tf.int32, [None, None])
    h = k.layers.Embedding(200, WIDTH, mask_zero=True)(x)
    h = k.layers.LSTM(WIDTH)(h)
    count = k.layers.Dense(2)(h)
    loss = tf.reduce_mean(tf.square(count))
    return [loss, train(tf, loss)], lambda r: {x: numbers(200, r.randint(1, 16), r.randint(3, 30))}
