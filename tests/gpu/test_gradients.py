"""Gradients of layers on a GPU: the same as on the CPU, by inputs and by weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .machine import EMULATED, MOST_OPS, check, numbers, on_gpus

pytestmark = pytest.mark.gpu(or_emulated=True)

Given = Sequence[Any]
LAYERS: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = {
    "dense": (lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b), [(6, 5), (5, 4), (4,)]),
    "matrices, turned": (
        lambda a, b: tf.tanh(tf.matmul(a, b, transpose_a=True, transpose_b=True)),
        [(3, 5, 4), (3, 2, 5)],
    ),
    "convolution": (
        lambda x, w: tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME"),
        [(2, 7, 6, 3), (3, 3, 3, 4)],
    ),
    "convolution of every channel": (
        lambda x, w: tf.nn.depthwise_conv2d(x, w, strides=[1, 1, 1, 1], padding="VALID"),
        [(2, 6, 5, 3), (3, 2, 3, 2)],
    ),
    "transposed convolution": (
        lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 8, 6, 3], [1, 2, 2, 1]),
        [(2, 4, 3, 4), (3, 3, 3, 4)],
    ),
    "pooling": (
        lambda x: (
            tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
            + tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
        ),
        [(2, 7, 6, 3)],
    ),
    "batch normalization": (
        lambda x, g, b: tf.nn.fused_batch_norm(x, g, b, epsilon=1e-3)[0] ** 2.0,
        [(3, 4, 4, 5), (5,), (5,)],
    ),
    "layer normalization": (lambda x, g, b: normalized(x) * g + b, [(4, 9), (9,), (9,)]),
    "cross-entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0, 4], logits=x),
        [(3, 5)],
    ),
    "cross-entropy of shares": (
        lambda x, y: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(y), logits=x),
        [(3, 5), (3, 5)],
    ),
    "attention": (
        lambda q, k, v: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.5), v),
        [(2, 6, 4), (2, 6, 4), (2, 6, 4)],
    ),
    "embedding": (lambda w: tf.nn.embedding_lookup(w, [[1, 3], [3, 0]]) ** 2.0, [(5, 4)]),
    "reductions": (
        lambda x: tf.reduce_max(x, 1) + tf.reduce_logsumexp(x, 1) + tf.reduce_prod(x, 1),
        [(4, 5)],
    ),
    "moves": (
        lambda x: (
            tf.concat([tf.tile(x[1:], [1, 2]), tf.pad(x, [[0, 0], [2, 3]])], 0)[:, ::2] ** 2.0
        ),
        [(3, 5)],
    ),
    "cumulative": (lambda x: tf.cumsum(x, 1, exclusive=True) * tf.cumprod(x, 1), [(3, 6)]),
    "smooth activations": (
        lambda x: tf.nn.elu(x) + tf.nn.selu(x) * tf.nn.softplus(x) + tf.erf(x) * tf.sigmoid(x),
        [(4, 7)],
    ),
    "sums of segments": (
        lambda x: tf.unsorted_segment_sum(x, [0, 2, 0, 1], 4) * tf.segment_sum(x, [0, 0, 1, 3]),
        [(4, 3)],
    ),
    "recurrent": (lambda x: recurrent(x), [(2, 4, 3)]),
}


def normalized(x: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-5)


def recurrent(x: Any) -> Any:
    """Return an LSTM over time, with weights that are the same in each session."""
    start = tf.constant_initializer(numbers(8, 20, seed=9))
    cell = tf.nn.rnn_cell.LSTMCell(5, initializer=start)
    return tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[0]


FEW = ("dense", "convolution", "batch normalization", "attention", "recurrent")


@pytest.mark.parametrize("name", FEW if EMULATED and MOST_OPS else LAYERS)
def test_gradients_are_the_cpus(name: str) -> None:
    function, shapes = LAYERS[name]
    with tf.Graph().as_default():
        xs = [tf.placeholder(tf.float32, shape) for shape in shapes]
        feeds = {x: numbers(*shape, seed=index) for index, (x, shape) in enumerate(zip(xs, shapes))}
        y = function(*xs)
        weights = tf.constant(numbers(*y.shape.as_list(), seed=77))
        grads = tf.gradients(tf.reduce_sum(y * weights), xs)
        fetches = [y, *map(tf.convert_to_tensor, grads)]
        result = []
        for session in (tf.Session(), on_gpus()):
            with session:
                session.run(tf.global_variables_initializer())
                result.append([np.asarray(array) for array in session.run(fetches, feeds)])
                for one, other in zip(result[-1], session.run(fetches, feeds)):
                    check(other, one)  # captured
    for on_cpu, on_gpu in zip(*result):
        check(on_gpu, on_cpu, 4)
