"""The networks of memory.py, written once for TensorFlow 1's API and for jax.numpy.

A network takes the operations of a library (`GraphOps`, `memory_jax.JaxOps`), which also make its
weights: `ops.weight(shape)`. It returns the loss of a batch. Each is trained by gradient descent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RATE = 0.01
FLOAT, INT = "float32", "int32"


class Network(NamedTuple):
    """`loss(ops, *batch)` of fed arrays of these shapes and dtypes."""

    loss: Callable[..., Any]
    batch: tuple[tuple[tuple[int, ...], str], ...]

    def arrays(self) -> list[Any]:
        """Return a batch: normal numbers, and zeros for classes."""
        random = np.random.RandomState(0)
        return [
            random.normal(size=shape).astype(dtype) if dtype == FLOAT else np.zeros(shape, dtype)
            for shape, dtype in self.batch
        ]


class GraphOps:
    """The operations of TensorFlow 1's API: gpugraph, or TensorFlow itself."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf
        self.matmul, self.relu, self.tanh = tf.matmul, tf.nn.relu, tf.tanh
        self.sigmoid, self.softmax, self.concat = tf.sigmoid, tf.nn.softmax, tf.concat
        self.reshape, self.transpose, self.split = tf.reshape, tf.transpose, tf.split

    def weight(self, shape: list[int]) -> Any:
        """Return a variable."""
        deviation = (2.0 / np.prod(shape[:-1] or [1])) ** 0.5
        return self.tf.Variable(self.tf.random_normal(shape, stddev=deviation, seed=1))

    def conv(self, x: Any, depth: int, size: int = 3, stride: int = 1) -> Any:
        """Return a convolution with new weights."""
        kernel = self.weight([size, size, int(x.shape[3]), depth])
        return self.tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")

    def pool(self, x: Any) -> Any:
        """Return the largest of each square of 2 x 2."""
        return self.tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def enlarge(self, x: Any) -> Any:
        """Return each element as a square of 2 x 2."""
        height, width = int(x.shape[1]), int(x.shape[2])
        return self.tf.image.resize_nearest_neighbor(x, [2 * height, 2 * width])

    def normalized(self, x: Any, axes: list[int]) -> Any:
        """Mean 0 and variance 1 over axes, times a weight, plus a weight."""
        mean, variance = self.tf.nn.moments(x, axes, keep_dims=True)
        width = int(x.shape[-1])
        gain, offset = self.weight([width]), self.weight([width])
        return (x - mean) * self.tf.rsqrt(variance + 1e-5) * gain + offset

    def mean(self, x: Any, axes: list[int] | None = None) -> Any:
        """Return the mean over axes."""
        return self.tf.reduce_mean(x, axes)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        """Return the mean loss of classes."""
        losses = self.tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return self.tf.reduce_mean(losses)

    def loop(self, body: Callable[[Any, Any], Any], rows: Any, start: Any) -> Any:
        """`state = body(state, row)` for all rows, in a loop of the graph."""
        tf = self.tf
        count = int(rows.shape[0])

        def go_on(index: Any, state: Any) -> Any:
            return index + 1, body(state, rows[index])

        return tf.while_loop(lambda index, _: index < count, go_on, [0, start])[1]

    def zeros(self, shape: list[int]) -> Any:
        """Zeros."""
        return self.tf.zeros(shape)


def training(tf: Any, network: Network) -> tuple[list[Any], list[Any]]:
    """Return the fetches of a step, loss first, and the placeholders of a batch."""
    batch = [tf.placeholder(dtype, shape) for shape, dtype in network.batch]
    loss = network.loss(GraphOps(tf), *batch)
    return [loss, tf.train.GradientDescentOptimizer(RATE).minimize(loss)], batch


def dense(ops: Any, x: Any, width: int) -> Any:
    return ops.matmul(x, ops.weight([int(x.shape[-1]), width])) + ops.weight([width])


def digits(ops: Any, x: Any, labels: Any) -> Any:
    """Return the net of examples/digits.py."""
    return ops.cross_entropy(dense(ops, ops.relu(dense(ops, x, 128)), 10), labels)


def digits_convnet(ops: Any, x: Any, labels: Any) -> Any:
    for depth in (16, 32):
        x = ops.pool(ops.relu(ops.conv(x, depth) + ops.weight([depth])))
    return ops.cross_entropy(dense(ops, ops.reshape(x, [int(x.shape[0]), -1]), 10), labels)


def bottleneck(ops: Any, x: Any, depth: int, stride: int) -> Any:
    def convolved(y: Any, *shape: int) -> Any:
        return ops.normalized(ops.conv(y, *shape), [0, 1, 2])

    y = ops.relu(convolved(x, depth, 1))
    y = ops.relu(convolved(y, depth, 3, stride))
    y = convolved(y, 4 * depth, 1)
    is_same = stride == 1 and int(x.shape[3]) == 4 * depth
    return ops.relu(y + (x if is_same else convolved(x, 4 * depth, 1, stride)))


