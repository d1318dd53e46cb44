"""GraphDefs compared node by node."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.formats import messages_pb2


def graph_def(*inputs: str, name: str = "a", op: str = "NoOp", **fields: Any) -> Any:
    attrs = {
        key: messages_pb2.AttrValue(i=fields.pop(key)) for key in list(fields) if key != "device"
    }
    return tf.GraphDef(node=[tf.NodeDef(name=name, op=op, input=inputs, attr=attrs, **fields)])


EMPTY = tf.GraphDef()
DIFFERENCES = [
    (graph_def(), EMPTY, "Found unexpected node '{{node a}}'"),
    (EMPTY, graph_def(), "Did not find expected node '{{node a}}'"),
    (graph_def(), graph_def(op="Add"), "Node named 'a' has op 'NoOp' that is not expected 'Add'"),
    (graph_def(device="/cpu:0"), graph_def(), "has device '/cpu:0' that is not expected ''"),
    (graph_def("b"), graph_def(), "has inputs 'b' that don't match expected ''"),
    (graph_def("b"), graph_def("c"), "has input 0 'b' that doesn't match expected 'c'"),
    (graph_def("^b"), graph_def("^c"), "Node named 'a' missing expected control input '^c'"),
    (graph_def("^b"), graph_def(), "Node named 'a' has unexpected control input '^b'"),
    (graph_def(x=1), graph_def(), "Node named 'a' has unexpected attr 'x' with value: 1"),
    (graph_def(), graph_def(x=1), "Node named 'a' missing expected attr 'x' with value: 1"),
    (graph_def(x=2), graph_def(x=1), "attr 'x' with value: 2 that does not match expected: 1"),
]


@pytest.mark.parametrize(("actual", "expected", "said"), DIFFERENCES)
def test_what_differs_is_said(actual: Any, expected: Any, said: str) -> None:
    with pytest.raises(AssertionError) as caught:
        tf.test.assert_equal_graph_def(actual, expected)
    assert said in str(caught.value)


def test_what_is_the_same_is_equal() -> None:
    one = graph_def("b", "c:0", "^d", "^e", _own=3)
    other = graph_def("b:0", "c", "^e", "^d", _own=4)
    one.versions.producer = 3
    tf.test.assert_equal_graph_def(one, other)
    with tf.Graph().as_default() as graph:
        tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
    tf.test.assert_equal_graph_def(graph.as_graph_def(), graph.as_graph_def())


def test_savers_and_tables_may_be_left_out() -> None:
    save, other = graph_def(op="SaveV2", x=1), graph_def(op="SaveV2", x=2)
    tf.test.assert_equal_graph_def(save, other, checkpoint_v2=True)
    table, another = (graph_def(op="HashTableV2", shared_name=number) for number in (1, 2))
    tf.test.assert_equal_graph_def(table, another, hash_table_shared_name=True)
    with pytest.raises(AssertionError):
        tf.test.assert_equal_graph_def(table, another)


def test_what_is_no_graph_def_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Expected tf\.GraphDef for actual, got int"):
        tf.test.assert_equal_graph_def(1, EMPTY)
    with pytest.raises(TypeError, match=r"Expected tf\.GraphDef for expected, got int"):
        tf.test.assert_equal_graph_def(EMPTY, 1)
