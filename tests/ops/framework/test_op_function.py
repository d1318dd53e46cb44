"""Functions of ops: their errors about invalid arguments."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.ops.framework import tensor_conversion


def test_a_value_of_another_dtype_names_its_parameter() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError) as refused:
        tf.add(tf.constant(1), 2.5)
    assert str(refused.value).startswith(
        "Expected int32 passed to parameter 'y' of op 'Add', got 2.5 of type 'float' instead. "
    )


def test_what_follows_from_types_is_the_same_whatever_came_before() -> None:
    """A number is looked at each time: one may have a dtype that another of its type has not."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.int8, [3]), tf.placeholder(tf.float32, [3, 4])
        for _ in range(2):
            assert tf.raw_ops.OnesLike(5).dtype is tf.int32
            assert tf.raw_ops.OnesLike(1 << 40).dtype is tf.int64
            assert tf.raw_ops.OnesLike(True).dtype is tf.bool
            assert tf.raw_ops.OnesLike(0.5).dtype is tf.float32
            assert tf.add(x, 100).op.inputs[1].dtype is tf.int8
            assert tf.raw_ops.Sum(y, 1).shape == [3]
            assert tf.raw_ops.Sum(y, -1, keep_dims=True).shape == [3, 1]
            assert tf.raw_ops.Sum(y, 0).shape == [4]
            assert tf.raw_ops.Cast(x, DstT=tf.float64).dtype is tf.float64
            assert tf.raw_ops.Cast(x, DstT=tf.int32).dtype is tf.int32
            with pytest.raises(TypeError, match="Expected int8"):
                tf.add(x, 2.5)
            with pytest.raises(TypeError, match="type int8 that does not match type float32"):
                tf.add(y, x)
            with pytest.raises(ValueError, match="Invalid reduction dimension 2"):
                tf.raw_ops.Sum(y, 2)


def test_numbers_become_constants_in_the_scope_of_their_operation() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        operations = [tf.multiply(x, 2).op, tf.multiply(x, 0.5).op, tf.multiply(3.0, x).op]
        assert [op.name for op in operations] == ["Mul", "Mul_1", "Mul_2"]
        names = [[tensor.op.name for tensor in op.inputs] for op in operations]
        assert names == [
            ["Placeholder", "Mul/y"],
            ["Placeholder", "Mul_1/y"],
            ["Mul_2/x", "Placeholder"],
        ]
        with tf.name_scope("layer"):
            assert (x + 1.0).op.inputs[1].op.name == "layer/add/y"
        assert tf.multiply(x, 2, name="twice").op.inputs[1].op.name == "twice/y"
        assert not tf.multiply(x, 2).op.inputs[1].op.attrs["value"].flags.writeable
    other = tf.Graph()
    product = tf.multiply(x, 4.0)  # in the graph of x, which is no default any more
    assert product.graph is x.graph is not other
    assert product.op.inputs[1].graph is x.graph


def test_a_conversion_of_numbers_that_a_program_registers_is_asked_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensor_conversion, "_CONVERSIONS", [*tensor_conversion._CONVERSIONS])
    seen = []

    def convert(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        seen.append((value, dtype, name))
        return NotImplemented

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        tf.multiply(x, 7.0)
        tf.register_tensor_conversion_function(float, convert)
        try:
            tf.multiply(x, 7.0)
            assert tf.multiply(x, 2).dtype is tf.float32
        finally:
            tensor_conversion._FOR_TYPE.clear()
    assert seen == [(7.0, tf.float32, "y")]


def test_operations_of_equal_attrs_share_them_and_of_others_do_not() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2])
        first, second = tf.matmul(x, x).op, tf.matmul(x, x).op
        turned = tf.matmul(x, x, transpose_a=True).op
        assert first.attrs == second.attrs == {**turned.attrs, "transpose_a": False}
        with tf.device("/cpu:0"), tf.Graph().as_default() as graph:
            variable = tf.get_variable("v", [2, 2], use_resource=False)
            with graph.colocate_with(variable.op):
                assert "_class" in tf.matmul(variable, variable).op.attrs
            assert "_class" not in tf.matmul(variable, variable).op.attrs
