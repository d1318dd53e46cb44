"""Feeds: accepted values, their conversion, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.session.feed_conversion import feed_tensors


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.add(x, 1.0, name="y")
        tf.multiply(y, 10.0, name="z")
        for dtype in (tf.bool, tf.uint8, tf.int32, tf.int64, tf.float32, tf.string):
            value = tf.placeholder(dtype, name=dtype.name)
            tf.identity(value, name=f"{dtype.name}_out")
    with tf.Session(graph=graph) as session:
        yield session


def test_any_tensor_can_be_fed(session: Any) -> None:
    np.testing.assert_array_equal(session.run("z:0", {"x:0": [1, 2]}), [20, 30])
    np.testing.assert_array_equal(session.run("z:0", {"y:0": [1, 2]}), [10, 20])
    np.testing.assert_array_equal(session.run("z:0", {"z:0": [1, 2]}), [1, 2])


def test_a_fed_tensor_cuts_off_what_would_make_it() -> None:
    with tf.Graph().as_default() as graph:
        unfed = tf.placeholder(tf.float32, [])
        inner = unfed + 1.0
        outer = inner * 2.0
    with tf.Session(graph=graph) as session:
        assert session.run(outer, {inner: 4.0}) == 8


def test_what_is_fed_and_fetched_is_what_was_fed(session: Any) -> None:
    value = np.array([5, 6], np.float32)
    y, z, again = session.run(["y:0", "z:0", "y:0"], {"y:0": value})
    assert y is value and again is value
    np.testing.assert_array_equal(z, [50, 60])


def test_tuples_of_keys_take_tuples_of_values(session: Any) -> None:
    with session.graph.as_default():
        p, q, r = (tf.placeholder(tf.int32, []) for _ in range(3))
        total = p + 10 * q + 100 * r
    assert session.run(total, {(p, (q, r)): (1, [2, 3])}) == 321
    with pytest.raises(TypeError, match="one value per element"):
        session.run(total, {(p, (q, r)): (1, [2])})
    with pytest.raises(TypeError, match="one value per element"):
        session.run(total, {(p, (q, r)): 7})


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("float32", 1, np.float32(1)),
        ("float32", [[1, 2.5]], np.array([[1, 2.5]], np.float32)),
        ("float32", np.arange(3, dtype=np.int64), np.array([0, 1, 2], np.float32)),
        ("float32", np.array([1, 2], ">f4"), np.array([1, 2], np.float32)),
        ("float32", np.arange(6.0).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]], np.float32)),
        ("float32", np.ones((0, 3)), np.ones((0, 3), np.float32)),
        ("int32", 1.5, np.int32(1)),
        ("int32", True, np.int32(1)),
        ("int64", 1 << 40, np.int64(1 << 40)),
        ("uint8", 255, np.uint8(255)),
        ("bool", 1, np.True_),
        ("string", "text", b"text"),
        ("string", ["a", b"b"], np.array([b"a", b"b"], object)),
        ("string", np.array(["é", "f"]), np.array(["é".encode(), b"f"], object)),
    ],
    ids=repr,
)
def test_a_value_is_converted_to_the_tensor_s_dtype(
    session: Any, name: str, value: Any, made: Any
) -> None:
    got = session.run(f"{name}_out:0", {f"{name}:0": value})
    np.testing.assert_array_equal(got, made)
    if name != "string":
        assert got.dtype == np.asarray(made).dtype


@pytest.mark.parametrize(
    ("name", "value", "error", "said"),
    [
        ("int32", 1 << 40, TypeError, "1099511627776.*not compatible.*int32.*larger type"),
        ("int32", [1 << 40], TypeError, "not compatible"),
        ("uint8", 300, TypeError, "300.*not compatible.*uint8"),
        ("uint8", -1, TypeError, "-1.*not compatible.*uint8"),
        ("bool", 5, TypeError, "5.*not compatible.*bool"),
        (
            "float32",
            "text",
            ValueError,
            r"could not convert.*'float32:0'.*test_feed_conversion\.py:\d+",
        ),
        (
            "float32",
            [[1], [2, 3]],
            ValueError,
            r"inhomogeneous.*'float32:0'.*test_feed_conversion\.py:\d+",
        ),
        ("int32", None, TypeError, r"'int32:0'.*test_feed_conversion\.py:\d+"),
        pytest.param(
            "int32", object(), TypeError, r"'int32:0'.*test_feed_conversion\.py:\d+", id="an object"
        ),
        ("string", 5, TypeError, r"'string:0'.*test_feed_conversion\.py:\d+"),
    ],
    ids=repr,
)
def test_a_value_of_the_wrong_kind_is_refused_by_name_and_line(
    session: Any, name: str, value: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        session.run(f"{name}_out:0", {f"{name}:0": value})


@pytest.mark.parametrize("value", [1.0, [1.0], [[1.0, 2.0]], np.zeros((2, 1)), []], ids=repr)
def test_a_value_of_the_wrong_shape_is_refused_by_name_and_line(session: Any, value: Any) -> None:
    shape = repr(np.shape(value)).replace("(", r"\(").replace(")", r"\)")
    message = (
        rf"shape {shape} for Tensor 'x:0', which has shape '\(2,\)'.*test_feed_conversion\.py:\d+"
    )
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            session.run("z:0", {"x:0": value})
    np.testing.assert_array_equal(session.run("z:0", {"x:0": [0, 0]}), [10, 10])


def test_a_tensor_is_no_value(session: Any) -> None:
    with session.graph.as_default():
        value = tf.constant([1.0, 2.0], name="value")
    with pytest.raises(TypeError, match=r"cannot be a tf.Tensor.*'x:0'.*'value:0'.*fetch it"):
        session.run("z:0", {"x:0": value})
    with pytest.raises(TypeError, match=r"value:0"):
        session.run("z:0", {"x:0": [value, value]})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("no:0", "'no', does not exist"),
        ("x", "'x' is not a Tensor's"),
        ("x:3", "only has 1 outputs"),
        (5, "int"),
        (None, "NoneType"),
    ],
    ids=repr,
)
def test_a_key_that_is_no_tensor_is_refused(session: Any, key: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"Cannot interpret feed_dict key as Tensor: .*{said}"):
        session.run("z:0", {key: [1.0, 2.0]})


def test_operations_and_tensors_of_other_graphs_are_no_keys(session: Any) -> None:
    with tf.Graph().as_default():
        foreign = tf.placeholder(tf.float32, [2], name="foreign")
    message = "Cannot interpret feed_dict key as Tensor"
    with pytest.raises(TypeError, match=f"{message}.*foreign"):
        session.run("z:0", {foreign: [1.0, 2.0]})
    with pytest.raises(TypeError, match=f"{message}.*Operation"):
        session.run("z:0", {session.graph.get_operation_by_name("x"): [1.0, 2.0]})


@pytest.mark.parametrize("feeds", [[("x:0", 1.0)], 5, "x:0", np.zeros(2)], ids=repr)
def test_feeds_are_a_dictionary(session: Any, feeds: Any) -> None:
    session.run("z:0", {"x:0": [1.0, 2.0]})
    with pytest.raises(TypeError, match="feed_dict must be a dictionary"):
        session.run("z:0", feeds)


def test_what_may_not_be_fed_is_refused(session: Any) -> None:
    session.graph.prevent_feeding(session.graph.get_tensor_by_name("y:0"))
    with pytest.raises(ValueError, match=r"y:0.*may not be fed"):
        session.run("z:0", {"y:0": [1.0, 2.0]})


def test_what_was_fed_and_fetched_may_be_forbidden_later(session: Any) -> None:
    y = session.graph.get_tensor_by_name("y:0")
    np.testing.assert_array_equal(session.run("z:0", {y: [1.0, 2.0]}), [10, 20])
    np.testing.assert_array_equal(session.run("z:0", {"y:0": [1.0, 2.0]}), [10, 20])
    session.graph.prevent_feeding(y)
    for key in (y, "y:0", y):
        with pytest.raises(ValueError, match=r"y:0.*may not be fed"):
            session.run("z:0", {key: [1.0, 2.0]})
    np.testing.assert_array_equal(session.run(y, {"x:0": [1.0, 2.0]}), [2, 3])
    session.graph.prevent_fetching(y.op)
    with pytest.raises(ValueError, match=r"'y' has been marked as not fetchable"):
        session.run(y, {"x:0": [1.0, 2.0]})


def test_a_list_of_tensors_is_no_value(session: Any) -> None:
    y = session.graph.get_tensor_by_name("y:0")
    with pytest.raises(
        TypeError, match=r"Tensor .y:0. to a numpy array.*holds no values.*fed to 'x:0'"
    ):
        session.run("z:0", {"x:0": [y, y]})


def test_one_tensor_is_fed_once(session: Any) -> None:
    x = session.graph.get_tensor_by_name("x:0")
    with pytest.raises(ValueError, match="fed twice"):
        session.run("z:0", {x: [1.0, 2.0], "x:0": [3.0, 4.0]})


def test_among_many_feeds_each_comes_once_and_in_its_place() -> None:
    with tf.Graph().as_default() as graph:
        xs = [tf.placeholder(tf.float32, []) for _ in range(300)]
        assert feed_tensors(graph, [*xs[::-1]]) == xs[::-1]
        with pytest.raises(ValueError, match=f"{xs[7].name}.*fed twice"):
            feed_tensors(graph, [*xs, xs[7].name])
        with tf.Session() as session:
            feeds = {x: index for index, x in enumerate(xs)}
            assert session.run(xs, feeds) == list(range(300))


def test_an_unfed_placeholder_is_named_with_its_line(session: Any) -> None:
    message = r"must feed.*'x' with dtype float(32)? and shape.*\n?.*test_feed_conversion\.py:\d+"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        session.run("z:0")
    assert caught.value.op is session.graph.get_operation_by_name("x")


def test_the_array_that_was_fed_stays_as_it_was(session: Any) -> None:
    value = np.array([1, 2], np.float32)
    value.setflags(write=False)
    session.run("z:0", {"x:0": value})
    np.testing.assert_array_equal(value, [1, 2])


def test_a_variable_is_fed_in_place_of_its_value() -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.Variable(1.0)
        doubled = variable * 2.0
    with tf.Session(graph=graph) as session:
        session.run(variable.initializer)
        assert session.run(doubled, {variable: 10.0}) == 20
        assert session.run(doubled) == 2


def test_a_number_is_no_string():
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string)
        with pytest.raises(TypeError, match="Type of feed value 1 with type <class 'int'> is not"):
            session.run(text, {text: 1})
