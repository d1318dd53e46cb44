"""tf.map_fn, tf.foldl, tf.foldr and tf.scan: values, gradients, structures, names, errors."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gpugraph as tf

X = np.arange(1, 13, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def rows(size: int | None = None) -> tf.Tensor:
    return tf.placeholder(tf.float32, [size, 3], name="x")


def lists(found: Any) -> Any:
    return [np.asarray(each).tolist() for each in found]


# -- values


@pytest.mark.parametrize("size", [None, 4])
def test_values(size: int | None) -> None:
    x = rows(size)
    zero = tf.zeros([3])
    fetches = {
        "map": tf.map_fn(lambda v: v * v, x),
        "foldl": tf.foldl(lambda a, v: a * 2.0 - v, x),
        "foldl from": tf.foldl(lambda a, v: a * 2.0 - v, x, initializer=zero),
        "foldr": tf.foldr(lambda a, v: a * 2.0 - v, x),
        "foldr from": tf.foldr(lambda a, v: a * 2.0 - v, x, initializer=zero),
        "scan": tf.scan(lambda a, v: a * 2.0 - v, x),
        "scan from": tf.scan(lambda a, v: a * 2.0 - v, x, initializer=zero),
        "back": tf.scan(lambda a, v: a * 2.0 - v, x, reverse=True),
        "back from": tf.scan(lambda a, v: a * 2.0 - v, x, initializer=zero, reverse=True),
    }
    found = run(fetches, {x: X})

    def steps(order: Any, start: Any) -> list[Any]:
        held = [] if start is None else [start]
        for row in order:
            held.append(held[-1] * 2 - row if held else row)
        return held if start is None else held[1:]

    zeros = np.zeros(3)
    wanted = {
        "map": X * X,
        "foldl": steps(X, None)[-1],
        "foldl from": steps(X, zeros)[-1],
        "foldr": steps(X[::-1], None)[-1],
        "foldr from": steps(X[::-1], zeros)[-1],
        "scan": np.stack(steps(X, None)),
        "scan from": np.stack(steps(X, zeros)),
        "back": np.stack(steps(X[::-1], None))[::-1],
        "back from": np.stack(steps(X[::-1], zeros))[::-1],
    }
    for key, value in wanted.items():
        assert found[key].tolist() == value.tolist(), key


@given(st.integers(0, 6), st.booleans())
def test_any_number_of_elements(count: int, reverse: bool) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [None])
        value = np.arange(count)
        fetches = [
            tf.map_fn(lambda v: v * 10, x),
            tf.scan(lambda a, v: a + v, x, initializer=100, reverse=reverse),
            tf.foldl(lambda a, v: a - v, x, initializer=0),
            tf.foldr(lambda a, v: a - v, x, initializer=0),
        ]
        found = lists(run(fetches, {x: value}))
    order = value[::-1] if reverse else value
    sums = 100 + np.cumsum(order)
    wanted = [value * 10, sums[::-1] if reverse else sums, -value.sum(), -value.sum()]
    assert found == lists(wanted)


def test_structures() -> None:
    x = rows()
    pair = collections.namedtuple("pair", ["one", "two"])
    value = run(
        {
            "tuple in": tf.map_fn(lambda e: e[0] + e[1], (x, x * 2.0), dtype=tf.float32),
            "dict in": tf.map_fn(lambda e: {"a": e["b"], "b": e["a"]}, {"a": x, "b": -x}),
            "other out": tf.map_fn(
                lambda e: pair(e, (tf.reduce_sum(e), tf.cast(e[0], tf.int32))),
                x,
                dtype=pair(tf.float32, (tf.float32, tf.int32)),
            ),
            "folded": tf.foldl(lambda a, e: (a[0] + e[0], a[1] + e[1]), (x, -x)),
            "scanned": tf.scan(
                lambda a, e: {"sum": a["sum"] + e[0], "count": a["count"] + 1},
                (x, x),
                initializer={"sum": tf.zeros([3]), "count": 0},
            ),
        },
        {x: X},
    )
    assert value["tuple in"].tolist() == (3 * X).tolist()
    assert lists(value["dict in"].values()) == lists([-X, X])
    other = value["other out"]
    assert type(other) is pair
    assert lists([other.one, *other.two]) == lists([X, X.sum(1), X[:, 0].astype(int)])
    assert lists(value["folded"]) == lists([X.sum(0), -X.sum(0)])
    assert value["scanned"]["count"].tolist() == [1, 2, 3, 4]
    assert value["scanned"]["sum"].tolist() == X.cumsum(0).tolist()


def test_other_dtypes() -> None:
    words = tf.placeholder(tf.string, [None])
    lengths = tf.map_fn(
        lambda w: tf.py_func(lambda b: np.int64(len(b)), [w], tf.int64), words, dtype=tf.int64
    )
    assert run(lengths, {words: ["a", "bcd", ""]}).tolist() == [1, 3, 0]
    flags = tf.scan(tf.logical_and, tf.constant([True, True, False, True]))
    assert run(flags).tolist() == [True, True, False, False]


def test_a_loop_in_a_loop() -> None:
    x = rows()
    sums = tf.map_fn(lambda row: tf.foldl(lambda a, e: a + e, row), x)
    table = tf.map_fn(lambda row: tf.scan(lambda a, e: a * e, row), x)
    found = run([sums, table, tf.gradients(table, x)[0]], {x: X})
    assert found[0].tolist() == X.sum(1).tolist()
    assert found[1].tolist() == X.cumprod(1).tolist()
    a, b, c = X.T
    assert found[2].tolist() == np.stack([1 + b + b * c, a + a * c, a * b], 1).tolist()


def test_results_of_shapes_that_change() -> None:
    """Without infer_shape the accumulator may grow; its results can't be stacked then."""
    x = tf.placeholder(tf.float32, [None])
    lengths = tf.map_fn(
        lambda n: tf.size(tf.range(tf.cast(n, tf.int32))), x, dtype=tf.int32, infer_shape=False
    )
    assert run(lengths, {x: [3, 0, 5]}).tolist() == [3, 0, 5]
    ragged = tf.map_fn(lambda n: tf.range(n), x, infer_shape=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="inconsistent shapes"):
        run(ragged, {x: [3, 1]})


