"""Works that programs of 2016 to 2019 do, beside TensorFlow's v1 API: no tuned list.

    python benchmarks/works.py [--tensorflow PYTHON] [--works WORK ...] [--seconds 0.6] [--rounds 3]

Each work is one `Session.run` of a fixed shape: a training step, or a computation.
Each package has a process that builds all works and measures each when asked to, so that both
measure alternately. Printed are the minima of wall and processor time of a run in milliseconds,
TensorFlow's time relative to ours, and the geometric mean. Native code is waited for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from math import exp, log
from typing import Any

import numpy as np

Work = tuple[Any, dict[Any, Any]]
"""The fetches of a run and its feeds."""

DRAW = np.random.RandomState(0)


def _floats(*shape: int) -> Any:
    return DRAW.rand(*shape).astype(np.float32)


def _ids(high: int, *shape: int) -> Any:
    return DRAW.randint(0, high, shape).astype(np.int32)


def _dense(tf: Any, x: Any, units: int, name: str, activation: Any = None) -> Any:
    weights = tf.get_variable(f"{name}_w", [int(x.shape[-1]), units])
    y = tf.matmul(x, weights) + tf.get_variable(f"{name}_b", [units])
    return activation(y) if activation else y


def _conv(tf: Any, x: Any, filters: int, name: str, size: int = 3, stride: int = 1) -> Any:
    kernel = tf.get_variable(name, [size, size, int(x.shape[-1]), filters])
    return tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")


def _norm(tf: Any, x: Any, name: str) -> Any:
    size = int(x.shape[-1])
    scale, shift = tf.get_variable(f"{name}_s", [size]), tf.get_variable(f"{name}_o", [size])
    return tf.nn.fused_batch_norm(x, scale, shift, is_training=True)[0]


def _classes(tf: Any, logits: Any, count: int) -> Any:
    labels = tf.constant(_ids(count, int(logits.shape[0])))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)


def _adam(tf: Any, loss: Any) -> list[Any]:
    return [loss, tf.train.AdamOptimizer(1e-3).minimize(loss)]


def rnn_cells(tf: Any) -> Any:
    if hasattr(tf.nn.rnn_cell, "LSTMCell"):
        return tf.nn.rnn_cell
    return importlib.import_module("tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl")


def rnn_of(tf: Any) -> Any:
    if hasattr(tf.nn, "dynamic_rnn"):
        return tf.nn
    return importlib.import_module("tensorflow.python.ops.rnn")


def alexnet_lrn(tf: Any) -> Work:
    """Two convolutions with local response normalization and overlapping pools, batch 16."""
    x = tf.placeholder(tf.float32, [16, 48, 48, 3])
    y = tf.nn.lrn(tf.nn.relu(_conv(tf, x, 32, "a", 5, 2)), 4, 1.0, 1e-3, 0.75)
    y = tf.nn.max_pool(y, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    y = tf.nn.lrn(tf.nn.relu(_conv(tf, y, 64, "b", 5)), 4, 1.0, 1e-3, 0.75)
    y = tf.nn.max_pool(y, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    logits = _dense(tf, tf.reshape(y, [16, -1]), 10, "c")
    return _adam(tf, _classes(tf, logits, 10)), {x: _floats(16, 48, 48, 3)}


def residual_net(tf: Any) -> Work:
    """Six residual blocks with batch normalization over 32 x 32 images, batch 16."""
    x = tf.placeholder(tf.float32, [16, 32, 32, 3])
    y = _conv(tf, x, 16, "in")
    for index in range(6):
        stride = 2 if index in (2, 4) else 1
        filters = 16 * 2 ** (index // 2)
        z = tf.nn.relu(_norm(tf, _conv(tf, y, filters, f"a{index}", 3, stride), f"n{index}"))
        z = _norm(tf, _conv(tf, z, filters, f"b{index}"), f"m{index}")
        short = y if stride == 1 and index else _conv(tf, y, filters, f"c{index}", 1, stride)
        y = tf.nn.relu(z + short)
    logits = _dense(tf, tf.reduce_mean(y, [1, 2]), 10, "out")
    return _adam(tf, _classes(tf, logits, 10)), {x: _floats(16, 32, 32, 3)}


def mobile_net(tf: Any) -> Work:
    """Four depthwise separable blocks, batch 8."""
    x = tf.placeholder(tf.float32, [8, 56, 56, 16])
    y = x
    for index in range(4):
        filters = tf.get_variable(f"d{index}", [3, 3, int(y.shape[-1]), 1])
        stride = 1 + index % 2
        y = tf.nn.depthwise_conv2d(y, filters, [1, stride, stride, 1], "SAME")
        y = tf.nn.relu6(_norm(tf, y, f"n{index}"))
        y = tf.nn.relu6(_norm(tf, _conv(tf, y, 32 * (index + 1), f"p{index}", 1), f"m{index}"))
    logits = _dense(tf, tf.reduce_mean(y, [1, 2]), 10, "out")
    return _adam(tf, _classes(tf, logits, 10)), {x: _floats(8, 56, 56, 16)}


def gan(tf: Any) -> Work:
    """One step of a discriminator and a generator with transposed convolutions, batch 16."""
    z, real = tf.placeholder(tf.float32, [16, 64]), tf.placeholder(tf.float32, [16, 28, 28, 1])
    with tf.variable_scope("g"):
        y = tf.reshape(tf.nn.relu(_dense(tf, z, 7 * 7 * 32, "in")), [16, 7, 7, 32])
        for index, (size, filters) in enumerate([(14, 16), (28, 1)]):
            kernel = tf.get_variable(f"k{index}", [5, 5, filters, int(y.shape[-1])])
            shape = [16, size, size, filters]
            y = tf.nn.conv2d_transpose(y, kernel, shape, [1, 2, 2, 1], "SAME")
            y = tf.nn.relu(y) if index == 0 else tf.nn.tanh(y)

    def judge(image: Any, reuse: bool) -> Any:
        with tf.variable_scope("d", reuse=reuse):
            h = tf.nn.leaky_relu(_conv(tf, image, 16, "a", 5, 2))
            h = tf.nn.leaky_relu(_conv(tf, h, 32, "b", 5, 2))
            return _dense(tf, tf.reshape(h, [16, 7 * 7 * 32]), 1, "out")

    real_logits, fake_logits = judge(real, False), judge(y, True)
    cross = tf.nn.sigmoid_cross_entropy_with_logits
    d_loss = tf.reduce_mean(cross(labels=tf.ones_like(real_logits), logits=real_logits)) + (
        tf.reduce_mean(cross(labels=tf.zeros_like(fake_logits), logits=fake_logits))
    )
    g_loss = tf.reduce_mean(cross(labels=tf.ones_like(fake_logits), logits=fake_logits))
    steps = [
        tf.train.AdamOptimizer(2e-4, 0.5).minimize(
            loss, var_list=tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        )
        for loss, scope in ((d_loss, "d/"), (g_loss, "g/"))
    ]
    return [d_loss, g_loss, *steps], {z: _floats(16, 64), real: _floats(16, 28, 28, 1)}


def variational_autoencoder(tf: Any) -> Work:
    """Dense layers and random normal numbers, batch 100."""
    x = tf.placeholder(tf.float32, [100, 784])
    h = _dense(tf, x, 400, "a", tf.nn.softplus)
    mean, log_variance = _dense(tf, h, 20, "m"), _dense(tf, h, 20, "v")
    z = mean + tf.exp(log_variance / 2) * tf.random_normal([100, 20], seed=1)
    logits = _dense(tf, _dense(tf, z, 400, "b", tf.nn.softplus), 784, "out")
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
    apart = 0.5 * (tf.square(mean) + tf.exp(log_variance) - 1 - log_variance)
    loss = tf.reduce_mean(tf.reduce_sum(cross, 1) + tf.reduce_sum(apart, 1))
    return _adam(tf, loss), {x: _floats(100, 784)}


def u_net(tf: Any) -> Work:
    """Two levels down, two up by resizing, with skips; 64 x 64, batch 4."""
    x = tf.placeholder(tf.float32, [4, 64, 64, 3])
    a = tf.nn.relu(_conv(tf, x, 16, "a"))
    b = tf.nn.relu(_conv(tf, tf.nn.max_pool(a, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 32, "b"))
    c = tf.nn.relu(_conv(tf, tf.nn.max_pool(b, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 64, "c"))
    d = tf.concat([tf.image.resize_nearest_neighbor(c, [32, 32]), b], 3)
    d = tf.nn.relu(_conv(tf, d, 32, "d"))
    e = tf.concat([tf.image.resize_bilinear(d, [64, 64]), a], 3)
    logits = _conv(tf, tf.nn.relu(_conv(tf, e, 16, "e")), 2, "f", 1)
    labels = tf.constant(_ids(2, 4, 64, 64))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    return _adam(tf, loss), {x: _floats(4, 64, 64, 3)}


def speech_ctc(tf: Any) -> Work:
    """A recurrent layer and the CTC loss: 8 x 60 frames, 29 classes."""
    x = tf.placeholder(tf.float32, [8, 60, 26])
    lengths = tf.constant(DRAW.randint(40, 60, 8).astype(np.int32))
    y, _ = rnn_of(tf).dynamic_rnn(rnn_cells(tf).GRUCell(64), x, lengths, dtype=tf.float32)
    logits = tf.reshape(_dense(tf, tf.reshape(y, [-1, 64]), 29, "out"), [8, 60, 29])
    rows = np.array([[i, j] for i in range(8) for j in range(12)], np.int64)
    labels = tf.SparseTensor(rows, tf.constant(_ids(28, 96)), [8, 12])
    loss = tf.nn.ctc_loss(labels, tf.transpose(logits, [1, 0, 2]), lengths)
    return _adam(tf, tf.reduce_mean(loss)), {x: _floats(8, 60, 26)}


def word_vectors(tf: Any) -> Work:
    """Skip-gram with noise-contrastive estimation: 128 pairs, 20,000 words."""
    inputs, labels = tf.placeholder(tf.int32, [128]), tf.placeholder(tf.int32, [128, 1])
    table = tf.get_variable("table", [20_000, 128])
    weights, bias = tf.get_variable("w", [20_000, 128]), tf.get_variable("b", [20_000])
    found = tf.nn.embedding_lookup(table, inputs)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, bias, labels, found, 64, 20_000))
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    return [loss, step], {inputs: _ids(20_000, 128), labels: _ids(20_000, 128, 1)}


def recommender(tf: Any) -> Work:
    """Embeddings of users and items with lazy sparse updates by Adagrad, batch 256."""
    users, items = tf.placeholder(tf.int32, [256]), tf.placeholder(tf.int32, [256])
    rating = tf.placeholder(tf.float32, [256])
    u = tf.nn.embedding_lookup(tf.get_variable("u", [50_000, 32]), users)
    v = tf.nn.embedding_lookup(tf.get_variable("v", [20_000, 32]), items)
    h = _dense(tf, tf.concat([u, v, u * v], 1), 64, "h", tf.nn.relu)
    loss = tf.reduce_mean(tf.square(_dense(tf, h, 1, "out")[:, 0] - rating))
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    feeds = {users: _ids(50_000, 256), items: _ids(20_000, 256), rating: _floats(256)}
    return [loss, step], feeds


def graph_network(tf: Any) -> Work:
    """Messages over 8,000 edges by gathers and segment sums; sparse products beside them."""
    x = tf.placeholder(tf.float32, [1500, 32])
    sources = tf.constant(_ids(1500, 8000))
    targets = tf.constant(np.sort(_ids(1500, 8000)))
    pairs = np.stack([np.sort(_ids(1500, 8000)), _ids(1500, 8000)], 1).astype(np.int64)
    adjacency = tf.SparseTensor(pairs, tf.constant(_floats(8000)), [1500, 1500])
    y = x
    for index in range(2):
        messages = tf.nn.relu(_dense(tf, tf.gather(y, sources), 32, f"m{index}"))
        summed = tf.unsorted_segment_sum(messages, targets, 1500)
        spread = tf.sparse_tensor_dense_matmul(adjacency, y)
        y = tf.nn.relu(_dense(tf, tf.concat([y, summed, spread], 1), 32, f"u{index}"))
    return _adam(tf, _classes(tf, _dense(tf, y, 7, "out"), 7)), {x: _floats(1500, 32)}


def transformer(tf: Any) -> Work:
    """One block of 8 heads with masks and layer normalization: 8 x 50 x 128."""
    x, y = tf.placeholder(tf.float32, [8, 50, 128]), None
    mask = tf.matrix_band_part(tf.ones([50, 50]), -1, 0)

    def norm(value: Any, name: str) -> Any:
        mean, variance = tf.nn.moments(value, [-1], keep_dims=True)
        scale, shift = tf.get_variable(f"{name}s", [128]), tf.get_variable(f"{name}o", [128])
        return (value - mean) * tf.rsqrt(variance + 1e-6) * scale + shift

    def heads(name: str) -> Any:
        flat = _dense(tf, tf.reshape(x, [-1, 128]), 128, name)
        return tf.transpose(tf.reshape(flat, [8, 50, 8, 16]), [0, 2, 1, 3])

    scores = tf.matmul(heads("q"), heads("k"), transpose_b=True) / 4.0 + (mask - 1) * 1e9
    y = tf.matmul(tf.nn.softmax(scores), heads("v"))
    y = norm(x + tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [8, 50, 128]), "a")
    h = _dense(tf, tf.reshape(y, [-1, 128]), 512, "f", tf.nn.relu)
    y = norm(y + tf.reshape(_dense(tf, h, 128, "g"), [8, 50, 128]), "b")
    return _adam(tf, tf.reduce_mean(tf.square(y))), {x: _floats(8, 50, 128)}


def bidirectional_lstm(tf: Any) -> Work:
    """Tagging by both directions with lengths: 16 x 30 words."""
    words = tf.placeholder(tf.int32, [16, 30])
    lengths = tf.constant(DRAW.randint(10, 31, 16).astype(np.int32))
    x = tf.nn.embedding_lookup(tf.get_variable("e", [5000, 50]), words)
    cells = [rnn_cells(tf).LSTMCell(50, name=name) for name in ("f", "b")]
    both, _ = rnn_of(tf).bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)
    logits = _dense(tf, tf.reshape(tf.concat(both, 2), [-1, 100]), 9, "out")
    weights = tf.reshape(tf.sequence_mask(lengths, 30, tf.float32), [-1])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.constant(_ids(9, 480)), logits=logits
    )
    return _adam(tf, tf.reduce_sum(losses * weights)), {words: _ids(5000, 16, 30)}


def deep_q(tf: Any) -> Work:
    """Q-learning with a target network, clipped errors and gradients, batch 32."""
    state, after = tf.placeholder(tf.float32, [32, 8]), tf.placeholder(tf.float32, [32, 8])
    action, reward = tf.placeholder(tf.int32, [32]), tf.placeholder(tf.float32, [32])

    def values(x: Any, scope: str) -> Any:
        with tf.variable_scope(scope):
            h = _dense(tf, _dense(tf, x, 64, "a", tf.nn.relu), 64, "b", tf.nn.relu)
            return _dense(tf, h, 4, "out")

    chosen = tf.reduce_sum(values(state, "q") * tf.one_hot(action, 4), 1)
    target = tf.stop_gradient(reward + 0.99 * tf.reduce_max(values(after, "t"), 1))
    error = chosen - target
    huber = tf.where(tf.abs(error) < 1, 0.5 * tf.square(error), tf.abs(error) - 0.5)
    loss = tf.reduce_mean(huber)
    optimizer = tf.train.RMSPropOptimizer(1e-3)
    pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]
    clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 10.0)
    step = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs]))
    feeds = {state: _floats(32, 8), after: _floats(32, 8), action: _ids(4, 32)}
    return [loss, step], {**feeds, reward: _floats(32)}


def policy_gradient(tf: Any) -> Work:
    """Clipped surrogate loss of a Gaussian policy, batch 512."""
    state, old = tf.placeholder(tf.float32, [512, 17]), tf.placeholder(tf.float32, [512])
    action, gain = tf.placeholder(tf.float32, [512, 6]), tf.placeholder(tf.float32, [512])
    h = _dense(tf, _dense(tf, state, 64, "a", tf.tanh), 64, "b", tf.tanh)
    mean, log_std = _dense(tf, h, 6, "m"), tf.get_variable("s", [6])
    z = (action - mean) / tf.exp(log_std)
    log_p = tf.reduce_sum(-0.5 * tf.square(z) - log_std - 0.919, 1)
    ratio = tf.exp(log_p - old)
    better = tf.minimum(ratio * gain, tf.clip_by_value(ratio, 0.8, 1.2) * gain)
    value = _dense(tf, h, 1, "v")[:, 0]
    loss = -tf.reduce_mean(better) + 0.5 * tf.reduce_mean(tf.square(value - gain))
    feeds = {state: _floats(512, 17), old: _floats(512) - 9, action: _floats(512, 6)}
    return _adam(tf, loss), {**feeds, gain: _floats(512)}


def capsules(tf: Any) -> Work:
    """Three iterations of routing between 288 and 10 capsules, batch 8."""
    u = tf.placeholder(tf.float32, [8, 288, 1, 8, 1])
    weights = tf.get_variable("w", [1, 288, 10, 16, 8])
    votes = tf.reduce_sum(weights * tf.transpose(u, [0, 1, 2, 4, 3]), -1)
    logits = tf.zeros([8, 288, 10])
    for _ in range(3):
        shares = tf.nn.softmax(logits)
        s = tf.reduce_sum(votes * tf.expand_dims(shares, -1), 1)
        norm = tf.reduce_sum(tf.square(s), -1, keep_dims=True)
        v = s * tf.sqrt(norm) / (1 + norm)
        logits += tf.reduce_sum(votes * tf.expand_dims(v, 1), -1)
    length = tf.sqrt(tf.reduce_sum(tf.square(v), -1) + 1e-9)
    loss = tf.reduce_mean(tf.square(tf.maximum(0.0, 0.9 - length)))
    return _adam(tf, loss), {u: _floats(8, 288, 1, 8, 1)}


def style_transfer(tf: Any) -> Work:
    """The gradient of Gram matrices and total variation with respect to an image."""
    image = tf.get_variable("image", initializer=_floats(1, 96, 96, 3))
    a = tf.nn.relu(_conv(tf, image, 32, "a"))
    b = tf.nn.relu(_conv(tf, tf.nn.avg_pool(a, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 64, "b"))
    loss = 1e-3 * tf.reduce_sum(tf.image.total_variation(image))
    for layer in (a, b):
        flat = tf.reshape(layer, [-1, int(layer.shape[-1])])
        gram = tf.matmul(flat, flat, transpose_a=True) / float(int(flat.shape[0]))
        loss += tf.nn.l2_loss(gram - 0.1)
    step = tf.train.AdamOptimizer(1e-2).minimize(loss, var_list=[image])
    return [loss, step], {}


def mixture_of_experts(tf: Any) -> Work:
    """Rows are partitioned to four experts and stitched together, batch 256."""
    x = tf.placeholder(tf.float32, [256, 64])
    gate = _dense(tf, x, 4, "gate")
    expert = tf.cast(tf.argmax(gate, 1), tf.int32)
    parts = tf.dynamic_partition(x, expert, 4)
    places = tf.dynamic_partition(tf.range(256), expert, 4)
    outs = [_dense(tf, part, 64, f"e{i}", tf.nn.relu) for i, part in enumerate(parts)]
    y = tf.reshape(tf.dynamic_stitch(places, outs), [256, 64])
    loss = tf.reduce_mean(tf.square(y * tf.reduce_max(tf.nn.softmax(gate), 1, keep_dims=True)))
    return _adam(tf, loss), {x: _floats(256, 64)}


def gaussian_process(tf: Any) -> Work:
    """The marginal likelihood of 150 points, float64, and its gradient."""
    x = tf.constant(DRAW.rand(150, 3))
    y = tf.constant(DRAW.rand(150, 1))
    scale = tf.get_variable("s", initializer=np.float64(0.5))
    noise = tf.get_variable("n", initializer=np.float64(0.1))
    apart = tf.reduce_sum(tf.squared_difference(x[:, None], x[None]), -1)
    kernel = tf.exp(-apart / (2 * scale**2)) + (noise**2 + 1e-6) * tf.eye(150, dtype=tf.float64)
    factor = tf.cholesky(kernel)
    alpha = tf.matrix_triangular_solve(factor, y)
    loss = 0.5 * tf.reduce_sum(alpha**2) + tf.reduce_sum(tf.log(tf.matrix_diag_part(factor)))
    return _adam(tf, loss), {}


def spectrogram(tf: Any) -> Work:
    """Frames, a window, FFTs and a mel product of one second of sound, 4 at a time."""
    x = tf.placeholder(tf.float32, [4, 16_000])
    frames = tf.signal.frame(x, 400, 160) * tf.constant(np.hanning(400).astype(np.float32))
    power = tf.abs(tf.signal.rfft(frames, [512])) ** 2
    mel = tf.tensordot(power, tf.constant(_floats(257, 40)), 1)
    return [tf.log(mel + 1e-6)], {x: _floats(4, 16_000)}


def augmentation(tf: Any) -> Work:
    """Flips, crops, brightness, contrast, saturation and hue of 8 images by map_fn."""
    images = tf.placeholder(tf.float32, [8, 64, 64, 3])

    def change(image: Any) -> Any:
        image = tf.image.random_flip_left_right(image, seed=1)
        image = tf.random_crop(image, [56, 56, 3], seed=2)
        image = tf.image.random_brightness(image, 0.2, seed=3)
        image = tf.image.random_contrast(image, 0.8, 1.2, seed=4)
        image = tf.image.random_saturation(image, 0.8, 1.2, seed=5)
        image = tf.image.random_hue(image, 0.1, seed=6)
        return tf.image.per_image_standardization(image)

    return [tf.map_fn(change, images)], {images: _floats(8, 64, 64, 3)}


def detection(tf: Any) -> Work:
    """Decoded boxes, their overlaps, non-max suppression and crops."""
    image = tf.placeholder(tf.float32, [1, 64, 64, 32])
    corners = np.sort(DRAW.rand(600, 2, 2).astype(np.float32), 1).reshape(600, 4)
    boxes, scores = tf.constant(corners), tf.constant(_floats(600))
    kept = tf.image.non_max_suppression(boxes, scores, 50, 0.5)
    chosen = tf.gather(boxes, kept)
    crops = tf.image.crop_and_resize(image, chosen, tf.zeros_like(kept), [7, 7])
    return [crops, tf.gather(scores, kept)], {image: _floats(1, 64, 64, 32)}


def text_features(tf: Any) -> Work:
    """Lines are split, cleaned, hashed and looked up: 200 lines."""
    lines = tf.placeholder(tf.string, [200])
    words = tf.string_split(tf.regex_replace(tf.strings.lower(lines), "[^a-z ]", ""))
    ids = tf.string_to_hash_bucket_fast(words.values, 5000)
    table = tf.get_variable("t", [5000, 16])
    sparse = tf.SparseTensor(words.indices, ids, words.dense_shape)
    found = tf.nn.embedding_lookup_sparse(table, sparse, None, combiner="mean")
    texts = [b"The %d quick brown Foxes, jump over lazy dogs!" % i for i in range(200)]
    return [tf.reduce_sum(found, 1)], {lines: np.array(texts, object)}


def ordinary_equation(tf: Any) -> Work:
    """200 steps of Runge-Kutta in a while loop, 64 trajectories, with the gradient."""
    start, rate = tf.get_variable("x", initializer=_floats(64, 3)), tf.constant(0.01)

    def slope(x: Any) -> Any:
        a, b, c = tf.unstack(x, axis=1)
        return tf.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c], 1)

    def step(i: Any, x: Any) -> Any:
        k1 = slope(x)
        k2 = slope(x + rate / 2 * k1)
        return i + 1, x + rate * k2

    _, end = tf.while_loop(lambda i, _: i < 200, step, [0, start])
    loss = tf.reduce_sum(tf.square(end)) * 1e-6
    return [loss, *tf.gradients(loss, [start])], {}


def scan_filter(tf: Any) -> Work:
    """A Kalman filter by tf.scan over 100 observations."""
    seen = tf.placeholder(tf.float32, [100, 2])
    move = tf.constant(np.array([[1, 0.1], [0, 1]], np.float32))

    def update(state: Any, y: Any) -> Any:
        mean, cov = state
        mean = tf.matmul(move, mean)
        cov = tf.matmul(move, tf.matmul(cov, move, transpose_b=True)) + 0.01 * tf.eye(2)
        gain = tf.matmul(cov, tf.matrix_inverse(cov + 0.1 * tf.eye(2)))
        return mean + tf.matmul(gain, y[:, None] - mean), tf.matmul(tf.eye(2) - gain, cov)

    means, _ = tf.scan(update, seen, (tf.zeros([2, 1]), tf.eye(2)))
    return [means], {seen: _floats(100, 2)}


def char_rnn(tf: Any) -> Work:
    """Two LSTM layers of 128 over 32 x 40 characters, with dropout and clipping."""
    x = tf.placeholder(tf.int32, [32, 40])
    inputs = tf.nn.embedding_lookup(tf.get_variable("e", [80, 128]), x)
    module = rnn_cells(tf)
    cells = [
        module.DropoutWrapper(module.BasicLSTMCell(128, name=f"c{i}"), output_keep_prob=0.8, seed=i)
        for i in range(2)
    ]
    y, _ = rnn_of(tf).dynamic_rnn(module.MultiRNNCell(cells), inputs, dtype=tf.float32)
    logits = _dense(tf, tf.reshape(y, [-1, 128]), 80, "out")
    loss = _classes(tf, logits, 80)
    variables = tf.trainable_variables()
    clipped, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    step = tf.train.AdamOptimizer(2e-3).apply_gradients(zip(clipped, variables))
    return [loss, step], {x: _ids(80, 32, 40)}


def convolution_3d(tf: Any) -> Work:
    """Two 3-D convolutions and a pool, batch 2."""
    x = tf.placeholder(tf.float32, [2, 16, 24, 24, 1])
    y = x
    for index, filters in enumerate((8, 16)):
        kernel = tf.get_variable(f"k{index}", [3, 3, 3, int(y.shape[-1]), filters])
        y = tf.nn.relu(tf.nn.conv3d(y, kernel, [1, 1, 1, 1, 1], "SAME"))
        y = tf.nn.max_pool3d(y, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    logits = _dense(tf, tf.reshape(y, [2, -1]), 4, "out")
    return _adam(tf, _classes(tf, logits, 4)), {x: _floats(2, 16, 24, 24, 1)}


def half_precision(tf: Any) -> Work:
    """A dense net in float16 with a scaled loss, batch 128."""
    x = tf.placeholder(tf.float16, [128, 256])
    y = x
    for index in range(3):
        weights = tf.get_variable(f"w{index}", [256, 256], tf.float16)
        y = tf.nn.relu(tf.matmul(y, weights))
    loss = tf.reduce_mean(tf.cast(y, tf.float32) ** 2) * 128
    return [loss, tf.train.GradientDescentOptimizer(1e-4).minimize(loss)], {
        x: _floats(128, 256).astype(np.float16)
    }


def physics(tf: Any) -> Work:
    """Forces between 200 particles, float64, one step of Verlet."""
    place = tf.get_variable("p", initializer=DRAW.rand(200, 3))
    speed = tf.get_variable("v", initializer=DRAW.rand(200, 3))
    apart = place[:, None] - place[None]
    square = tf.reduce_sum(apart**2, -1) + tf.eye(200, dtype=tf.float64) * 1e3 + 1e-3
    force = -tf.reduce_sum(apart / tf.expand_dims(square * tf.sqrt(square), -1), 1)
    faster = speed + 1e-6 * force
    return [tf.assign(speed, faster), tf.assign(place, place + 1e-6 * faster)], {}


def logistic_regression(tf: Any) -> Work:
    """The first program of a tutorial: 100 rows of 784, 10 classes."""
    x, y = tf.placeholder(tf.float32, [100, 784]), tf.placeholder(tf.float32, [100, 10])
    guess = tf.nn.softmax(_dense(tf, x, 10, "a"))
    loss = -tf.reduce_mean(tf.reduce_sum(y * tf.log(guess + 1e-9), 1))
    hit = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(guess, 1), tf.argmax(y, 1)), tf.float32))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [loss, hit, step], {x: _floats(100, 784), y: np.eye(10, dtype="f")[_ids(10, 100)]}


WORKS: dict[str, Callable[[Any], Work]] = {
    work.__name__: work
    for work in (
        *(alexnet_lrn, residual_net, mobile_net, gan, variational_autoencoder, u_net, speech_ctc),
        *(word_vectors, recommender, graph_network, transformer, bidirectional_lstm, deep_q),
        *(policy_gradient, capsules, style_transfer, mixture_of_experts, gaussian_process),
        *(spectrogram, augmentation, detection, text_features, ordinary_equation, scan_filter),
        *(char_rnn, convolution_3d, half_precision, physics, logistic_regression),
    )
}


def _serve(package: str) -> None:
    """Read names of works from standard input, and print the times of a run of each."""
    if package == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    else:
        os.environ["GPUGRAPH_NATIVE"] = "wait"
        tf = importlib.import_module("gpugraph")
    known: dict[str, Any] = {}
    for line in sys.stdin:
        name, seconds = line.split()
        if name not in known:
            DRAW.seed(0)
            with tf.Graph().as_default():
                tf.set_random_seed(1)
                fetches, feeds = WORKS[name](tf)
                session = tf.Session()
                session.run(tf.global_variables_initializer())
            known[name] = session, fetches, feeds
            for _ in range(4):
                session.run(fetches, feeds)
        session, fetches, feeds = known[name]
        best = [1e9, 1e9]
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            began, before = time.perf_counter(), time.process_time()
            session.run(fetches, feeds)
            best[0] = min(best[0], time.perf_counter() - began)
            best[1] = min(best[1], time.process_time() - before)
        print(json.dumps(best), flush=True)


def _started(python: str, package: str) -> Any:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_USE_LEGACY_KERAS": "1"}
    command = [python, __file__, "--serve", package]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def main() -> None:
    """Measure all works in both packages alternately, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--works", nargs="*", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tensorflow", default="", help="a Python with TensorFlow 2")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve)
        return
    sides = [_started(sys.executable, "gpugraph")]
    if options.tensorflow:
        sides.append(_started(options.tensorflow, "tensorflow"))
    ratios = []
    print(f"{'work':26}{'wall ms':>9}{'cpu ms':>9}{'TF wall':>9}{'TF cpu':>9}{'wall':>7}{'cpu':>7}")
    for name in options.works:
        times = [[1e9, 1e9] for _ in sides]
        for _ in range(options.rounds):
            for side, best in zip(sides, times):
                side.stdin.write(f"{name} {options.seconds}\n")
                side.stdin.flush()
                answer = side.stdout.readline()
                if not answer:
                    raise SystemExit(f"{name}: a process has ended")
                best[:] = map(min, best, json.loads(answer))
        text = "".join(f"{1e3 * value:9.3f}" for best in times for value in best)
        if len(times) == 2:
            ratio = [theirs / ours for ours, theirs in zip(*times)]
            ratios.append(ratio)
            text += "".join(f"{value:7.2f}" for value in ratio)
        print(f"{name:26}{text}", flush=True)
    if ratios:
        for index, kind in enumerate(("wall", "processor")):
            mean = exp(sum(log(ratio[index]) for ratio in ratios) / len(ratios))
            slower = sum(ratio[index] < 0.9 for ratio in ratios)
            print(f"{kind} time: geometric mean {mean:.2f}; {slower} of {len(ratios)} below 0.9")
    for side in sides:
        side.stdin.close()
        side.wait()


if __name__ == "__main__":
    main()
