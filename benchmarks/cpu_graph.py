"""The rows of cpu.py as TensorFlow 1 programs, for gpugraph and for TensorFlow's v1 API."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from cpu_numbers import EPSILON, Chain, Convnet, Expression, Mixed, Mlp, Transformer
from peers import Once, Work

Library = Callable[[], Any]
Step = Callable[[], Any]


def runner(tf: Any, fetches: Any, feeds: dict[Any, Any]) -> Step:
    """A step is `Session.run`, fed with NumPy arrays."""
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(fetches, feed_dict=feeds)


def trained(tf: Any, loss: Any, work: Any, feeds: dict[Any, Any]) -> Step:
    optimizer = {
        "sgd": lambda: tf.train.GradientDescentOptimizer(work.rate),
        "momentum": lambda: tf.train.MomentumOptimizer(work.rate, 0.9),
        "adam": lambda: tf.train.AdamOptimizer(work.rate),
        "adagrad": lambda: tf.train.AdagradOptimizer(work.rate),
    }[work.optimizer]()
    return runner(tf, [optimizer.minimize(loss), loss], feeds)


def cross_entropy(tf: Any, logits: Any, labels: Any) -> Any:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)


def one_op(library: Library) -> Step:
    tf = library()
    x = tf.placeholder(tf.float32, [])
    return runner(tf, x + 1.0, {x: 1.5})


def chain(library: Library, work: Chain) -> Step:
    tf = library()
    x = tf.placeholder(tf.float32, [])
    return runner(tf, work.of(x), {x: 1.5})


def mlp(library: Library, work: Mlp) -> Step:
    tf = library()
    x = tf.placeholder(tf.float32, [work.batch, work.widths[0]])
    labels = tf.placeholder(tf.int32, [work.batch])
    y, layers = x, work.weights()
    for index, (kernel, bias) in enumerate(layers):
        y = tf.matmul(y, tf.Variable(kernel)) + tf.Variable(bias)
        y = tf.nn.relu(y) if index < len(layers) - 1 else y
    return trained(tf, cross_entropy(tf, y, labels), work, {x: work.x(), labels: work.labels()})


def expression(library: Library, work: Expression) -> Work:
    """From a variable into a variable: nothing of that size is fed or fetched."""
    tf = library()
    initial = tf.placeholder(tf.float32, [work.size])
    x, y = tf.Variable(initial), tf.Variable(tf.zeros([work.size]))
    value = tf.tanh(x * 1.5 + 0.3) * tf.sigmoid(x * 0.7) + tf.exp(-x * x)
    assign = tf.assign(y, value).op
    session = tf.Session()
    session.run(tf.global_variables_initializer(), {initial: work.x()})
    return Work(lambda: session.run(assign), lambda: session.run(y))


def features(tf: Any, x: Any, work: Convnet) -> Any:
    for kernel, bias in work.filters():
        y = tf.nn.conv2d(x, tf.Variable(kernel), strides=[1, 1, 1, 1], padding="SAME")
        y = tf.nn.relu(tf.nn.bias_add(y, tf.Variable(bias)))
        x = tf.nn.max_pool(y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    return x


def convnet(library: Library, work: Convnet, training: bool) -> Step:
    tf = library()
    x = tf.placeholder(tf.float32, [work.batch, work.size, work.size, 1])
    y = features(tf, x, work)
    if not training:
        return runner(tf, y, {x: work.x()})
    labels = tf.placeholder(tf.int32, [work.batch])
    kernel, bias = work.dense()
    flat = tf.reshape(y, [-1, work.flat()])
    logits = tf.matmul(flat, tf.Variable(kernel)) + tf.Variable(bias)
    loss = cross_entropy(tf, logits, labels)
    return trained(tf, loss, work, {x: work.x(), labels: work.labels()})


def normalized(tf: Any, x: Any, gain: Any, offset: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + EPSILON) * gain + offset


def attention(tf: Any, x: Any, weights: dict[str, Any], work: Transformer) -> Any:
    """Attention between the rows, which are batch times tokens."""
    qkv = tf.matmul(x, weights["qkv_kernel"]) + weights["qkv_bias"]
    qkv = tf.reshape(qkv, [work.batch, work.tokens, 3, work.heads, work.depth])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * work.depth**-0.5)
    seen = tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3])
    seen = tf.reshape(seen, [-1, work.width])
    return tf.matmul(seen, weights["out_kernel"]) + weights["out_bias"]


def block(tf: Any, x: Any, weights: dict[str, Any], work: Transformer) -> Any:
    first = normalized(tf, x, weights["first_gain"], weights["first_offset"])
    x = x + attention(tf, first, weights, work)
    second = normalized(tf, x, weights["second_gain"], weights["second_offset"])
    up = tf.matmul(second, weights["up_kernel"]) + weights["up_bias"]
    up = 0.5 * up * (1.0 + tf.erf(up * 0.5**0.5))
    return x + tf.matmul(up, weights["down_kernel"]) + weights["down_bias"]


def transformer(library: Library, work: Transformer, training: bool) -> Step:
    tf = library()
    shape = [work.batch, work.tokens, work.width]
    x = tf.placeholder(tf.float32, shape)
    y = tf.reshape(x, [-1, work.width])
    for arrays in work.weights():
        weights = {name: tf.Variable(array) for name, array in arrays.items()}
        y = block(tf, y, weights, work)
    y = tf.reshape(y, shape)
    if not training:
        return runner(tf, y, {x: work.x()})
    target = tf.placeholder(tf.float32, shape)
    loss = tf.reduce_mean(tf.square(y - target))
    return trained(tf, loss, work, {x: work.x(), target: work.target()})


# -- graphs of many small ops


def mixed_ops(tf: Any) -> Any:
    return SimpleNamespace(
        matmul=tf.matmul,
        add=tf.add,
        mul=tf.multiply,
        sub=tf.subtract,
        maximum=tf.maximum,
        tanh=tf.tanh,
        sigmoid=tf.sigmoid,
        mean=lambda x: tf.reduce_mean(x, axis=-1, keepdims=True),
    )


def built(tf: Any, work: Mixed) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [work.size, work.size])
    return x, work.of(x, mixed_ops(tf))


def first_run(library: Library, work: Mixed, whole: bool) -> Once:
    """The first `Session.run` of a graph; also its construction, if `whole`."""
    tf = library()
    with tf.Graph().as_default(), tf.Session() as session:  # loads that any first use causes
        session.run(built(tf, Mixed(10))[1], {"Placeholder:0": Mixed(10).x()})
    start = time.perf_counter()
    x, y = built(tf, work)
    session, value = tf.Session(), work.x()
    start = start if whole else time.perf_counter()
    result = session.run(y, {x: value})
    return Once(time.perf_counter() - start, result)


def building(library: Library, work: Mixed) -> Work:
    tf = library()

    def step() -> None:
        with tf.Graph().as_default():
            built(tf, work)

    return Work(step, per=work.length)
