"""Variables as messages, and variables of messages."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2

KINDS = pytest.mark.parametrize("use_resource", [False, True])


def made(use_resource: bool, **options: Any) -> Any:
    with tf.name_scope("s"):
        return tf.Variable(tf.ones([2]), name="v", use_resource=use_resource, **options)


@KINDS
def test_a_variable_says_which_operations_it_is(use_resource: bool) -> None:
    with tf.Graph().as_default():
        message = made(use_resource, trainable=False, aggregation=1).to_proto()
    read = "s/v/Read/ReadVariableOp:0" if use_resource else "s/v/read:0"
    assert message == messages_pb2.VariableDef(
        variable_name="s/v:0",
        initial_value_name="s/ones:0",
        initializer_name="s/v/Assign",
        snapshot_name=read,
        is_resource=use_resource,
        aggregation=1,
    )


@KINDS
def test_a_variable_of_a_message_is_the_same_variable(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = made(use_resource)
        w = tf.Variable(variable_def=v.to_proto())
        x = tf.Variable.from_proto(v.to_proto("s"), import_scope="s")
        assert type(w) is type(x) is type(v)
        assert (w.name, w.dtype, w.shape, w.trainable) == (v.name, v.dtype, v.shape, True)
        assert (w.initial_value, w.initializer) == (v.initial_value, v.initializer)
        assert x.to_proto() == w.to_proto() == v.to_proto()
        session.run(w.initializer)
        session.run(x.assign_add([1.0, 2.0]))
        assert session.run(v + 0.0).tolist() == [2.0, 3.0]
        assert session.run(w.initialized_value()).tolist() == [2.0, 3.0]


def test_a_cached_value_is_kept() -> None:
    with tf.Graph().as_default():
        v = made(True, caching_device="/cpu:0")
        w = tf.Variable.from_proto(v.to_proto())
        assert w.value() is v.value()


@KINDS
def test_a_scope_is_taken_off_and_what_is_outside_of_it_is_left_out(use_resource: bool) -> None:
    with tf.Graph().as_default():
        v = made(use_resource)
    assert v.to_proto("s").variable_name == "v:0"
    assert v.to_proto("s").initializer_name == "v/Assign"
    assert v.to_proto("other") is None


def test_a_part_of_a_variable_says_which_part_it_is() -> None:
    with tf.Graph().as_default():
        parts = tf.get_variable("p", [5, 2], partitioner=tf.fixed_size_partitioner(2))
        message = list(parts)[1].to_proto()
        again = tf.Variable.from_proto(message)
    info = message.save_slice_info_def
    assert (info.full_name, [*info.full_shape], [*info.var_offset]) == ("p", [5, 2], [3, 0])
    assert again._get_save_slice_info() == list(parts)[1]._get_save_slice_info()
    scoped = tf.Variable.SaveSliceInfo(save_slice_info_def=info, import_scope="a")
    assert scoped.full_name == "a/p"
    assert scoped.to_proto("a") == info
    assert scoped.to_proto("b") is None


def test_what_is_no_variable_s_message_is_refused() -> None:
    with tf.Graph().as_default():
        message = made(False).to_proto()
        with pytest.raises(ValueError, match="mutually exclusive"):
            tf.Variable(1.0, variable_def=message)
        with pytest.raises(TypeError, match="variable_def must be a VariableDef proto"):
            tf.Variable(variable_def=messages_pb2.SaverDef())
        for field, name in (("initializer_name", "s/v:0"), ("snapshot_name", "s/v/read")):
            wrong = messages_pb2.VariableDef()
            wrong.CopyFrom(message)
            setattr(wrong, field, name)
            with pytest.raises(ValueError, match=name):
                tf.Variable.from_proto(wrong)
    with tf.Graph().as_default(), pytest.raises(KeyError, match="s/v:0"):
        tf.Variable.from_proto(message)
