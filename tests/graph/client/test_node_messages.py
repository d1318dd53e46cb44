"""Operations and graphs as messages, in TensorFlow's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.client import node_messages


def flat(message: Any) -> str:
    return " ".join(str(message).split())


def test_an_operation_is_a_node_def() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 1], name="x")
        first, late = tf.no_op(name="z"), tf.no_op(name="a")
        with tf.control_dependencies([first, late]), tf.device("/gpu:0"):
            total = tf.squeeze(x, [1], name="total").op
    node = total.node_def
    assert isinstance(node, tf.NodeDef)
    assert [*node.input] == ["x", "^z", "^a"]
    assert (node.op, node.device) == ("Squeeze", "/device:GPU:0")
    assert {key: flat(value) for key, value in node.attr.items()} == {
        "T": "type: DT_FLOAT",
        "squeeze_dims": "list { i: 1 }",
    }
    assert str(total) == str(node)
    assert [*total.graph.as_graph_def().node[-1].input][1:] == ["^a", "^z"]  # sorted in a graph


def test_attrs_are_those_of_tensorflow() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        c = tf.constant([1, 2])
        pool = tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), 2, 2, "SAME").op
        with tf.colocate_with(c.op):
            y = tf.identity(c).op
    assert flat(x.op.get_attr("shape")) == "dim { size: -1 } dim { size: 2 }"
    assert flat(c.op.get_attr("value")).startswith("dtype: DT_INT32 tensor_shape")
    assert (pool.get_attr("padding"), pool.get_attr("ksize")) == (b"SAME", [1, 2, 2, 1])
    assert pool.get_attr("T") is tf.float32
    assert y.get_attr("_class") == [b"loc:@Const"]
    with pytest.raises(ValueError, match="Operation 'Const' has no attr named 'nope'"):
        c.op.get_attr("nope")


@pytest.mark.parametrize(
    ("value", "shape", "text"),
    [
        (1, [3], "int_val: 1"),
        ([1, 2], [4], "int_val: 1 int_val: 2"),
        ([1, 2], [2, 1], 'tensor_content: "\\001\\000\\000\\000\\002\\000\\000\\000"'),
        ([1, 2], None, 'tensor_content: "\\001\\000\\000\\000\\002\\000\\000\\000"'),
    ],
)
def test_a_constant_has_the_values_that_filled_its_shape(value: Any, shape: Any, text: str) -> None:
    with tf.Graph().as_default():
        c = tf.constant(value, shape=shape)
    assert flat(c.op.get_attr("value")).endswith(text)


def test_a_tensor_proto_is_a_constant_of_its_dtype_and_shape() -> None:
    proto = tf.make_tensor_proto([1, 2], shape=[4])
    with tf.Graph().as_default(), tf.Session() as session:
        c = tf.constant(proto, dtype=tf.float32)
        assert (c.dtype, c.shape.as_list()) == (tf.int32, [4])
        assert c.op.get_attr("value") == proto
        assert session.run(tf.convert_to_tensor(proto) + 1).tolist() == [2, 3, 3, 3]


def test_an_op_def_is_a_message() -> None:
    with tf.Graph().as_default():
        op = tf.add_n([tf.constant(1.0)] * 2).op
    op_def = op.op_def
    assert (op_def.name, op_def.is_aggregate, op_def.is_commutative) == ("AddN", True, True)
    assert flat(op_def.input_arg[0]) == 'name: "inputs" type_attr: "T" number_attr: "N"'
    attrs = {attr.name: attr for attr in op_def.attr}
    assert (attrs["N"].has_minimum, attrs["N"].minimum) == (True, 1)
    assert len(attrs["T"].allowed_values.list.type) > 5


def test_a_graph_def_has_versions_and_shapes_where_they_are_asked_for() -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.placeholder(tf.float32, [None]), name="y")
        tf.no_op()
    plain, shaped = graph.as_graph_def(), graph.as_graph_def(from_version=1, add_shapes=True)
    assert plain.versions.producer == graph.graph_def_versions.producer == 134
    assert [node.name for node in shaped.node] == ["Placeholder", "y", "NoOp"]
    assert flat(shaped.node[1].attr["_output_shapes"]) == "list { shape { dim { size: -1 } } }"
    assert (
        "_output_shapes" not in shaped.node[2].attr and "_output_shapes" not in plain.node[1].attr
    )
    assert tf.GraphDef.FromString(plain.SerializeToString()) == plain


def test_a_graph_of_more_than_two_gib_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_messages, "_LARGEST", 1000)
    with tf.Graph().as_default() as graph:
        tf.constant(np.zeros(200, np.float32))
        graph.as_graph_def()
        for _ in range(5):
            tf.constant([b"a" * 100, b""])
        with pytest.raises(ValueError, match="GraphDef cannot be larger than 2GB"):
            graph.as_graph_def()
        tf.constant(np.zeros(300, np.float32))
        with pytest.raises(ValueError, match="GraphDef cannot be larger than 2GB"):
            graph.as_graph_def()


def test_the_node_of_an_error_is_a_message() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, name="x")
        bad = tf.reshape(x, [2], name="bad")
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(bad, {x: [1.0, 2.0, 3.0]})
    assert isinstance(caught.value.node_def, tf.NodeDef)
    assert (caught.value.node_def.name, caught.value.node_def.op) == ("bad", "Reshape")


def test_guarded_initial_values_are_written_as_tensorflow_has_them() -> None:
    with tf.Graph().as_default() as graph:
        first = tf.Variable([1.0, 2.0], name="first")
        tf.Variable(first * 2.0, name="second")
        third = tf.Variable(first.initialized_value() + 1.0, name="third")
        tf.variables_initializer(tf.global_variables(), name="init")
        tf.identity(third, name="y")
    written = graph.as_graph_def()
    assert "InitializedValue" not in {node.op for node in written.node}
    assert "cond/Merge" in {node.name for node in written.node}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(written, name="")
        session.run("init")
        assert session.run(["first:0", "second:0", "y:0"])[1].tolist() == [2.0, 4.0]
        assert session.run("y:0").tolist() == [2.0, 3.0]
