"""Variables as ops: inference, the graph, and which tensors can be written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import DECLARATIONS, raw_ops
from gpugraph.ops.state.reference_variable_ops import with_initialized_reads


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_bare_variable_by_its_ops():
    v = raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    flag = raw_ops.IsVariableInitialized(v)
    assign = raw_ops.Assign(v, [1.0, 2.0])
    add, sub = raw_ops.AssignAdd(v, [1.0, 1.0]), raw_ops.AssignSub(v, [0.5, 0.5])
    with tf.Session() as session:
        assert not session.run(flag)
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="uninitialized value VariableV2"
        ):
            session.run(add)
        assert session.run(assign).tolist() == [1, 2]
        assert session.run(flag)
        assert session.run(add).tolist() == [2, 3]
        assert session.run(sub).tolist() == [1.5, 2.5]


def test_a_shared_name_is_one_variable():
    first, second = (
        raw_ops.VariableV2(shape=[], dtype=tf.float32, shared_name="one", name=name)
        for name in ("a", "b")
    )
    with tf.Session() as session:
        session.run(raw_ops.Assign(first, 3.0))
        assert session.run(raw_ops.Identity(second)) == 3


def test_shapes_of_what_is_assigned():
    open_shape = raw_ops.VariableV2(shape=None, dtype=tf.float32)
    half_open = raw_ops.VariableV2(shape=[None, 2], dtype=tf.float32)
    assert raw_ops.Assign(half_open, [[1.0, 2.0]]).shape.as_list() == [1, 2]
    assert raw_ops.Assign(open_shape, [1.0]).shape.as_list() == [1]
    assert raw_ops.Assign(half_open, [1.0], validate_shape=False).shape.as_list() == [1]
    for kind in (raw_ops.Assign, raw_ops.AssignAdd, raw_ops.AssignSub):
        with pytest.raises(ValueError, match="must be equal rank"):
            kind(half_open, [1.0])


def test_attrs_of_the_functions():
    v = tf.Variable(1.0)
    results = [tf.assign(v, 1.0), tf.assign(v, 1.0, False, False), tf.assign_add(v, 1.0, True)]
    assert [tensor.op.attrs["use_locking"] for tensor in results] == [True, False, True]
    assert [tensor.op.attrs["validate_shape"] for tensor in results[:2]] == [True, False]


def test_every_op_that_writes_is_stateful_and_runs_beside_its_variable():
    writers = [decl for decl in DECLARATIONS.values() if decl.memory.writes]
    assert {"Assign", "AssignAdd", "ApplyAdam"} <= {decl.op_def.name for decl in writers}
    for decl in writers:
        assert decl.op_def.is_stateful
        assert decl.op_def.inputs[0].is_ref
    v = tf.Variable([1.0], name="v")
    with tf.device("/gpu:7"):
        result = raw_ops.ApplyGradientDescent(v, 0.1, [1.0])
    assert (result.op.colocation_groups(), result.device) == ([b"loc:@v"], "")


def test_initialized_value():
    v = tf.Variable(1.0)
    either = v.initialized_value()
    with tf.Session() as session:
        assert session.run(either) == 1
        session.run(v.assign(5.0))
        assert session.run(either) == 5


def test_reads_are_replaced_only_where_there_are_any(graph):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    constant, sum_of_both = tf.constant(1.0), tf.add(v * 2.0, w, name="both")
    before = len(graph.get_operations())

    def find(op):
        return tf.constant(10.0, name="ten") if op.name == "v" else None

    assert with_initialized_reads(constant, find, "x") is constant
    assert with_initialized_reads(w.value(), find, "x") is w.value()
    assert len(graph.get_operations()) == before
    with tf.name_scope("scope"):
        new = with_initialized_reads(sum_of_both, find, "x")
    assert new.op.name == "both_x"
    assert [tensor.op.name for tensor in new.op.inputs] == ["mul_x", "w/read"]
    with tf.Session() as session:
        session.run(w.initializer)
        assert session.run(new) == 22


def test_long_initial_values_are_no_recursion():
    v = tf.Variable(1.0)
    value = v.value()
    for _ in range(2000):
        value = tf.identity(value)
    copied = tf.Variable(value)
    with tf.Session() as session:
        session.run(copied.initializer)
        assert session.run(copied) == 1
