"""Programs over shapes that vary: decoders, losses, images.

Each function builds a program in the current graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .program_parts import WIDTH, Feeds, Program, numbers, train, uniform, weights


def attn_bucket(tf: Any) -> Program:
    """Words, attention with a mask of lengths, Adam."""
    ids = tf.placeholder(tf.int32, [None, None])
    lens = tf.placeholder(tf.int32, [None])
    lab = tf.placeholder(tf.int32, [None])
    e = tf.nn.embedding_lookup(weights(tf, "e", 500, 32), ids)
    mask = tf.sequence_mask(lens, tf.shape(ids)[1])
    scores = tf.squeeze(tf.layers.dense(tf.tanh(tf.layers.dense(e, 32)), 1), -1)
    scores = tf.where(mask, scores, tf.fill(tf.shape(scores), -1e9))
    a = tf.nn.softmax(scores)
    c = tf.reduce_sum(e * a[:, :, None], 1)
    logits = tf.layers.dense(c, 5)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=lab, logits=logits))
    t = tf.train.AdamOptimizer(1e-3).minimize(loss)

    def draw(r: Any) -> Feeds:
        b, count = r.randint(2, 32), r.randint(3, 50)
        return {
            ids: numbers(500, b, count),
            lens: np.random.randint(1, count + 1, b).astype("i"),
            lab: numbers(5, b),
        }

    return [loss, t], draw


def crf_loss(tf: Any) -> Program:
    """The loss of a linear-chain CRF, with `tf.scan` over the steps, trained."""
    x = tf.placeholder(tf.float32, [None, None, WIDTH])
    tags = tf.placeholder(tf.int32, [None, None])
    lens = tf.placeholder(tf.int32, [None])
    K = 7
    u = tf.layers.dense(x, K)
    tr = weights(tf, "tr", K, K)
    mask = tf.sequence_mask(lens, tf.shape(x)[1], dtype=tf.float32)
    unary = tf.reduce_sum(tf.reduce_sum(u * tf.one_hot(tags, K), 2) * mask, 1)
    pair = tf.reduce_sum(
        tf.gather_nd(tr, tf.stack([tags[:, :-1], tags[:, 1:]], -1)) * mask[:, 1:], 1
    )

    def step(alpha, inp):
        ut, m = inp
        nxt = tf.reduce_logsumexp(alpha[:, :, None] + tr[None], 1) + ut
        return nxt * m[:, None] + alpha * (1 - m[:, None])

    al = tf.scan(
        step,
        (tf.transpose(u[:, 1:], [1, 0, 2]), tf.transpose(mask[:, 1:], [1, 0])),
        initializer=u[:, 0],
    )
    z = tf.reduce_logsumexp(al[-1], 1)
    loss = tf.reduce_mean(z - unary - pair)

    def draw(r: Any) -> Feeds:
        b, count = r.randint(2, 16), r.randint(4, 30)
        return {
            x: uniform(b, count, WIDTH),
            tags: numbers(K, b, count),
            lens: np.random.randint(2, count + 1, b).astype("i"),
        }

    return [loss, train(tf, loss)], draw


def viterbi(tf: Any) -> Program:
    """Viterbi decoding by two loops, with TensorArrays."""
    u = tf.placeholder(tf.float32, [None, None, 7])
    tr = weights(tf, "tr", 7, 7)
    n = tf.shape(u)[1]
    ta = tf.TensorArray(tf.int32, size=n - 1, element_shape=[None, 7])
    ut = tf.transpose(u, [1, 0, 2])

    def body(i, a, ta):
        v = a[:, :, None] + tr[None]
        return (
            i + 1,
            tf.reduce_max(v, 1) + ut[i],
            ta.write(i - 1, tf.argmax(v, 1, output_type=tf.int32)),
        )

    _, a, ta = tf.while_loop(lambda i, *_: i < n, body, [1, ut[0], ta])
    last = tf.argmax(a, 1, output_type=tf.int32)
    bp = ta.stack()

    def back(i, cur, out):
        rows = tf.range(tf.shape(cur)[0])
        prev = tf.gather_nd(bp[i], tf.stack([rows, cur], 1))
        return i - 1, prev, out.write(i, prev)

    out = tf.TensorArray(tf.int32, size=n - 1, element_shape=[None])
    _, _, out = tf.while_loop(lambda i, *_: i >= 0, back, [n - 2, last, out])
    path = tf.transpose(tf.concat([out.stack(), last[None]], 0))
    return [path, tf.reduce_max(a, 1)], lambda r: {
        u: uniform(r.randint(1, 16), r.randint(4, 40), 7)
    }


def beam(tf: Any) -> Program:
    """A beam search whose sequences grow by `tf.concat`."""
    st = tf.placeholder(tf.float32, [None, 16])
    V, B = 40, 4
    b = tf.shape(st)[0]
    emb = weights(tf, "emb", V, 16)
    w = weights(tf, "w", 32, 16)
    o = weights(tf, "o", 16, V, scale=1.0)
    seq = tf.zeros([b, B, 1], tf.int32)
    sc = tf.tile(tf.constant([[0.0, -1e3, -1e3, -1e3]]), [b, 1])
    h = tf.tile(st[:, None], [1, B, 1])
    n = tf.placeholder(tf.int32, [])

    def body(i, seq, sc, h):
        e = tf.gather(emb, seq[:, :, -1])
        h2 = tf.tanh(tf.tensordot(tf.concat([h, e], 2), w, 1))
        lp = tf.nn.log_softmax(tf.tensordot(h2, o, 1))
        tot = tf.reshape(sc[:, :, None] + lp, [b, -1])
        v, ix = tf.nn.top_k(tot, B)
        beam = ix // V
        tok = ix % V
        seq = tf.concat([tf.batch_gather(seq, beam), tok[:, :, None]], 2)
        return i + 1, seq, v, tf.batch_gather(h2, beam)

    _, seq, sc, _ = tf.while_loop(
        lambda i, *_: i < n,
        body,
        [0, seq, sc, h],
        shape_invariants=[
            tf.TensorShape([]),
            tf.TensorShape([None, B, None]),
            tf.TensorShape([None, B]),
            tf.TensorShape([None, B, 16]),
        ],
    )
    return [seq, sc], lambda r: {st: uniform(r.randint(1, 8), 16), n: r.randint(3, 20)}


def greedy_grow(tf: Any) -> Program:
    """A decoder that attends to all earlier states."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    n = tf.placeholder(tf.int32, [])
    w = weights(tf, "w", WIDTH, WIDTH)

    def body(i, hist):
        q = hist[:, -1]
        a = tf.nn.softmax(tf.reduce_sum(hist * q[:, None], 2))
        c = tf.tanh(tf.matmul(tf.reduce_sum(hist * a[:, :, None], 1) + q, w))
        return i + 1, tf.concat([hist, c[:, None]], 1)

    _, hist = tf.while_loop(
        lambda i, _: i < n,
        body,
        [0, x[:, None]],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None, WIDTH])],
    )
    return [hist], lambda r: {x: uniform(r.randint(1, 16), WIDTH), n: r.randint(3, 25)}


