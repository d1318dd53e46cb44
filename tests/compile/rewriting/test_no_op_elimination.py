"""Simplify: an op that changes nothing becomes an Identity, and so a view."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, make_plan, make_target, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


NOTHING = np.zeros(0, np.int32)
UNCHANGED = {
    "Sum over no axes": lambda x: raw_ops.Sum(x, NOTHING, name="y"),
    "Mean over no axes": lambda x: raw_ops.Mean(x, NOTHING, keep_dims=True, name="y"),
    "Prod over no axes": lambda x: raw_ops.Prod(x, NOTHING, name="y"),
    "Max over no axes": lambda x: raw_ops.Max(x, NOTHING, name="y"),
    "Min over no axes": lambda x: raw_ops.Min(x, NOTHING, name="y"),
    "AddN of one": lambda x: raw_ops.AddN([x], name="y"),
    "Reshape to the shape it has": lambda x: tf.reshape(x, [2, -1], name="y"),
    "Transpose in the order it has": lambda x: raw_ops.Transpose(
        x, np.array([0, 1], np.int32), name="y"
    ),
    "Cast to the dtype it has": lambda x: raw_ops.Cast(x, DstT=tf.float32, name="y"),
}
CHANGED = {
    "a sum over an axis": lambda x: raw_ops.Sum(x, np.array([1], np.int32), name="y"),
    "a sum of two": lambda x: raw_ops.AddN([x, x], name="y"),
    "another shape": lambda x: tf.reshape(x, [3, 2], name="y"),
    "another order": lambda x: tf.transpose(x, [1, 0], name="y"),
    "another dtype": lambda x: raw_ops.Cast(x, DstT=tf.int32, name="y"),
}


@pytest.mark.parametrize("said", UNCHANGED)
def test_an_op_that_changes_nothing_is_a_view_under_its_own_name(said):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = UNCHANGED[said](x)
    unit = compiled([y], {x: (2, 3)}, upto="no_op_elimination")
    assert node(unit, "y").type == "Identity"
    assert unit.reports[-1].lines == [f"y: {said}"]
    assert unit.reports[-1].summary == "1 ops that change nothing became Identity"
    assert make_plan([y], {x: (2, 3)}).steps == ()
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run([y], {x: given})[0], given)


@pytest.mark.parametrize("what", CHANGED)
def test_an_op_that_changes_something_stays(what):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = CHANGED[what](x)
    unit = compiled([y], {x: (2, 3)}, upto="no_op_elimination")
    assert node(unit, "y").type == y.op.type
    assert unit.reports[-1].lines == []


def test_axes_or_an_order_known_only_to_the_run_are_left_to_it():
    x = tf.placeholder(tf.float32, [2, 3])
    axes, order = tf.placeholder(tf.int32, [0]), tf.placeholder(tf.int32, [2])
    fetches = [raw_ops.Sum(x, axes), raw_ops.Transpose(x, order)]
    unit = compiled(fetches, {x: (2, 3), axes: (0,), order: (2,)}, upto="no_op_elimination")
    assert types(unit) == ["Sum", "Transpose"]


def test_a_size_known_only_to_the_run_keeps_its_reshape():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reshape(x, [-1, 3], name="y")
    assert node(compiled([y], {x: (None, 3)}, upto="no_op_elimination"), "y").type == "Reshape"


def test_order_device_and_targets_stay():
    v = tf.Variable([1.0, 2.0], name="v")
    moved = v.value() * 2.0
    with tf.device("/cpu:1"), tf.control_dependencies([tf.assign(v, [3.0, 4.0], name="written")]):
        y = raw_ops.AddN([moved], name="y")
    with tf.control_dependencies([y]):
        after = tf.constant(1.0, name="after")
    unit = compiled([y.op, after], upto="placer", target=make_target(cpus=2))
    same = node(unit, "y")
    assert same.type == "Identity"
    assert unit.roots[1] is same
    assert [each.name for each in same.control_inputs] == ["written"]
    assert same in node(unit, "after").control_inputs
    assert same.assigned_device.endswith("CPU:1")


def test_what_the_axes_waited_for_is_waited_for():
    v = tf.Variable(1.0, name="v")
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.assign(v, 5.0, name="written")]):
        axes = tf.constant(NOTHING)
    unit = compiled([raw_ops.Sum(x, axes, name="y")], {x: (2,)}, upto="no_op_elimination")
    assert [each.name for each in node(unit, "y").control_inputs] == ["written"]


def test_a_gradient_through_equal_shapes_needs_neither_sum_nor_reshape():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.placeholder(tf.float32, [None, 3])
    gradients = tf.gradients(tf.reduce_sum(x * y), [x, y])
    unit = compiled(gradients, {x: (4, 3), y: (4, 3)}, upto="no_op_elimination")
    assert not {"Sum", "Reshape", "BroadcastGradientArgs"} & set(types(unit))