def test_variables_and_outer_tensors() -> None:
    x = rows()
    weight = tf.Variable([[2.0], [0.0], [1.0]])
    offset = tf.placeholder(tf.float32, [])
    y = tf.map_fn(lambda row: tf.reshape(tf.matmul(row[None], weight), []) + offset, x)
    grads = tf.gradients(y, [weight.value(), offset])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([y, *grads], {x: X, offset: 1})
    assert found[0].tolist() == (X @ [2, 0, 1] + 1).tolist()
    assert lists(found[1:]) == [X.sum(0)[:, None].tolist(), 4]


# -- gradients


def numeric(f: Callable[[Any], Any], x: Any) -> Any:
    """Central differences of the sum of `f`."""
    grad = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        grad[place] = (f(x + step).sum() - f(x - step).sum()) / 2e-5
    return grad


BUILDERS = {
    "map": lambda x: tf.map_fn(lambda v: tf.tanh(v) * v, x),
    "foldl": lambda x: tf.foldl(lambda a, v: tf.tanh(a) * v, x),
    "foldl from": lambda x: tf.foldl(lambda a, v: a * v + v, x, initializer=x[0] * 2.0),
    "foldr": lambda x: tf.foldr(lambda a, v: a * v + tf.sin(v), x),
    "scan": lambda x: tf.scan(lambda a, v: tf.sin(a) * v, x),
    "scan back": lambda x: tf.scan(lambda a, v: a * v, x, initializer=x[1], reverse=True),
    "pairs": lambda x: tf.scan(lambda a, v: (a[0] * v[1], a[1] + v[0] * v[1]), (x, x * x))[1],
}


@pytest.mark.parametrize("key", BUILDERS)
@pytest.mark.parametrize("size", [None, 4])
def test_gradients(key: str, size: int | None) -> None:
    x = tf.placeholder(tf.float64, [size, 2])
    y = BUILDERS[key](x)
    (grad,) = tf.gradients(y, x)
    value = np.linspace(-1.0, 1.3, 8).reshape(4, 2)
    with tf.Session() as session:
        found = session.run(grad, {x: value})
        wanted = numeric(lambda each: session.run(y, {x: each}), value)
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-6)


def test_without_back_prop_there_is_no_gradient() -> None:
    x = rows()
    y = tf.map_fn(lambda v: v * v, x, back_prop=False)
    assert run(y, {x: X}).tolist() == (X * X).tolist()
    z = tf.foldl(lambda a, v: a * v, x, back_prop=False)
    assert tf.gradients([y, z], x) == [None]


def test_memory_is_given_back() -> None:
    x = tf.placeholder(tf.float32, [None, 10])
    y = tf.scan(lambda a, v: tf.tanh(a) * v, x)
    (grad,) = tf.gradients(y, x)
    feed = {x: np.ones((200, 10))}
    with tf.Session() as session:
        (device,) = session._backend.devices

        def in_use() -> int:
            session.run([y, grad], feed)
            return device.allocator.get_stats().bytes_in_use

        in_use()  # small stacks stay, from the second run on with room for all elements
        before = in_use()
        assert [in_use() for _ in range(3)] == [before] * 3


# -- in the graph


