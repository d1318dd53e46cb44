"""Placeholders, and tensors made of one value: results of a run and errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def value(tensor, feeds=None):
    with tf.Session() as session:
        return session.run(tensor, feeds)


# -- placeholders


def test_a_placeholder_is_what_is_fed():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    assert (x.op.type, x.name, x.shape.as_list()) == ("Placeholder", "x:0", [None, 2])
    assert tf.placeholder(tf.int32).shape.rank is None
    for source in ([[1, 2]], [[1, 2], [3, 4]]):
        assert value(x + 1.0, {x: source}).tolist() == (np.array(source) + 1).tolist()


def test_unfed_it_is_an_error_that_names_it():
    x = tf.placeholder(tf.float32, [2], name="x")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        value(x * 2.0)
    assert "You must feed a value for placeholder tensor 'x'" in str(caught.value)
    assert "float" in str(caught.value) and "test_constants_and_placeholders.py" in str(
        caught.value
    )


def test_a_default_may_be_fed(graph):
    x = tf.placeholder_with_default([1, 2], [2], name="x")
    assert graph.get_operations()[0].name == "x/input"
    assert value(x * 3).tolist() == [3, 6]
    assert value(x * 3, {x: [5, 6]}).tolist() == [15, 18]
    open_shape = tf.placeholder_with_default([1, 2], [None])
    assert open_shape.shape.as_list() == [None]
    assert value(open_shape * 3, {open_shape: [1, 2, 3]}).tolist() == [3, 6, 9]


def test_a_default_carries_gradients():
    v = tf.Variable(3.0)
    x = tf.placeholder_with_default(v * 2.0, [])
    (slope,) = tf.gradients(x * x, v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(slope) == 24


def test_a_default_must_fit():
    with pytest.raises(ValueError, match=r"\(3,\).*PlaceholderWithDefault"):
        tf.placeholder_with_default([1, 2], [3])


@pytest.mark.parametrize("dtype", ["nope", None, 3.5])
def test_dtypes_that_are_none(dtype):
    with pytest.raises(TypeError):
        tf.placeholder(dtype)


# -- zeros, ones, fill


KINDS = ["float16", "float64", "int8", "uint16", "int64", "bool", "complex64"]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [[], [0], [2, 3], [40, 50]])
def test_zeros_and_ones(dtype, shape):
    for function, numpy_function in [(tf.zeros, np.zeros), (tf.ones, np.ones)]:
        output = function(shape, dtype)
        assert (output.dtype, output.shape.as_list()) == (dtype, shape)
        expected = numpy_function(shape, dtype)
        result = value(output)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "shape", [3, [3], (3,), np.array([3]), tf.TensorShape([3]), [tf.Dimension(3)]], ids=str
)
def test_shapes_in_all_spellings(shape):
    assert value(tf.zeros(shape)).tolist() == [0, 0, 0]


def test_shapes_known_in_a_run_only():
    size = tf.placeholder(tf.int32, [])
    sizes = tf.placeholder(tf.int64, [None])
    assert value(tf.ones([2, size]), {size: 3}).tolist() == [[1, 1, 1]] * 2
    assert tf.ones([2, size]).shape.as_list() == [2, None]
    assert value(tf.zeros(sizes), {sizes: [1, 2]}).tolist() == [[0, 0]]
    assert tf.zeros(tf.constant([2, 3])).shape.as_list() == [2, 3]


def test_names_and_what_is_a_constant(graph):
    names = [tf.zeros([2]).op.name, tf.ones([2]).op.name, tf.zeros([2], name="z").op.name]
    assert names == ["zeros", "ones", "z"]
    assert {op.type for op in graph.get_operations()} == {"Const"}
    large = tf.zeros([40, 50], name="large")
    assert large.op.type == "Fill"
    assert [tensor.op.name for tensor in large.op.inputs] == [
        "large/shape_as_tensor",
        "large/Const",
    ]


def test_strings():
    assert value(tf.zeros([2], tf.string)).tolist() == [b"", b""]
    assert value(tf.zeros_like(["a"])).tolist() == [b""]
    assert value(tf.fill([2], "ab")).tolist() == [b"ab", b"ab"]
    with pytest.raises(TypeError, match="string"):
        tf.ones([2], tf.string)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [None, "int64", "bool"])
def test_like(optimize, dtype):
    x = tf.placeholder(tf.float32, [None, 2])
    for source, argument in [(tf.constant([[1.0, 2.0]]), {}), (x, {x: [[1, 2], [3, 4]]})]:
        expected = np.array(value(source, argument), dtype or "float32")
        zeros = tf.zeros_like(source, dtype, optimize=optimize)
        ones = tf.ones_like(source, dtype, optimize=optimize)
        assert zeros.shape.as_list() == source.shape.as_list()
        for output, other in [(zeros, np.zeros_like(expected)), (ones, np.ones_like(expected))]:
            result = value(output, argument)
            assert result.dtype == other.dtype
            np.testing.assert_array_equal(result, other)


def test_names_of_like(graph):
    assert tf.zeros_like([1, 2]).op.name == "zeros_like"
    assert tf.ones_like([1, 2], name="mine").op.name == "mine"
    assert graph.get_operations()[0].name == "zeros_like/tensor"


def test_fill():
    assert value(tf.fill([2, 2], 7)).tolist() == [[7, 7], [7, 7]]
    assert value(tf.fill([], 7)) == 7
    assert value(tf.fill([0, 2], 7)).shape == (0, 2)
    x = tf.placeholder(tf.float32, [])
    output = tf.fill([3], x)
    assert value([output, tf.gradients(output, x)[0]], {x: 2.0})[0].tolist() == [2, 2, 2]
    assert value(tf.gradients(output * [1.0, 2.0, 3.0], x), {x: 2.0}) == [6]


def test_what_is_refused():
    sizes = tf.placeholder(tf.int32, [1])
    for error, match, call in [
        (ValueError, "must be >= 0", lambda: tf.zeros([-1])),
        (ValueError, "must be >= 0", lambda: tf.fill([2, -3], 1)),
        (ValueError, "must be a scalar", lambda: tf.fill([2], [1, 2])),
        (TypeError, "None", lambda: tf.zeros([2, None])),
        (ValueError, "Shape must be rank 1", lambda: tf.fill([[2]], 1)),
        (tf.errors.InvalidArgumentError, "Fill", lambda: value(tf.fill(sizes, 1), {sizes: [-2]})),
    ]:
        with pytest.raises(error, match=match):
            call()
