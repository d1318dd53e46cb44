"""Anything as a tensor: constants, the registry of conversions, and its order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework import tensor_conversion as convert
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def registry(monkeypatch):
    """Conversions registered in a test are forgotten after it."""
    monkeypatch.setattr(convert, "_CONVERSIONS", list(convert._CONVERSIONS))


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


# -- constants


def test_a_constant(graph):
    output = tf.constant([[1, 2], [3, 4]], name="c")
    assert (output.op.type, output.name, output.dtype, output.shape.as_list()) == (
        "Const",
        "c:0",
        tf.int32,
        [2, 2],
    )
    assert value(output).tolist() == [[1, 2], [3, 4]]
    assert tf.constant(1).op.name == "Const"
    assert tf.constant(1).op.name == "Const_1"


def test_it_is_a_copy_that_nobody_changes():
    source = np.float32([1, 2])
    output = tf.constant(source)
    source[0] = 9
    fetched = value(output)
    fetched[1] = 9
    assert value(output).tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        output.op.attrs["value"][0] = 9


def test_dtype_and_shape():
    assert tf.constant(1, tf.float16).dtype is tf.float16
    assert tf.constant(1, dtype="int64").dtype is tf.int64
    assert value(tf.constant(7, shape=[2, 2])).tolist() == [[7, 7], [7, 7]]


def test_verify_shape():
    assert tf.constant([1, 2], shape=[2], verify_shape=True).shape.as_list() == [2]
    with pytest.raises(TypeError, match=r"\(2, 2\), got \(2,\)"):
        tf.constant([1, 2], shape=[2, 2], verify_shape=True)


def test_a_refused_constant_leaves_no_operation(graph):
    with pytest.raises(TypeError):
        tf.constant("a", tf.int32)
    with pytest.raises(ValueError, match="not a valid node name"):
        tf.constant(1, name="no name")
    assert graph.get_operations() == []


# -- conversion


def test_a_tensor_stays_itself():
    output = tf.constant(1.0)
    assert tf.convert_to_tensor(output) is output
    assert tf.convert_to_tensor(output, tf.float32) is output
    with pytest.raises(ValueError, match="int32 for Tensor with dtype float32"):
        tf.convert_to_tensor(output, tf.int32)


def test_a_variable_is_read_or_referred_to():
    variable = tf.Variable(1.0)
    assert tf.convert_to_tensor(variable) is variable.value()
    assert convert.convert_to_tensor(variable, as_ref=True).dtype.is_ref_dtype


def test_names():
    assert tf.convert_to_tensor(3, name="three").op.name == "three"
    assert tf.convert_to_tensor(3).op.name == "Const"
    names = [tensor.op.name for tensor in convert_n_to_tensor([1, 2], name="n")]
    assert names == ["n_0", "n_1"]
    assert convert_n_to_tensor([1.0], tf.float64)[0].dtype is tf.float64


def test_a_preferred_dtype_is_taken_where_it_fits():
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype is tf.float32
    assert tf.convert_to_tensor(1, dtype_hint=tf.float64).dtype is tf.float64
    assert tf.convert_to_tensor(1.5, preferred_dtype=tf.int32).dtype is tf.float32
    assert tf.convert_to_tensor(1, tf.int8, preferred_dtype=tf.float32).dtype is tf.int8


def test_lists_with_tensors_are_stacked():
    x = tf.constant(1.0)
    assert value(tf.convert_to_tensor([[x, 2], [3, x]])).tolist() == [[1, 2], [3, 1]]
    with pytest.raises(TypeError):
        tf.convert_to_tensor([x, "a"])


def test_shapes_and_dimensions():
    output = tf.convert_to_tensor(tf.TensorShape([2, 3]))
    assert (output.op.name, output.dtype, value(output).tolist()) == (
        "shape_as_tensor",
        "int32",
        [2, 3],
    )
    assert tf.convert_to_tensor(tf.TensorShape([2]), tf.int64).dtype is tf.int64
    assert tf.convert_to_tensor(tf.TensorShape([2**40])).dtype is tf.int64
    assert value(tf.convert_to_tensor(tf.TensorShape([]))).shape == (0,)
    assert tf.convert_to_tensor(tf.TensorShape([])).dtype is tf.int32
    assert value(tf.convert_to_tensor(tf.Dimension(5))) == 5
    assert value(tf.reshape(tf.zeros([2, 3]), [tf.Dimension(3), -1])).shape == (3, 2)


@pytest.mark.parametrize(
    ("given", "dtype", "error", "match"),
    [
        (tf.TensorShape([2, None]), None, ValueError, "partially known"),
        (tf.TensorShape(None), None, ValueError, "partially known"),
        (tf.Dimension(None), None, ValueError, "unknown Dimension"),
        (tf.TensorShape([2]), tf.float32, TypeError, "not float32"),
        (tf.Dimension(2), tf.float32, TypeError, "not float32"),
        (tf.TensorShape([2**40]), tf.int32, ValueError, "a dimension is too large .1099511627776"),
        (object(), None, TypeError, "Failed to convert"),
        (None, None, ValueError, "None"),
    ],
)
def test_what_is_refused(given, dtype, error, match):
    with pytest.raises(error, match=match):
        tf.convert_to_tensor(given, dtype)


# -- the registry


class Money:
    def __init__(self, cents):
        self.cents = cents


class Debt(Money):
    pass


def as_money(money, dtype=None, name=None, as_ref=False):
    return tf.constant(money.cents, dtype, name=name or "money")


def test_a_registered_type_is_a_tensor_everywhere(registry):
    tf.register_tensor_conversion_function(Money, as_money)
    assert tf.convert_to_tensor(Money(5)).op.name == "money"
    assert value(tf.add(Money(5), Debt(-3))) == 2
    assert value(tf.constant(2.0) * Money(5)) == 10
    with tf.control_dependencies([tf.no_op()]):
        assert value(tf.Variable(Money(7)).initial_value) == 7


def test_lower_priority_comes_first_and_may_decline(registry):
    asked = []

    def declining(money, dtype=None, name=None, as_ref=False):
        asked.append(money.cents)
        return NotImplemented

    tf.register_tensor_conversion_function(Money, as_money, 10)
    tf.register_tensor_conversion_function((Debt, Money), declining, 1)
    assert value(tf.convert_to_tensor(Debt(4))) == 4
    assert asked == [4]


def test_all_decline(registry):
    tf.register_tensor_conversion_function(Money, lambda *_, **__: NotImplemented)
    with pytest.raises(TypeError, match="Failed to convert"):
        tf.convert_to_tensor(Money(4))


def test_the_dtype_of_what_a_conversion_gives_is_checked(registry):
    tf.register_tensor_conversion_function(Money, lambda *_, **__: tf.constant(1.0))
    with pytest.raises(ValueError, match="int32"):
        tf.convert_to_tensor(Money(4), tf.int32)


def test_only_functions_are_registered():
    with pytest.raises(TypeError, match="callable"):
        tf.register_tensor_conversion_function(Money, 3)


def test_an_operation_is_no_tensor():
    with tf.Graph().as_default():
        op = tf.no_op(name="NAME")
        with pytest.raises(TypeError, match=r"^Can't convert Operation 'NAME' to Tensor"):
            tf.convert_to_tensor(op)
