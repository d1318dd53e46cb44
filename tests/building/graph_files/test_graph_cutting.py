"""Parts of GraphDefs."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf


def graph_def_of_checks() -> Any:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        checked = tf.check_numerics(x, "bad", name="check")
        passed = tf.identity(checked, name="pass")
        with tf.control_dependencies([checked]):
            tf.negative(passed, name="y")
        with tf.control_dependencies([tf.identity(x, name="waited")]):
            tf.identity(x, name="waits")
        tf.identity(x, name="kept")
        with tf.colocate_with(tf.identity(x, name="leader")):
            tf.negative(x, name="follower")
    return graph.as_graph_def()


def test_a_part_has_what_its_nodes_need() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        with tf.control_dependencies([tf.no_op(name="n")]):
            tf.negative(x, name="y")
        with tf.colocate_with(tf.constant(1.0, name="leader")):
            tf.identity(x, name="z")
    whole = graph.as_graph_def()
    part = tf.graph_util.extract_sub_graph(whole, ["y"])
    assert [node.name for node in part.node] == ["x", "n", "y"]
    assert (part.versions, part.node[0]) == (whole.versions, whole.node[0])
    part = tf.graph_util.extract_sub_graph(whole, ["z"])
    assert [node.name for node in part.node] == ["x", "leader", "z"]
    with pytest.raises(AssertionError, match="w is not in graph"):
        tf.graph_util.extract_sub_graph(whole, ["w"])
    with pytest.raises(TypeError, match="dest_nodes must be a list"):
        tf.graph_util.extract_sub_graph(whole, "y")
    with pytest.raises(TypeError, match=r"graph_def must be a graph_pb2\.GraphDef proto"):
        tf.graph_util.extract_sub_graph("y", ["y"])


def test_what_only_training_needs_is_removed() -> None:
    part = tf.graph_util.remove_training_nodes(graph_def_of_checks(), ["kept"])
    assert {node.name: [*node.input] for node in part.node} == {
        "x": [],
        "y": ["x"],
        "waited": ["x"],
        "waits": ["x", "^waited"],
        "kept": ["x"],
        "leader": ["x"],
        "follower": ["x"],
    }
    protected = tf.graph_util.remove_training_nodes(graph_def_of_checks(), ["check"])
    assert {"check", "y"} <= {node.name for node in protected.node}


def test_a_cycle_of_identities_ends() -> None:
    graph_def = tf.GraphDef()
    for name, source in (("a", "b"), ("b", "a"), ("c", "a")):
        graph_def.node.add(name=name, op="Identity", input=[source])
    graph_def.node.add(name="d", op="Neg", input=["c"])
    assert [node.name for node in tf.graph_util.remove_training_nodes(graph_def).node] == ["d"]


def test_what_runs_on_the_cpu_alone() -> None:
    with tf.Graph().as_default():
        whole, real = tf.constant(1), tf.constant(1.0)
        table = [
            (whole.op, True), (real.op, False), (tf.constant("s").op, True),
            (tf.cast(whole, tf.float32).op, True), (tf.cast(real, tf.int32).op, False),
            (tf.dynamic_stitch([[0]], [[1]]).op, True), (tf.Variable(1.0).op, False),
        ]  # fmt: skip
    for op, expected in table:
        assert tf.graph_util.must_run_on_cpu(op) is expected, op.type
        assert tf.graph_util.must_run_on_cpu(op.node_def) is expected
    assert tf.graph_util.must_run_on_cpu(table[-1][0], pin_variables_on_cpu=True)
    with pytest.raises(TypeError, match="node must be a NodeDef proto"):
        tf.graph_util.must_run_on_cpu("Const")


def test_the_shape_of_an_input_by_its_name() -> None:
    with tf.Graph().as_default() as graph:
        tf.unstack(tf.zeros([2, 3]), name="parts")
    for name in ("parts", "parts:1"):
        assert tf.graph_util.tensor_shape_from_node_def_name(graph, name).as_list() == [3]
