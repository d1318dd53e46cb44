"""Operations that a program makes of NodeDef messages."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf


def add_n(name: str = "sum") -> Any:
    attrs = {"N": tf.AttrValue(i=2), "T": tf.AttrValue(type=1)}
    return tf.NodeDef(name=name, op="AddN", attr=attrs)


def no_op(name: str) -> Any:
    return tf.NodeDef(name=name, op="NoOp")


@pytest.fixture
def g() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_it_is_an_operation_as_others(g: Any) -> None:
    x, first = tf.constant([1.0, 2.0], name="x"), tf.constant(3, name="first")
    node = add_n()
    node.device = "/device:CPU:0"
    with g.device("/device:GPU:7"), g.name_scope("scope"):
        op = tf.Operation(node, g, [x, x], control_inputs=[first], original_op=x.op)
    assert (repr(op), op.name, op.type) == ("<tf.Operation 'sum' type=AddN>", "sum", "AddN")
    assert (op.device, op.control_inputs, list(op.inputs)) == ("/device:CPU:0", [first.op], [x, x])
    assert op.outputs[0].shape.as_list() == [2]
    assert (op._original_op, x.op._original_op) == (x.op, None)
    assert g.get_operation_by_name("sum") is op and x.consumers() == [op, op]
    assert op.node_def.input == ["x", "x", "^first"] and 'op: "AddN"' in str(op)
    assert "test_node_def_operation" in str(op.origin)
    assert tf.add_n([x, x], name="sum").name == "sum_1:0"
    with tf.Session() as session:
        assert session.run(op.outputs[0]).tolist() == [2.0, 4.0]


def test_a_constant_of_a_message(g: Any) -> None:
    value = tf.make_tensor_proto(7.0, shape=[3])
    attrs = {"value": tf.AttrValue(tensor=value), "dtype": tf.AttrValue(type=1)}
    node = tf.NodeDef(name="c", op="Const", attr=attrs)
    op = tf.Operation(node, g)
    assert op.get_attr("value") == value
    assert tf.Session().run(op.outputs[0]).tolist() == [7.0] * 3
    node.attr["dtype"].type, node.name = 3, "d"
    with pytest.raises(ValueError, match="the DataType enum 1, but attr 'dtype' is int32"):
        tf.Operation(node, g)


def test_inside_a_loop_it_takes_what_is_outside(g: Any) -> None:
    x = tf.constant(1.0)

    def body(v: Any) -> Any:
        return tf.Operation(add_n("step"), g, [v, x]).outputs[0]

    total = tf.while_loop(lambda v: v < 3.5, body, [0.0])
    assert tf.Session().run(total) == 4.0


@pytest.mark.parametrize("name", ["", "_a", "-a", "/a", "a:0", "a b"])
def test_names_that_are_none(name: str, g: Any) -> None:
    with pytest.raises(ValueError, match=f"^'{name}' is not a valid node name$"):
        tf.Operation(no_op(name), g, [], [])


def test_what_is_refused(g: Any) -> None:
    x = tf.constant(1.0, name="x")
    number = tf.constant(1)
    with tf.Graph().as_default():
        stranger = tf.constant(1.0)
    cases: list[tuple[Any, Any, dict[str, Any], type, str]] = [
        ("x", g, {}, TypeError, "node_def must be a NodeDef proto."),
        (no_op("a"), None, {}, TypeError, "g needs to be a Graph: None"),
        (no_op("a"), g, {"inputs": 3}, TypeError, "inputs needs to be a list of Tensors: 3"),
        (no_op("a"), g, {"inputs": [3]}, TypeError, "input needs to be a Tensor: 3"),
        (no_op("a"), g, {"control_inputs": [3]}, TypeError, "Control input must be an Operation"),
        (no_op("a"), g, {"inputs": [x]}, ValueError, "NodeDef expected inputs '' do not match 1"),
        (no_op("x"), g, {}, ValueError, "An operation named 'x' is already in the graph"),
        (add_n(), g, {"inputs": [x, stranger]}, ValueError, "must be from the same graph"),
        (add_n(), g, {"inputs": [x, number]}, ValueError, "Input 1 of node sum was passed"),
        (
            add_n(),
            g,
            {"inputs": [x, x], "input_types": [tf.int32, tf.float32]},
            TypeError,
            "In op 'sum', input types",
        ),
        (
            tf.NodeDef(name="a", op="Unheard"),
            g,
            {},
            tf.errors.NotFoundError,
            "Op type not registered 'Unheard' in binary",
        ),
    ]
    count = len(g.get_operations())
    for node, graph, arguments, error, words in cases:
        with pytest.raises(error, match=words):
            tf.Operation(node, graph, **arguments)
    assert len(g.get_operations()) == count