def grown_train(tf: Any) -> Program:
    """A loop whose variable grows, trained."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    n = tf.placeholder(tf.int32, [])
    w = weights(tf, "w", WIDTH, WIDTH)

    def body(i, hist):
        c = tf.tanh(tf.matmul(tf.reduce_mean(hist, 1), w))
        return i + 1, tf.concat([hist, c[:, None]], 1)

    _, hist = tf.while_loop(
        lambda i, _: i < n,
        body,
        [0, x[:, None]],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None, WIDTH])],
    )
    loss = tf.reduce_mean(tf.square(hist))
    return [loss, train(tf, loss)], lambda r: {
        x: uniform(r.randint(2, 16), WIDTH),
        n: r.randint(3, 25),
    }


def detect(tf: Any) -> Program:
    """Boxes that are selected by scores and non-maximum suppression."""
    sc = tf.placeholder(tf.float32, [None])
    bx = tf.placeholder(tf.float32, [None, 4])
    yx = bx[:, :2]
    hw = tf.exp(bx[:, 2:] * 0.2) * 0.2
    boxes = tf.clip_by_value(tf.concat([yx - hw / 2, yx + hw / 2], 1), 0.0, 1.0)
    keep = sc > 0.3
    b2 = tf.boolean_mask(boxes, keep)
    s2 = tf.boolean_mask(sc, keep)
    ix = tf.image.non_max_suppression(b2, s2, 20, iou_threshold=0.5)
    return [tf.gather(b2, ix), tf.gather(s2, ix), tf.shape(ix)], lambda r: (
        lambda n: {sc: uniform(n), bx: uniform(n, 4)}
    )(r.randint(20, 300))


def crops(tf: Any) -> Program:
    """A head over crops of boxes, trained."""
    im = tf.placeholder(tf.float32, [None, None, None, 3])
    bx = tf.placeholder(tf.float32, [None, 4])
    ind = tf.placeholder(tf.int32, [None])
    f = tf.nn.relu(tf.nn.conv2d(im, weights(tf, "k", 3, 3, 3, 8), [1, 1, 1, 1], "SAME"))
    c = tf.image.crop_and_resize(f, bx, ind, [7, 7])
    c = tf.nn.max_pool(c, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    count = tf.layers.dense(tf.reshape(c, [-1, 3 * 3 * 8]), 4)
    loss = tf.reduce_mean(tf.square(count))

    def draw(r: Any) -> Feeds:
        n = r.randint(1, 20)
        b = np.sort(uniform(n, 2, 2), 1)
        return {
            im: uniform(2, r.randint(24, 64), r.randint(24, 64), 3),
            bx: b.reshape(n, 4),
            ind: numbers(2, n),
        }

    return [loss, train(tf, loss)], draw


def random_crop(tf: Any) -> Program:
    """An image that is resized, flipped and cropped at random."""
    im = tf.placeholder(tf.float32, [None, None, 3])
    s = tf.shape(im)
    small = tf.image.resize_images(im, [s[0] * 2 // 3, s[1] * 2 // 3])
    fl = tf.image.random_flip_left_right(small)
    c = tf.random_crop(fl, [20, 20, 3])
    return [tf.image.per_image_standardization(c)], lambda r: {
        im: uniform(r.randint(32, 100), r.randint(32, 100), 3)
    }
