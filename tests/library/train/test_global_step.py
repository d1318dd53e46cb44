"""The global step: there is one, wherever it was made, and it counts in int64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_it_is_made_once(graph):
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert step is tf.train.get_or_create_global_step()
    assert step is tf.train.get_global_step()
    assert step is tf.train.get_global_step(graph)
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step]
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()


def test_what_it_is(graph):
    fed = tf.placeholder(tf.float32)
    with tf.name_scope("scope"), tf.control_dependencies([fed]):
        step = tf.train.create_global_step()
    assert (step.name, step.dtype.base_dtype, step.shape.as_list()) == (
        "global_step:0",
        "int64",
        [],
    )
    assert step in tf.global_variables()
    assert step not in tf.trainable_variables()
    assert step.initializer.inputs[1].op.name == "global_step/Initializer/zeros"
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(step.assign_add(3))
        assert tf.train.global_step(session, step) == 3


def test_each_graph_has_its_own(graph):
    step = tf.train.create_global_step(graph)
    with tf.Graph().as_default():
        assert tf.train.get_global_step() is None
        other = tf.train.get_or_create_global_step()
        assert other is not step
        assert tf.train.get_global_step(graph) is step


def test_a_tensor_of_that_name_will_do(graph):
    tf.Variable(3, name="global_step", trainable=False)
    assert tf.train.get_global_step() is graph.get_tensor_by_name("global_step:0")


@pytest.mark.parametrize(
    ("value", "match"), [(1.0, "integer type"), ([1], "not scalar"), ("a", "integer type")]
)
def test_other_kinds_are_refused(value, match):
    tf.Variable(value, name="global_step", trainable=False)
    with pytest.raises(TypeError, match=match):
        tf.train.get_global_step()


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="Variable or Tensor"):
        tf.train.assert_global_step(3)


def test_several_are_none_of_them(caplog):
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(0, name="count"))
    assert tf.train.get_global_step() is None
    assert "Multiple tensors in global_step collection" in caplog.text


def test_it_is_a_variable_of_the_current_scope():
    with tf.Graph().as_default():
        with tf.variable_scope("outer"), tf.name_scope("inner"):
            step = tf.train.create_global_step()
        assert step.name == "outer/global_step:0"
        with pytest.raises(ValueError, match="Variable outer/global_step already exists"):
            with tf.variable_scope("outer"):
                tf.get_variable("global_step", [], tf.int64)
        with tf.variable_scope("outer", reuse=True):
            assert tf.get_variable("global_step", [], tf.int64) is step
