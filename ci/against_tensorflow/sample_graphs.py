"""Graphs that `graph_defs.py` compares: of single ops, of control flow, of nets that train.

Each function builds into the default graph of its argument, the library. The operation `y` is
run; placeholders are called `x`, and FEED has their values by dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FEED = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
GRAPHS: dict[str, Callable[[Any], None]] = {}


def graph(build: Callable[[Any], None]) -> Callable[[Any], None]:
    """Add a graph to the compared ones."""
    GRAPHS[build.__name__] = build
    return build


def fed(tf: Any) -> Any:
    return tf.placeholder(tf.float32, [None, 4], name="x")


def run_all(tf: Any, tensors: list[Any]) -> None:
    with tf.control_dependencies(tensors):
        tf.no_op(name="y")


def summed(tf: Any, *tensors: Any) -> None:
    parts = [tf.reduce_sum(tf.cast(tensor, tf.float32)) for tensor in tensors]
    tf.identity(tf.add_n(parts), name="y")


@graph
def elementwise(tf: Any) -> None:
    x = fed(tf)
    summed(tf, tf.exp(x) + 1, tf.tanh(x) * 2.0 - x / 3.0, tf.maximum(x, 0), tf.pow(x, 2),
           x > 0.5, tf.sqrt(tf.abs(x)), tf.nn.relu(x), tf.nn.leaky_relu(x, 0.3), -x)  # fmt: skip


@graph
def reductions(tf: Any) -> None:
    x = fed(tf)
    summed(tf, tf.reduce_mean(x, 0), tf.reduce_max(x, [1], keepdims=True), tf.argmax(x, 1),
           tf.cumsum(x, 1, reverse=True), tf.reduce_all(x > 0), tf.norm(x), tf.reduce_logsumexp(x),
           tf.segment_sum(x, [0, 0, 1]))  # fmt: skip


@graph
def arrays(tf: Any) -> None:
    x = fed(tf)
    summed(tf, tf.reshape(x, [-1]), tf.transpose(x), x[1:, ::2], x[..., tf.newaxis], x[0],
           tf.concat([x, x], 1), tf.stack([x, x], 1), *tf.split(x, 2, 1), tf.tile(x, [2, 1]),
           tf.pad(x, [[1, 1], [0, 0]]), tf.squeeze(x[:1], 0), tf.expand_dims(x, -1),
           tf.gather(x, [0, 2]), tf.gather_nd(x, [[0, 1]]), tf.one_hot([1, 2], 4),
           tf.where(x > 0, x, -x), tf.reverse(x, [1]), tf.zeros_like(x), tf.ones([2, 3]),
           tf.fill([2, 2], 3.0), tf.range(5), tf.shape(x), tf.unstack(x, axis=1)[0],
           tf.boolean_mask(x, [True, False, True]), tf.scatter_nd([[1]], [2.0], [4]))  # fmt: skip


@graph
def constants(tf: Any) -> None:
    values = [1, 2.5, [1, 2], [[1.0], [2.0]], np.arange(5), np.float64(3), [True, False]]
    summed(tf, *[tf.constant(value) for value in values], tf.constant(1.5, shape=[20]),
           tf.constant([1, 2], tf.int64), tf.constant([], tf.float32), tf.zeros([3, 3]),
           tf.constant(7, tf.uint8), tf.constant([7, 8], tf.int16))  # fmt: skip


@graph
def strings(tf: Any) -> None:
    text = tf.constant([b"a b", b"", b"\xff\0"], name="text")
    joined = tf.string_join([text, "x"], "-")
    summed(tf, tf.strings.length(joined), tf.string_to_hash_bucket_fast(text, 7),
           tf.equal(tf.as_string([1.5]), "1.500000"), tf.string_to_number(["2.5"]))  # fmt: skip


@graph
def matrices(tf: Any) -> None:
    x = fed(tf)
    square = tf.matmul(x, x, transpose_a=True) + 3 * np.eye(4, dtype=np.float32)
    summed(tf, square, tf.matrix_inverse(square), tf.cholesky(square), tf.matrix_band_part(x, 0, 1),
           tf.tensordot(x, x, [[0], [0]]), tf.einsum("ij,kj->ik", x, x), tf.diag([1.0, 2.0]),
           tf.matmul(x[tf.newaxis], x[tf.newaxis], transpose_b=True))  # fmt: skip


@graph
def random_numbers(tf: Any) -> None:
    tf.set_random_seed(3)
    run_all(tf, [tf.random_uniform([2]), tf.random_normal([2], seed=1), tf.random_shuffle([1, 2]),
                 tf.truncated_normal([2], 1.0, 2.0), tf.multinomial([[0.5, 0.5]], 3)])  # fmt: skip


@graph
def sparse_tensors(tf: Any) -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 3]], [1.0, 2.0], [3, 4])
    summed(tf, tf.sparse.to_dense(sparse), tf.sparse.reduce_sum(sparse),
           tf.sparse_tensor_dense_matmul(sparse, tf.ones([4, 2])))  # fmt: skip


@graph
def branches(tf: Any) -> None:
    x = fed(tf)
    first = tf.cond(tf.reduce_sum(x) > 1, lambda: x * 2, lambda: tf.cond(
        x[0, 0] > 0, lambda: x + 1, lambda: x))  # fmt: skip
    chosen = tf.case([(x[0, 1] > 0, lambda: tf.constant(1.0))], lambda: tf.constant(2.0))
    summed(tf, first, chosen, *tf.gradients(first, x))


@graph
def loops(tf: Any) -> None:
    x = fed(tf)

    def nested(i: Any, v: Any) -> Any:
        return i + 1, tf.while_loop(lambda w: w[0, 0] < 3, lambda w: w + 1, [v])

    result = tf.while_loop(lambda i, v: i < 3, nested, (0, x), maximum_iterations=5)[1]
    summed(tf, result, *tf.gradients(result * x, x))


@graph
def nested_flow(tf: Any) -> None:
    x = fed(tf)
    w = tf.get_variable("w", initializer=np.float32(1.5))

    def body(i: Any, v: Any) -> Any:
        v = tf.cond(tf.equal(i, 1), lambda: v * w, lambda: v + w)
        return i + 1, tf.while_loop(lambda u: tf.reduce_sum(u) < 60, lambda u: u * w, [v])

    looped = tf.while_loop(lambda i, v: i < 3, body, (0, x))[1]
    summed(tf, tf.map_fn(lambda row: row * w, looped))


@graph
def gradients_after_a_loop(tf: Any) -> None:
    """Build gradients; TensorFlow's loop gets a counter that depends on the loop's results."""
    x = fed(tf)
    total = tf.get_variable("total", initializer=0.0)
    looped = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), (0, x))[1]
    with tf.control_dependencies([tf.assign(total, tf.reduce_sum(looped))]):
        (gradient,) = tf.gradients(looped, x)
        summed(tf, gradient, total.read_value())


@graph
def map_and_scan(tf: Any) -> None:
    x = fed(tf)
    mapped = tf.map_fn(lambda row: row * tf.reduce_sum(row), x)
    summed(tf, mapped, tf.scan(lambda a, b: a + b, x), tf.foldl(lambda a, b: a * b, x),
           *tf.gradients(mapped, x))  # fmt: skip


@graph
def tensor_arrays(tf: Any) -> None:
    array = tf.TensorArray(tf.float32, 3, name="array", clear_after_read=False).unstack(fed(tf))
    summed(tf, array.read(1), array.stack(), array.gather([2, 0]))


@graph
def devices_and_controls(tf: Any) -> None:
    x = fed(tf)
    with tf.device("/cpu:0"), tf.name_scope("scope"), tf.control_dependencies([tf.no_op("z"), x]):
        a = tf.identity(x, name="a")
        with tf.colocate_with(a.op):
            b = tf.negative(x, name="b")
    summed(tf, a, b, tf.check_numerics(x, "bad"), tf.stop_gradient(x))


def dense_net(tf: Any, **options: Any) -> Any:
    x = fed(tf)
    for width, name in ((5, "one"), (1, "two")):
        with tf.variable_scope(name):
            shape = [int(x.shape[1]), width]
            values = np.linspace(-0.5, 0.5, shape[0] * width, dtype=np.float32).reshape(shape)
            w = tf.get_variable("w", initializer=values, **options)
            b = tf.get_variable("b", [width], initializer=tf.zeros_initializer(), **options)
            x = tf.nn.sigmoid(tf.nn.bias_add(tf.matmul(x, w), b))
    return tf.reduce_mean(tf.square(x - 0.3))


def trained(tf: Any, loss: Any, optimizer: Any) -> None:
    optimizer.minimize(loss, tf.train.get_or_create_global_step(), name="train")
    tf.identity(loss, name="y")


@graph
def net_with_momentum(tf: Any) -> None:
    trained(tf, dense_net(tf), tf.train.MomentumOptimizer(0.1, 0.9))


@graph
def net_with_adam(tf: Any) -> None:
    trained(tf, dense_net(tf), tf.train.AdamOptimizer(0.01))


@graph
def net_of_resource_variables(tf: Any) -> None:
    trained(tf, dense_net(tf, use_resource=True), tf.train.GradientDescentOptimizer(0.1))


@graph
def convolutions(tf: Any) -> None:
    image = tf.reshape(fed(tf), [3, 2, 2, 1])
    filters = tf.get_variable("f", initializer=np.ones([2, 2, 1, 3], np.float32) / 4)
    image = tf.nn.conv2d(image, filters, [1, 1, 1, 1], "SAME")
    normal, _, _ = tf.nn.fused_batch_norm(image, tf.ones([3]), tf.zeros([3]))
    pooled = tf.nn.avg_pool(tf.nn.max_pool(normal, 2, 1, "SAME"), 2, 2, "VALID")
    logits = tf.reshape(pooled, [3, 3])
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2], logits=logits)
    )
    trained(tf, loss, tf.train.RMSPropOptimizer(0.01))


@graph
def embeddings(tf: Any) -> None:
    table = tf.get_variable("t", initializer=FEED)
    rows = tf.nn.embedding_lookup(table, [0, 2, 2])
    loss = tf.reduce_sum(tf.nn.dropout(rows, rate=0.0) * 2.0) + tf.nn.l2_loss(table)
    trained(tf, loss, tf.train.AdagradOptimizer(0.1))


@graph
def assignments(tf: Any) -> None:
    v = tf.Variable(FEED, name="v", validate_shape=True)
    n = tf.Variable(3, name="n", trainable=False, dtype=tf.int32)
    updated = tf.scatter_add(v, [1], [[1.0, 1.0, 1.0, 1.0]])
    with tf.control_dependencies([n.assign_add(2), updated]):
        summed(tf, v.read_value(), n.read_value())


@graph
def clipped_gradients(tf: Any) -> None:
    loss = dense_net(tf)
    optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.1, 3, 10, 0.9))
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 0.5)
    optimizer.apply_gradients(zip(gradients, variables), name="train")
    tf.identity(loss, name="y")