def resnet(ops: Any, x: Any, labels: Any) -> Any:
    """ResNet50 with a quarter of its channels."""
    x = ops.pool(ops.relu(ops.normalized(ops.conv(x, 16, 7, 2), [0, 1, 2])))
    for depth, count in ((16, 3), (32, 4), (64, 6), (128, 3)):
        for index in range(count):
            x = bottleneck(ops, x, depth, 2 if index == 0 and depth > 16 else 1)
    return ops.cross_entropy(dense(ops, ops.mean(x, [1, 2]), 10), labels)


def attention(ops: Any, x: Any, batch: int, heads: int) -> Any:
    tokens, width = int(x.shape[0]) // batch, int(x.shape[1])
    qkv = ops.reshape(dense(ops, x, 3 * width), [batch, tokens, 3, heads, width // heads])
    qkv = ops.transpose(qkv, [2, 0, 3, 1, 4])
    q, k, v = (qkv[index] for index in range(3))
    scores = ops.matmul(q, ops.transpose(k, [0, 1, 3, 2])) * (width // heads) ** -0.5
    seen = ops.transpose(ops.matmul(ops.softmax(scores), v), [0, 2, 1, 3])
    return dense(ops, ops.reshape(seen, [batch * tokens, width]), width)


def transformer(ops: Any, x: Any, target: Any) -> Any:
    """Six blocks."""
    batch, tokens, width = (int(size) for size in x.shape)
    y = ops.reshape(x, [batch * tokens, width])
    for _ in range(6):
        y = y + attention(ops, ops.normalized(y, [1]), batch, 4)
        up = dense(ops, ops.normalized(y, [1]), 4 * width)
        y = y + dense(ops, up * ops.sigmoid(1.702 * up), width)
    difference = y - ops.reshape(target, [batch * tokens, width])
    return ops.mean(difference * difference)


def cell(ops: Any, width: int, inputs: int) -> Callable[[Any, Any], Any]:
    """Return a gated unit (K. Cho et al., 2014, without the reset gate)."""
    kernel, bias = ops.weight([inputs + width, 2 * width]), ops.weight([2 * width])

    def step(state: Any, x: Any) -> Any:
        both = ops.matmul(ops.concat([x, state], 1), kernel) + bias
        gate, new = ops.sigmoid(both[:, :width]), ops.tanh(both[:, width:])
        return gate * state + (1.0 - gate) * new

    return step


def unrolled_rnn(ops: Any, rows: Any, labels: Any) -> Any:
    count, batch, inputs = (int(size) for size in rows.shape)
    step, state = cell(ops, 128, inputs), ops.zeros([batch, 128])
    for index in range(count):
        state = step(state, rows[index])
    return ops.cross_entropy(dense(ops, state, 10), labels)


def while_rnn(ops: Any, rows: Any, labels: Any) -> Any:
    _, batch, inputs = (int(size) for size in rows.shape)
    state = ops.loop(cell(ops, 128, inputs), rows, ops.zeros([batch, 128]))
    return ops.cross_entropy(dense(ops, state, 10), labels)


def unet(ops: Any, x: Any, target: Any) -> Any:
    """O. Ronneberger et al., 2015: four levels, each half as large and twice as deep."""

    def twice(y: Any, depth: int) -> Any:
        for _ in range(2):
            y = ops.relu(ops.conv(y, depth) + ops.weight([depth]))
        return y

    levels = []
    for depth in (16, 32, 64):
        x = twice(x, depth)
        levels.append(x)
        x = ops.pool(x)
    x = twice(x, 128)
    for depth in (64, 32, 16):
        x = ops.concat([levels.pop(), ops.conv(ops.enlarge(x), depth, 2)], 3)
        x = twice(x, depth)
    difference = ops.conv(x, 1, 1) - target
    return ops.mean(difference * difference)


NETWORKS = {
    "digits": Network(digits, (((64, 64), FLOAT), ((64,), INT))),
    "digits, convolutions": Network(digits_convnet, (((64, 8, 8, 1), FLOAT), ((64,), INT))),
    "ResNet50, 1/4 wide": Network(resnet, (((8, 96, 96, 3), FLOAT), ((8,), INT))),
    "transformer": Network(transformer, (((4, 128, 128), FLOAT), ((4, 128, 128), FLOAT))),
    "RNN, unrolled": Network(unrolled_rnn, (((40, 32, 64), FLOAT), ((32,), INT))),
    "RNN, while_loop": Network(while_rnn, (((40, 32, 64), FLOAT), ((32,), INT))),
    "U-Net": Network(unet, (((4, 64, 64, 1), FLOAT), ((4, 64, 64, 1), FLOAT))),
}
