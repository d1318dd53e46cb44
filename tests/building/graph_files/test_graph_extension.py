"""Graphs that grow by GraphDefs."""

from __future__ import annotations

import itertools

import pytest

import gpugraph as tf
from gpugraph.building.graph_files.graph_extension import extend_graph
from gpugraph.graph.client.node_messages import graph_def_of


def parts(graph: tf.Graph, *versions: int) -> list[tf.GraphDef]:
    """Return the graph in parts that end with these numbers of operations."""
    ends = [0, *versions, graph.version]
    return [
        graph_def_of(graph._ops[first:last], graph._versions, False, sort_controls=False)
        for first, last in itertools.pairwise(ends)
    ]


def test_parts_make_the_graph() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        v = tf.get_variable("v", initializer=2.0)
        first = graph.version
        with tf.control_dependencies([x]), tf.device("/cpu:0"):
            y = tf.while_loop(lambda n: n < 9.0, lambda n: n * v, [x])
        with tf.colocate_with(v.op):
            tf.identity(y, name="z")
    copy = tf.Graph()
    for part in parts(graph, first):
        extend_graph(copy, part)
    assert copy.as_graph_def() == graph.as_graph_def()
    with tf.Session(graph=copy) as session:
        session.run("v/Assign")
        assert session.run("z:0", {"x:0": 2.0}) == 16


def test_a_name_that_is_taken_and_one_that_is_not_there() -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.constant(1, name="a"), name="b")
    copy = tf.Graph()
    a, b = parts(graph, 1)
    with pytest.raises(ValueError, match="Unknown input node 'a'"):
        extend_graph(copy, b)
    extend_graph(copy, a)
    with pytest.raises(tf.errors.AlreadyExistsError, match="has an operation 'a' already"):
        extend_graph(copy, a)
    extend_graph(copy, b)
    assert [op.name for op in copy.get_operations()] == ["a", "b"]
