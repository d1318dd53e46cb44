"""Random graphs on random devices against plain NumPy: values, inner feeds, any fetch set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

import gpugraph as tf

DEVICES = ["/cpu:0", "/gpu:0", "/gpu:1", None]
SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (3, 2), (0, 3)]

UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "neg": (lambda x: -x, np.negative),
    "abs": (tf.abs, np.abs),
    "tanh": (tf.tanh, np.tanh),
    "square": (tf.square, np.square),
    "relu": (tf.nn.relu, lambda x: np.maximum(x, 0)),
    "sigmoid": (tf.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "identity": (tf.identity, lambda x: x),
    "flat": (lambda x: tf.reshape(x, [-1]), lambda x: x.reshape(-1)),
    "turned": (tf.transpose, np.transpose),
    "total": (tf.reduce_sum, np.sum),
    "rows": (
        lambda x: tf.reduce_sum(x, axis=0, keepdims=True) if x.shape.ndims else tf.identity(x),
        lambda x: np.sum(x, axis=0, keepdims=True) if x.ndim else x,
    ),
    "sized": (lambda x: x * tf.cast(tf.size(x), tf.float64), lambda x: x * x.size),
    "doubled": (
        lambda x: tf.concat([x, x], 0) if x.shape.ndims else tf.identity(x),
        lambda x: np.concatenate([x, x]) if x.ndim else x,
    ),
    "first": (
        lambda x: x[:1] if x.shape.ndims else tf.identity(x),
        lambda x: x[:1] if x.ndim else x,
    ),
    "expanded": (lambda x: tf.expand_dims(x, 0), lambda x: x[None]),
}
BINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, np.add),
    "sub": (lambda x, y: x - y, np.subtract),
    "mul": (lambda x, y: x * y, np.multiply),
    "maximum": (tf.maximum, np.maximum),
    "minimum": (tf.minimum, np.minimum),
    "matmul": (tf.matmul, np.matmul),
    "chosen": (lambda x, y: tf.where(x > y, x, y), np.maximum),
}


@dataclass
class Made:
    """A tensor of the graph and how NumPy computes it."""

    tensor: tf.Tensor
    inputs: list[Made] = field(default_factory=list)
    compute: Callable[..., Any] | None = None
    value: Any = None
    must_feed: bool = False


def fits(name: str, x: Made, y: Made) -> bool:
    a, b = x.tensor.shape.as_list(), y.tensor.shape.as_list()
    if name == "matmul":
        return len(a) == len(b) == 2 and a[1] == b[0]
    if name == "chosen":
        return bool(a == b)
    try:
        np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return False
    return True


def random_array(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    seed = draw(st.integers(0, 2**16))
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def draw_leaf(draw: Any) -> Made:
    shape = draw(st.sampled_from(SHAPES))
    value = random_array(draw, shape)
    kind = draw(st.sampled_from(["placeholder", "constant", "variable"]))
    with tf.device(draw(st.sampled_from(DEVICES))):
        if kind == "placeholder":
            return Made(tf.placeholder(tf.float64, shape), value=value, must_feed=True)
        if kind == "constant":
            return Made(tf.constant(value), value=value)
        return Made(tf.Variable(value, validate_shape=True).value(), value=value)


def draw_node(draw: Any, made: list[Made]) -> Made:
    x = draw(st.sampled_from(made))
    with tf.device(draw(st.sampled_from(DEVICES))):
        if draw(st.booleans()):
            build, compute = UNARY[draw(st.sampled_from(sorted(UNARY)))]
            return Made(build(x.tensor), [x], compute)
        y = draw(st.sampled_from(made))
        names = [name for name in sorted(BINARY) if fits(name, x, y)]
        if not names:
            return Made(tf.identity(x.tensor), [x], lambda value: value)
        build, compute = BINARY[draw(st.sampled_from(names))]
        return Made(build(x.tensor, y.tensor), [x, y], compute)


def evaluate(node: Made, fed: dict[int, Any], seen: dict[int, Any]) -> Any:
    key = id(node)
    if key not in seen:
        if key in fed:
            seen[key] = fed[key]
        elif node.compute is None:
            seen[key] = node.value
        else:
            seen[key] = node.compute(*(evaluate(each, fed, seen) for each in node.inputs))
    return seen[key]


def needed(node: Made, fed: dict[int, Any], found: dict[int, Made]) -> None:
    if id(node) in found:
        return
    found[id(node)] = node
    if id(node) not in fed:
        for each in node.inputs:
            needed(each, fed, found)


VIRTUAL = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_graph_on_any_devices_computes_what_numpy_computes(data: st.DataObject) -> None:
    check_a_graph(data.draw, lambda: tf.Session(config=VIRTUAL))


def check_a_graph(
    draw: Any, open_session: Callable[[], tf.Session], rounding: float = 1e-12
) -> None:
    """A drawn graph in a session with two GPUs. rounding: how far numbers may be off, to the number
    itself and to the largest that was met, or 1."""
    with tf.Graph().as_default():
        made = [draw_leaf(draw) for _ in range(draw(st.integers(1, 4)))]
        for _ in range(draw(st.integers(1, 25))):
            made.append(draw_node(draw, made))
        with open_session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                check_one_run(draw, session, made, rounding)
            held = session.memory_stats()
        assert set(held) == {device.name for device in session._backend.devices}


def check_one_run(draw: Any, session: tf.Session, made: list[Made], rounding: float) -> None:
    fetched = draw(st.lists(st.sampled_from(made), min_size=1, max_size=5))
    inner = draw(st.lists(st.sampled_from(made), max_size=3))
    fed = {id(node): random_array(draw, tuple(node.tensor.shape.as_list())) for node in inner}
    closure: dict[int, Made] = {}
    for node in fetched:
        needed(node, fed, closure)
    for node in closure.values():
        if node.must_feed and id(node) not in fed:
            fed[id(node)] = node.value
    by_id = {id(node): node for node in made}
    feeds = {by_id[key].tensor: value for key, value in fed.items()}
    before = {tensor: value.copy() for tensor, value in feeds.items()}
    answers = session.run([node.tensor for node in fetched], feeds)
    seen: dict[int, Any] = {}
    wanted = [evaluate(node, fed, seen) for node in fetched]
    met = max([1.0, *(float(np.abs(each).max()) for each in seen.values() if np.size(each))])
    for answer, expected in zip(answers, wanted):
        assert np.shape(answer) == np.shape(expected)
        np.testing.assert_allclose(answer, expected, rtol=rounding, atol=rounding * met)
    for tensor, value in feeds.items():
        np.testing.assert_array_equal(value, before[tensor])  # fed arrays are unchanged


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_placement_changes_no_bit(data: st.DataObject) -> None:
    """The same graph with everything on the CPU gives the very same numbers."""
    plain = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.OFF)
    by_numpy = tf.GraphOptions(optimizer_options=plain)
    draw = data.draw
    with tf.Graph().as_default():
        made = [draw_leaf(draw) for _ in range(draw(st.integers(1, 3)))]
        for _ in range(draw(st.integers(1, 15))):
            made.append(draw_node(draw, made))
        feeds = {node.tensor: node.value for node in made if node.must_feed}
        fetches = [node.tensor for node in made]
        answers = []
        initializer = tf.global_variables_initializer()
        for config in (
            tf.ConfigProto(gpu_options=VIRTUAL.gpu_options, graph_options=by_numpy),
            tf.ConfigProto(allow_soft_placement=True, graph_options=by_numpy),
        ):
            with tf.Session(config=config) as session:
                session.run(initializer)
                answers.append(session.run(fetches, feeds))
        for one, other in zip(*answers):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
