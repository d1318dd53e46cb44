"""Simplification as a whole: random graphs give the same bits with it and without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import gpugraph as tf
from gpugraph.config import RewriterConfig

OFF = RewriterConfig.OFF
SHAPES = [(), (3,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 1, 3)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, np.inf, -np.inf, np.nan]
DEVICES = [None, "/cpu:0", "/cpu:1"]

UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": tf.negative,
    "tanh": tf.tanh,
    "identity": tf.identity,
    "turned": tf.transpose,
    "flat": lambda x: tf.reshape(x, [-1]),
    "expanded": lambda x: tf.expand_dims(x, 0),
    "squeezed": tf.squeeze,
    "wide": lambda x: tf.cast(tf.cast(x, tf.float64), tf.float32),
    "narrow": lambda x: tf.cast(tf.cast(x, tf.float16), tf.float32),
    "same": lambda x: tf.reshape(x, tf.shape(x)),
    "times 1": lambda x: x * 1.0,
    "plus 0": lambda x: x + 0.0,
    "minus 0": lambda x: x - 0.0,
    "plus -0": lambda x: -0.0 + x,
    "over 1": lambda x: x / 1.0,
    "total": lambda x: tf.reduce_sum(x, keepdims=True),
    "no axes": lambda x: tf.reduce_sum(x, axis=[]),
    "swapped": lambda x: tf.matrix_transpose(x) if x.shape.ndims >= 2 else x,
    "branch": lambda x: tf.cond(
        tf.reduce_all(tf.equal(x, x)),
        lambda: tf.tanh(tf.negative(-x)),
        lambda: x * 1.0 + tf.tanh(x),
    ),
    "loop": lambda x: tf.while_loop(
        lambda i, a: i < 2, lambda i, a: (i + 1, tf.tanh(a) + tf.tanh(a * 1.0)), [0, x]
    )[1],
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
}


def configs(options: Any = None, **rewrites: Any) -> tf.ConfigProto:
    graph_options = tf.GraphOptions(optimizer_options=options, rewrite_options=rewrites)
    return tf.ConfigProto(device_count={"CPU": 2}, graph_options=graph_options)


def fit(x: Any, y: Any) -> bool:
    try:
        np.broadcast_shapes(x.shape.as_list(), y.shape.as_list())
    except ValueError:
        return False
    return True


def draw_graph(draw: Any) -> tuple[list[Any], dict[Any, np.ndarray]]:
    made, feeds = [], {}
    values = st.sampled_from(SPECIAL)
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from(SHAPES))
        count = int(np.prod(shape))
        array = np.array([draw(values) for _ in range(count)], np.float32).reshape(shape)
        kind = draw(st.sampled_from(["placeholder", "constant", "variable"]))
        if kind == "placeholder":
            made.append(tf.placeholder(tf.float32, shape))
            feeds[made[-1]] = array
        else:
            made.append(tf.constant(array) if kind == "constant" else tf.Variable(array).value())
    for _ in range(draw(st.integers(1, 15))):
        x = draw(st.sampled_from(made))
        before = [draw(st.sampled_from(made))] if draw(st.integers(0, 9)) == 0 else []
        with tf.device(draw(st.sampled_from(DEVICES))), tf.control_dependencies(before):
            others = [item for item in made if fit(x, item)]
            if draw(st.booleans()) and others:
                build = BINARY[draw(st.sampled_from(sorted(BINARY)))]
                made.append(build(x, draw(st.sampled_from(others))))
            else:
                made.append(UNARY[draw(st.sampled_from(sorted(UNARY)))](x))
    return made, feeds


def bits(answer: Any) -> tuple[Any, ...]:
    """Shape and bits; which NaN it is does not matter: x86 takes that of the first operand."""
    array = np.array(answer)
    array[np.isnan(array)] = np.nan
    return array.dtype, array.shape, array.tobytes()


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_graphs_give_the_same_bits(data: st.DataObject) -> None:
    draw = data.draw
    with tf.Graph().as_default():
        result, feeds = draw_graph(draw)
        fetches = draw(st.lists(st.sampled_from(result), min_size=1, max_size=6))
        ends = [fetch for fetch in fetches if fetch not in feeds]
        if draw(st.booleans()) and ends:
            grads = tf.gradients(ends, result[:2])
            fetches += [fetch for fetch in grads if isinstance(fetch, tf.Tensor)]
        answers = []
        for config in (configs(), configs({"opt_level": "L0"})):
            with tf.Session(config=config) as session:
                session.run(tf.global_variables_initializer())
                answers.append(session.run(fetches, feeds))
    for one, other in zip(*answers):
        assert bits(one) == bits(other)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_explain_knows_each_op_that_it_knows_without(data: st.DataObject) -> None:
    with tf.Graph().as_default():
        result, feeds = draw_graph(data.draw)
        names = []
        for config in (
            configs(dependency_optimization=OFF),
            configs(
                dependency_optimization=OFF,
                arithmetic_optimization=OFF,
                common_subgraph_elimination=OFF,
            ),
        ):
            with tf.Session(config=config) as session:
                placed = session.explain(result, feeds).placed
                names.append({op.name for op in placed if op.op_type != "Const"})
    new = {op for op in names[1] - names[0] if "/_" not in op}
    assert not new


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_products_of_whole_numbers_are_the_same(data: st.DataObject) -> None:
    """Sums of whole numbers are exact in whatever order a product adds them up."""
    draw = data.draw
    with tf.Graph().as_default():
        values = [tf.placeholder(tf.float32, [3, 3]) for _ in range(2)]
        numbers = np.random.default_rng(draw(st.integers(0, 99)))
        feeds = {item: numbers.integers(-3, 4, (3, 3)).astype(np.float32) for item in values}
        for _ in range(draw(st.integers(1, 8))):
            x, y = (draw(st.sampled_from(values)) for _ in "ab")
            turn = draw(st.booleans())
            values.append(
                tf.transpose(x) if draw(st.booleans()) else tf.matmul(x, y, transpose_b=turn) % 7
            )
        answers = []
        for config in (configs(), configs(arithmetic_optimization=OFF)):
            with tf.Session(config=config) as session:
                answers.append(session.run(values, feeds))
    for one, other in zip(*answers):
        np.testing.assert_array_equal(one, other)
