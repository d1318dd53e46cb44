"""Graphs whose variables are constants."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_frozen_net_computes_the_same(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w", use_resource=use_resource)
        b = tf.Variable(3.0, name="b", use_resource=use_resource)
        tf.nn.relu(x @ w + b, name="y")
        session.run(tf.global_variables_initializer())
        session.run(w.assign_add([[1.0], [1.0]]))
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        partly = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"], variable_names_blacklist=["b"]
        )
        same = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"], variable_names_whitelist=["b"]
        )
    kind = "VarHandleOp" if use_resource else "VariableV2"
    kinds = {"Const", "Identity", "Placeholder", "MatMul", "Relu", "Add", "AddV2"}
    assert {node.op for node in frozen.node} <= kinds
    assert [node.name for node in partly.node if node.op == kind] == ["b"]
    assert [node.name for node in same.node if node.op == kind] == ["w"]
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(frozen, return_elements=["x:0", "y:0"])
        assert session.run(y, {x: np.ones([1, 2])}).tolist() == [[8.0]]


def test_gathers_of_frozen_variables_and_their_colocation() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v = tf.Variable([1.0, 2.0, 3.0], name="v", use_resource=True)
        tf.identity(v.sparse_read([2, 0]), name="y")
        session.run(v.initializer)
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    gathers = [node for node in frozen.node if node.op == "GatherV2"]
    assert [list(node.input) for node in gathers] == [["v", "Gather/indices", "Gather/axis"]]
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"])
        assert session.run(y).tolist() == [3.0, 1.0]


def test_what_can_t_be_frozen_is_refused() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        handle = tf.placeholder(tf.resource, [], name="handle")
        tf.raw_ops.ReadVariableOp(handle, dtype=tf.float32, name="read")
        for outputs, error, said in (
            (
                ["read"],
                ValueError,
                "Cannot find the variable that is an input to the ReadVariableO",
            ),
            (["nope"], AssertionError, "nope is not in graph"),
        ):
            with pytest.raises(error, match=said):
                tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), outputs)
        with pytest.raises(TypeError, match="must be a graph_pb2"):
            tf.graph_util.convert_variables_to_constants(session, graph, ["read"])
