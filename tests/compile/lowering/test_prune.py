"""Prune: the ops that a run needs, as a runtime graph."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.graph.nodes.graph_text import format_graph
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def pruned(fetches, feeds=None):
    return compiled(fetches, feeds, upto="prune")


def names(unit):
    return {node.name for node in unit.graph.op_nodes()}


def test_only_what_the_fetches_need_is_there():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.negative(x, name="y")
    tf.exp(y, name="aside")
    unit = pruned([y], {x: (2,)})
    assert format_graph(unit.graph) == (
        "_arg_x_0_0 = _Arg() {T=float32, index=0, shape=shape(2), tensor='x:0'}\n"
        "y = Neg(_arg_x_0_0) {T=float32}\n"
        "_retval_y_0_0 = _Retval(y) {T=float32, index=0}\n"
    )
    assert unit.reports[-1].summary == "1 of 3 operations are needed"


def test_control_inputs_are_needed_too_and_stay_edges():
    before = tf.constant(1.0, name="before")
    first = tf.negative(before, name="first")
    with tf.control_dependencies([first]):
        last = tf.constant(2.0, name="last")
    unit = pruned([last])
    assert names(unit) == {"before", "first", "last", "_retval_last_0_0"}
    assert node(unit, "last").control_inputs == [node(unit, "first")]


def test_a_target_is_a_root_without_a_retval():
    v = tf.Variable(1.0, name="v")
    unit = pruned([v.initializer])
    assert types(unit) == ["Assign", "Const", "VariableV2"]
    assert unit.roots == [node(unit, "v/Assign")]
    assert unit.retvals == []


def test_a_feed_cuts_off_its_producers():
    x = tf.placeholder(tf.float32, [], name="x")
    inner = tf.exp(x, name="inner")
    y = tf.negative(inner, name="y")
    unit = pruned([y], {inner: ()})
    assert names(unit) == {"_arg_inner_0_0", "y", "_retval_y_0_0"}


def test_a_fed_output_leaves_its_op_to_those_who_need_another():
    x = tf.placeholder(tf.float32, [4], name="x")
    left, right = tf.split(x, 2, name="parts")
    y = tf.add(left, right, name="y")
    unit = pruned([y], {x: (4,), right: (2,)})
    assert [edge.src.name for edge in node(unit, "y").input_edges()] == ["parts", "_arg_parts_1_1"]
    assert run([y], {x: [1, 2, 3, 4], right: [10, 20]})[0].tolist() == [11, 22]


def test_a_fed_and_fetched_tensor_goes_straight_through():
    x = tf.placeholder(tf.float32, [], name="x")
    unit = pruned([x, x], {x: ()})
    assert types(unit) == []
    assert [node.input_edge(0).src.type for node in unit.retvals] == ["_Arg", "_Arg"]


def test_a_feed_that_nobody_needs_is_an_arg_all_the_same():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.constant(1.0)
    assert len(pruned([y], {x: ()}).args) == 1
    assert run([y], {x: 5.0}) == [1.0]


def test_what_waits_for_a_fed_placeholder_waits_for_its_value():
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.control_dependencies([x]):
        y = tf.constant(3.0, name="y")
    unit = pruned([y], {x: ()})
    assert [each.name for each in node(unit, "y").control_inputs] == ["_arg_x_0_0"]
    assert run([y], {x: 1.0}) == [3.0]
    with pytest.raises(InvalidArgumentError, match="must feed a value for placeholder tensor 'x'"):
        pruned([y])


def test_what_waits_for_another_op_waits_although_that_is_fed():
    v = tf.Variable(1.0, name="v")
    written = tf.assign(v, 2.0, name="written")
    with tf.control_dependencies([written]):
        y = tf.constant(3.0, name="y")
    assert "written" in names(pruned([y], {written: ()}))


def test_placeholders_that_are_needed_and_not_fed_are_named():
    x = tf.placeholder(tf.float32, [2, None], name="x")
    others = [tf.placeholder(tf.float32, [], name=f"z{index}") for index in range(7)]
    y = tf.add_n([tf.reduce_sum(x), *others])
    with pytest.raises(InvalidArgumentError) as caught:
        pruned([y])
    assert caught.value.op is x.op
    message = str(caught.value)
    assert "placeholder tensor 'x' with dtype float and shape [2,?]" in message
    assert "'z0', 'z1', 'z2', 'z3', 'z4'" in message
    assert "'z5'" not in message
    assert "test_prune.py" in message  # the user's line


def test_ops_that_read_a_variable_take_a_value_and_those_that_write_it_a_reference():
    v = tf.Variable(1.0, name="v")
    unit = pruned([tf.assign_add(v, v.value(), name="more")])
    assert node(unit, "more").input_types == (tf.float32._as_ref, tf.float32)
    assert node(unit, "v/read").input_types == (tf.float32,)


def test_a_variable_can_be_fed_to_those_who_read_it_only():
    v = tf.Variable(1.0, name="v")
    ref = v._ref()
    read = tf.negative(v.read_value())
    assert run([read], {ref: 4.0}) == [-4.0]
    with pytest.raises(InvalidArgumentError, match="Input 0 of 'more' must refer to a variable"):
        pruned([tf.assign_add(v, 1.0, name="more")], {ref: ()})


def test_a_variable_that_an_assign_may_resize_is_marked_through_any_chain_of_references():
    plain = tf.Variable(1.0, name="plain")
    chained = tf.Variable(1.0, name="chained")
    first = tf.assign(chained, 2.0)
    tf.assign(first, [1.0, 2.0], validate_shape=False)
    unit = pruned([plain.value(), chained.value()])
    assert "_resizable" not in node(unit, "plain").attrs
    assert node(unit, "chained").attrs["_resizable"]


def test_what_resizes_a_variable_under_one_name_resizes_it_under_all():
    one = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="one")
    two = raw_ops.VariableV2(dtype=tf.float32, shape=[2], shared_name="both", name="two")
    alone = raw_ops.VariableV2(dtype=tf.float32, shape=[2], name="alone")
    grown = raw_ops.Assign(two, np.float32([1, 2, 3]), validate_shape=False)
    unit = pruned([one, grown, alone])
    assert node(unit, "one").attrs["_resizable"]
    assert "_resizable" not in node(unit, "alone").attrs
    assert run([grown, one])[1].tolist() == [1, 2, 3]


def test_ops_of_other_runs_that_refer_to_a_variable_are_noted():
    v = tf.Variable(1.0, name="v")
    tf.assign_add(v, 1.0, name="more")
    tf.negative(v.read_value(), name="aside")
    unit = pruned([v.initializer])
    assert [each.name for each in unit.kin[node(unit, "v").id]] == ["more"]
