"""Rows of cpu.py that are programs as people wrote them for TensorFlow 1, for both v1 APIs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cpu_graph import cross_entropy, runner, trained
from cpu_numbers import Embedding, GraphAttention, Normal, TextCnn, Vgg
from peers import STARTED, Once, Work

Library = Callable[[], Any]
Step = Callable[[], Any]


# -- text-CNN: kernels as wide as the embedding


def text_cnn(library: Library, work: TextCnn) -> Step:
    """Y. Kim, "Convolutional neural networks for sentence classification", 2014: an Adam step."""
    tf = library()
    words = tf.placeholder(tf.int32, [work.batch, work.words])
    labels = tf.placeholder(tf.int32, [work.batch])
    x = tf.expand_dims(tf.nn.embedding_lookup(tf.Variable(work.embedding()), words), -1)
    pooled = [pooled_windows(tf, x, *layer) for layer in work.filters()]
    kernel, bias = work.dense()
    flat = tf.reshape(tf.concat(pooled, 3), [-1, kernel.shape[0]])
    logits = tf.matmul(flat, tf.Variable(kernel)) + tf.Variable(bias)
    feeds = {words: work.x(), labels: work.labels()}
    return trained(tf, cross_entropy(tf, logits, labels), work, feeds)


def pooled_windows(tf: Any, x: Any, kernel: Any, bias: Any) -> Any:
    """Return the largest response of each filter to the windows of a text."""
    ones = [1, 1, 1, 1]
    y = tf.nn.conv2d(x, tf.Variable(kernel), strides=ones, padding="VALID")
    y = tf.nn.relu(tf.nn.bias_add(y, tf.Variable(bias)))
    height = int(y.shape[1])
    return tf.nn.max_pool(y, ksize=[1, height, 1, 1], strides=ones, padding="VALID")


# -- graph attention


def graph_attention(library: Library, work: GraphAttention) -> Step:
    """P. Velickovic et al., "Graph attention networks", 2018: a head between all nodes, with pairs
    without an edge masked out, and its gradient. One seed gives all libraries the same dropout."""
    tf = library()
    nodes = tf.Variable(work.nodes()[None])
    mask = tf.Variable(work.mask()[None], trainable=False)
    first, second = (
        tf.nn.conv1d(nodes, tf.Variable(kernel), 1, "VALID") + tf.Variable([0.0])
        for kernel in work.kernels()
    )
    scores = first + tf.transpose(second, [0, 2, 1])
    shares = tf.nn.softmax(tf.nn.leaky_relu(scores) + mask)
    shares = tf.nn.dropout(shares, rate=work.rate, seed=1)
    values = tf.nn.dropout(nodes, rate=work.rate, seed=2)
    y = tf.nn.elu(tf.matmul(shares, values) + tf.Variable(work.bias()))
    loss = tf.reduce_mean(tf.square(y))
    return runner(tf, [loss, *tf.gradients(loss, tf.trainable_variables())], {})


# -- rows of a table, changed where they were looked up


def embedding(library: Library, work: Embedding) -> Step:
    """J. Duchi et al., "Adaptive subgradient methods", 2011, on the rows of a table."""
    tf = library()
    table, kernel = work.weights()
    words = tf.placeholder(tf.int64, [work.batch, work.words])
    target = tf.placeholder(tf.float32, [work.batch, 1])
    rows = tf.nn.embedding_lookup(tf.Variable(table), words)
    y = tf.matmul(tf.reduce_mean(rows, 1), tf.Variable(kernel))
    loss = tf.reduce_mean(tf.square(y - target))
    return trained(tf, loss, work, {words: work.x(), target: work.target()})


# -- random numbers


def normal(library: Library, work: Normal) -> Work:
    """Into a variable: nothing of that size is fed or fetched."""
    tf = library()
    y = tf.Variable(tf.zeros([work.size]))
    assign = tf.assign(y, tf.random_normal([work.size], seed=1)).op
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return Work(lambda: session.run(assign), lambda: session.run(y))


# -- VGG19: a program from its start to its end


def vgg(library: Library, work: Vgg) -> Once:
    """K. Simonyan and A. Zisserman, "Very deep convolutional networks", 2015: three forward and
    three training steps of images, since the start of the process."""
    tf = library()
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [work.batch, work.size, work.size, 3])
    labels = tf.placeholder(tf.int32, [work.batch])
    logits = vgg_logits(tf, images, work)
    loss = cross_entropy(tf, logits, labels)
    train = tf.train.GradientDescentOptimizer(work.rate).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    feeds = {images: work.x(), labels: work.labels()}
    results = [session.run(tf.nn.softmax(logits), feeds) for _ in range(3)]
    results += [session.run([loss, train], feeds)[0] for _ in range(3)]
    return Once(time.perf_counter() - STARTED, results)


def vgg_logits(tf: Any, x: Any, work: Vgg) -> Any:
    ones, twos = [1, 1, 1, 1], [1, 2, 2, 1]
    for depth, count in work.blocks:
        for _ in range(count):
            kernel = weights(tf, [3, 3, int(x.shape[3]), depth])
            y = tf.nn.conv2d(x, kernel, strides=ones, padding="SAME")
            x = tf.nn.relu(tf.nn.bias_add(y, tf.Variable(tf.zeros([depth]))))
        x = tf.nn.max_pool(x, ksize=twos, strides=twos, padding="SAME")
    x = tf.reshape(x, [work.batch, -1])
    for index, width in enumerate(work.widths):
        kernel = weights(tf, [int(x.shape[1]), width])
        x = tf.matmul(x, kernel) + tf.Variable(tf.zeros([width]))
        x = tf.nn.relu(x) if index < len(work.widths) - 1 else x
    return x


def weights(tf: Any, shape: list[int]) -> Any:
    """As K. He et al., 2015, so that numbers keep their magnitude; a seed for each layer."""
    inputs = shape[0] if len(shape) == 2 else shape[0] * shape[1] * shape[2]
    seed = len(tf.trainable_variables())
    return tf.Variable(tf.truncated_normal(shape, stddev=(2 / inputs) ** 0.5, seed=seed))
