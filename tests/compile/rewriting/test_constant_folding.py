"""Fold: shapes known at compile time, and constants that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.rewriting.constant_folding import LARGEST_FOLDED
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, make_target, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def folded(fetches, feeds=None):
    return compiled(fetches, feeds, upto="constant_folding")


def value(unit, index=0):
    """Return the constant that a fetch has become."""
    source = unit.retvals[index].input_edge(0).src
    assert source.type == "Const"
    return source.attrs["value"]


def test_fed_shapes_settle_all_that_follow():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, tf.ones([3, 5]), name="y")
    unit = folded([y], {x: (7, 3)})
    assert unit.shapes[node(unit, "y").id][0].as_list() == [7, 5]


def test_ops_of_constants_are_evaluated_and_dropped():
    y = tf.add(tf.constant([1, 2]) * 3, [10, 20], name="y")
    unit = folded([y])
    assert value(unit).tolist() == [13, 26]
    assert types(unit) == ["Const"]
    op = node(unit, "y")
    assert unit.reports[-1].lines == [f"{op.name}: {y.op.type} of constants or known shapes"]
    assert not value(unit).flags.writeable


def test_shapes_sizes_and_ranks_need_no_value():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.exp(x)
    asked = [tf.shape(y, out_type=tf.int64), tf.size(y), tf.rank(y), *tf.shape_n([y, y])]
    unit = folded(asked, {x: (2, 3)})
    assert types(unit) == ["Const"] * 5  # nothing computes y
    assert [value(unit, index).tolist() for index in range(5)] == [[2, 3], 6, 2, [2, 3], [2, 3]]
    assert value(unit, 0).dtype == np.int64


def test_a_rank_is_known_before_the_sizes_are():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    unit = folded([tf.rank(x), tf.shape(x, name="sizes")], {x: (None, 3)})
    assert value(unit, 0) == 2
    assert node(unit, "sizes").type == "Shape"


def test_shape_arithmetic_settles_a_reshape():
    x = tf.placeholder(tf.float32, None, name="x")
    rows = tf.shape(x)[0]
    y = tf.reshape(x, tf.stack([rows, -1]), name="y")
    unit = folded([y], {x: (4, 2, 5)})
    assert unit.shapes[node(unit, "y").id][0].as_list() == [4, 10]
    assert types(unit) == ["Const", "Reshape"]


def test_both_outputs_of_broadcast_gradient_args_fold():
    result = raw_ops.BroadcastGradientArgs(np.array([2, 3], np.int32), np.array([3], np.int32))
    unit = folded(list(result))
    assert [value(unit, index).tolist() for index in (0, 1)] == [[], [0]]


def test_only_outputs_that_are_taken_become_constants():
    _, right = tf.split(tf.constant([1, 2, 3, 4]), 2)
    unit = folded([right])
    assert types(unit) == ["Const"]
    assert value(unit).tolist() == [3, 4]


def test_stateful_ops_never_fold():
    y = tf.random_uniform([2], seed=1, name="y")
    assert "RandomUniform" in types(folded([y]))


def test_what_would_be_large_is_left_to_the_run():
    most = LARGEST_FOLDED // 4
    small, large = tf.fill([most], 1.0), tf.fill([most + 1], 1.0)
    assert types(folded([small])) == ["Const"]
    assert "Fill" in types(folded([large]))


def test_a_large_output_whose_size_only_the_kernel_knows_is_not_kept():
    result = tf.where(np.ones(LARGEST_FOLDED + 1, bool))
    assert "Where" in types(folded([result]))


def test_errors_are_left_to_the_run_which_names_the_node():
    y = tf.floordiv(tf.constant(1), tf.constant(0), name="y")
    unit = folded([y])
    assert node(unit, "y").type == "FloorDiv"
    with pytest.raises(tf.errors.InvalidArgumentError, match="node y"):
        run([y])


def test_shapes_that_do_not_fit_are_refused_with_node_and_line():
    x = tf.placeholder(tf.float32, None, name="x")
    y = tf.matmul(x, tf.ones([3, 5]), name="y")
    with pytest.raises(InvalidArgumentError) as caught:
        folded([y], {x: (7, 4)})
    message = str(caught.value)
    assert message.startswith("Matrix size-incompatible: In[0]: [7,4], In[1]: [3,5]")
    assert f"node {y.op.name} " in message
    assert "test_constant_folding.py" in message


def test_an_order_that_was_asked_for_outlives_the_folded_op():
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign(v, 5.0, name="written")]):
        y = tf.negative(tf.constant(2.0), name="y")
    unit = folded([y])
    source = unit.retvals[0].input_edge(0).src
    assert source.type == "Const"
    assert [node.name for node in source.control_inputs] == ["written"]


def test_what_a_constant_waited_for_passes_on_to_what_is_made_of_it():
    v = tf.Variable(1.0, name="v")
    target = make_target()
    run([v.initializer], target=target)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        c = tf.constant(2.0)
    y = tf.negative(c * 3.0)
    assert run([y], target=target) == [-6.0]
    assert run([v.value()], target=target) == [5.0]


@pytest.mark.parametrize(
    "ask", [raw_ops.Shape, raw_ops.Size, raw_ops.Rank, lambda x: raw_ops.Shape(x) * 2 + 1]
)
def test_asking_for_the_shape_of_what_acts_makes_it_act(ask):
    v = tf.Variable([1.0, 2.0], name="v")
    target = make_target()
    run([v.initializer], target=target)
    run([ask(tf.assign_add(v, [1.0, 1.0]))], target=target)
    assert run([v.value()], target=target)[0].tolist() == [2.0, 3.0]


def test_asking_for_the_shape_of_what_waits_for_an_action_waits_too():
    v = tf.Variable([1.0, 2.0], name="v")
    x = tf.placeholder(tf.float32, [2])
    target = make_target()
    run([v.initializer], target=target)
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        late = tf.identity(x)
    rows = tf.cast(raw_ops.Shape(late), tf.float32)
    total = raw_ops.Mul(v._ref(), rows)  # reads v when the shape is there
    assert run([total], {x: [0.0, 0.0]}, target)[0].tolist() == [4.0, 6.0]


def test_the_shape_of_a_variable_needs_no_value():
    v = tf.Variable([1.0, 2.0], name="v")
    assert run([raw_ops.Shape(v._ref())])[0].tolist() == [2]  # before any initializer has run


def test_dropped_and_folded_are_counted():
    x = tf.placeholder(tf.float32, [3])
    unit = folded([raw_ops.Shape(tf.exp(tf.negative(x))), tf.constant(1)], {x: (3,)})
    assert unit.reports[-1].summary == "1 tensors became constants, 2 ops were dropped"