def test_static_shapes() -> None:
    open_x, x = rows(), rows(4)
    for each, count in ((open_x, None), (x, 4)):
        wanted = [count, 3]
        assert tf.map_fn(lambda v: v * 2.0, each).shape.as_list() == wanted
        assert tf.scan(lambda a, v: a * v, each).shape.as_list() == wanted
        assert tf.foldl(lambda a, v: a * v, each).shape.as_list() == [3]
        assert tf.foldr(lambda a, v: a * v, each).shape.as_list() == [3]
    mixed = tf.map_fn(lambda e: e[0] + e[1], (open_x, x), dtype=tf.float32)
    assert mixed.shape.as_list() == [4, 3]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("map", lambda x, **o: tf.map_fn(lambda v: v, x, **o)),
        ("foldl", lambda x, **o: tf.foldl(lambda a, v: a + v, x, **o)),
        ("foldr", lambda x, **o: tf.foldr(lambda a, v: a + v, x, **o)),
        ("scan", lambda x, **o: tf.scan(lambda a, v: a + v, x, **o)),
    ],
)
def test_names_are_tensorflows(graph: tf.Graph, name: str, make: Any) -> None:
    x = rows()
    make(x)
    names = {op.name for op in graph.get_operations()}
    wanted = {
        "TensorArray",
        "TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
        "Shape",
        "strided_slice",
        "while/TensorArrayReadV3",
        "while/iteration_counter",
    }
    if name in ("map", "scan"):
        wanted |= {
            "TensorArray_1",
            "TensorArrayStack/TensorArrayGatherV3",
            "while/TensorArrayWrite/TensorArrayWriteV3",
        }
    assert {f"{name}/{each}" for each in wanted} <= names
    make(x)
    make(x, name="mine")
    names = {op.name for op in graph.get_operations()}
    assert {f"{name}_1/TensorArray", "mine/TensorArray", "mine/while/LoopCond"} <= names


def test_options_reach_the_loop(graph: tf.Graph) -> None:
    x = rows()
    tf.map_fn(lambda v: v, x)
    tf.scan(lambda a, v: a + v, x, parallel_iterations=3)
    found = {
        op.name.partition("/")[0]: op.attrs["parallel_iterations"]
        for op in graph.get_operations()
        if op.type == "Enter"
    }
    assert found == {"map": 10, "scan": 3}


# -- errors


FUNCTIONS = {"map": tf.map_fn, "foldl": tf.foldl, "foldr": tf.foldr, "scan": tf.scan}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_is_refused(function: Any) -> None:
    def fn(*values: Any) -> Any:
        return values[-1]

    x = rows()
    with pytest.raises(TypeError, match="fn must be callable"):
        function(3, x)
    with pytest.raises(ValueError, match="scalar"):
        function(fn, 3.0)
    with pytest.raises(ValueError, match="scalar"):
        function(fn, (x, tf.constant(1.0)))
    with pytest.raises(ValueError, match="at least one tensor"):
        function(fn, ())
    if function is tf.map_fn:
        with pytest.raises(
            ValueError, match=r"elems must be a 1\+ dimensional Tensor, not a scalar"
        ):
            tf.map_fn(fn, 3.0)
        with pytest.raises(ValueError, match=r"must be 1\+ dimensional Tensors, not scalars"):
            tf.map_fn(fn, (tf.constant(1.0), tf.constant(1.0)))
    with pytest.raises(ValueError, match="Dimensions 4 and 3"):
        function(fn, (rows(4), rows(3)))
    with pytest.raises(TypeError, match="parallel_iterations"):
        function(fn, x, parallel_iterations=-1)


def test_results_must_be_alike() -> None:
    x = rows()
    with pytest.raises(ValueError, match="same nested structure"):
        tf.map_fn(lambda v: (v, v), x)
    with pytest.raises(ValueError, match="same nested structure"):
        tf.scan(lambda a, v: (a, v), x)
    with pytest.raises(ValueError, match="same nested structure"):
        tf.foldl(lambda a, v: (a, v), x)
    with pytest.raises(ValueError, match="enters the loop with shape"):
        tf.foldl(lambda a, v: v[:1], x)
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        tf.scan(lambda a, v: v[:1], x)
    with pytest.raises(TypeError, match=r"float32.*int32"):
        tf.foldl(lambda a, v: tf.cast(a, tf.int32), x)
    other = tf.map_fn(lambda v: tf.cast(v, tf.int32), x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="trying to write dtype int32"):
        run(other, {x: X})


def test_sizes_that_differ_in_the_run() -> None:
    x, y = rows(), tf.placeholder(tf.float32, [None])
    both = tf.map_fn(lambda e: e[0] * e[1], (x, y), dtype=tf.float32)
    assert run(both, {x: X, y: [1, 2, 3, 4]}).shape == (4, 3)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(both, {x: X, y: np.ones(7)})
