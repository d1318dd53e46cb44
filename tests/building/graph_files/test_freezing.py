"""Graphs whose variables are constants."""

from __future__ import annotations

from typing import Any

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


def choices(x: Any, v: Any, w: Any) -> Any:
    """Read of variables in branches, loops, and both."""
    chosen = tf.case([(x > 0, lambda: v * x), (x < -5, lambda: w * x)], default=lambda: w - v)
    nested = tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: v + 1, lambda: w + 2), lambda: x)
    looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v + w), (0, x))[1]
    both = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.cond(y > 3, lambda: y - v, lambda: y + w)),
        (0, x),
    )[1]
    in_branch = tf.cond(
        x > 0,
        lambda: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * v), (0, x))[1],
        lambda: tf.gather(tf.stack([v, w]), 1),
    )
    return tf.stack([chosen, nested, looped, both, in_branch], name="y")


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_that_branches_and_loops_read(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        v, w = (tf.Variable(n, name=f"v{n}", use_resource=use_resource) for n in (2.0, 3.0))
        y = choices(x, v, w)
        session.run(tf.global_variables_initializer())
        feeds = [-9.0, -1.0, 0.5, 7.0]
        expected = [session.run(y, {x: value}) for value in feeds]
        frozen = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(add_shapes=True), ["y"]
        )
    assert not {"VarHandleOp", "ReadVariableOp", "VariableV2"} & {node.op for node in frozen.node}
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(frozen, return_elements=["x:0", "y:0"])
        for value, want in zip(feeds, expected):
            np.testing.assert_array_equal(session.run(y, {x: value}), want)


def merged_handles() -> tuple[Any, Any]:
    """Return a read of one of two variables, which a branch chooses by their handles."""
    v, w = (tf.Variable(n, name=f"v{n:.0f}", use_resource=True) for n in (2.0, 3.0))
    is_first = tf.placeholder(tf.bool, [], name="is_first")
    handle = tf.cond(is_first, lambda: tf.identity(v.handle), lambda: tf.identity(w.handle))
    return is_first, tf.identity(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), "y")


def test_a_read_of_either_variable() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        merged_handles()
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        with pytest.raises(
            ValueError, match=r"Node '.*' reads 'v2', .* freeze all of them, or none"
        ):
            tf.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), ["y"], variable_names_blacklist=["v3"]
            )
    with tf.Graph().as_default(), tf.Session() as session:
        fed, y = tf.import_graph_def(frozen, return_elements=["is_first:0", "y:0"])
        assert [session.run(y, {fed: value}) for value in (True, False)] == [2, 3]


def test_another_use_of_a_handle_is_refused() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v = tf.Variable(2.0, name="v", use_resource=True)
        tf.identity(tf.raw_ops.VarIsInitializedOp(resource=v.handle), name="y")
        session.run(v.initializer)
        with pytest.raises(ValueError, match="takes the variable 'v' itself, not its value"):
            tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
