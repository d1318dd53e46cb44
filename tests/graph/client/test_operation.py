"""Operations and tensors of the client graph."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from gpugraph.base import dtypes
from gpugraph.base.errors import OperatorNotAllowedInGraphError
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant


@pytest.fixture
def g() -> Any:
    made = Graph()
    with made.as_default():
        yield made


def float_input(name: str = "x") -> Any:
    return placeholder(dtypes.float32, (2,), name=name)


# -- operations


def test_an_operation_says_what_it_is(g: Graph) -> None:
    x = float_input()
    with g.device("/gpu:1"), g.control_dependencies([constant(1, name="c")]):
        y = raw_ops.Add(x, x, name="y")
    op = y.op
    assert (op.name, op.type, op.device, op.graph) == ("y", "Add", "/device:GPU:1", g)
    assert (list(op.inputs), op.outputs, op.values()) == ([x, x], [y], (y,))
    assert [each.name for each in op.control_inputs] == ["c"]
    assert (op.op_def.name, op.get_attr("T")) == ("Add", dtypes.float32)
    assert repr(op) == "<tf.Operation 'y' type=Add>"


def test_an_operation_as_data(g: Graph) -> None:
    x = float_input()
    high, index = raw_ops.TopKV2(x, 1, name="top")
    with g.device("/cpu:0"), g.control_dependencies([index, x]):
        op = raw_ops.Add(index, index, name="y").op
    node = op.node_def
    assert (node.name, node.op, node.device) == ("y", "Add", "/device:CPU:0")
    assert node.input == ["top:1", "top:1", "^x"]
    assert [*node.attr] == ["T"] and node.attr["T"].type == dtypes.int32.as_datatype_enum
    assert 'name: "y"' in str(op)
    assert 'input: "top:1"' in str(op)
    with g.control_dependencies([high]):
        assert constant(1).op.node_def.input == ["^top"]


def test_lists_of_an_operation_are_copies(g: Graph) -> None:
    op = raw_ops.Add(float_input(), float_input(), name="y").op
    op.outputs.clear()
    op.control_inputs.append(op)
    op.node_def.attr.clear()
    assert (len(op.outputs), op.control_inputs, op.get_attr("T")) == (1, [], dtypes.float32)


def test_an_attr_that_is_not_there_names_those_that_are(g: Graph) -> None:
    with pytest.raises(ValueError, match=r"Operation 'x' has no attr named 'nope'.*dtype.*shape"):
        float_input().op.get_attr("nope")


def test_programs_may_hang_attributes_on_operations_and_tensors(g: Graph) -> None:
    x = float_input()
    x._keras_history = 1
    x.op.note = 2
    assert (g.get_tensor_by_name("x:0")._keras_history, x.op.note) == (1, 2)  # type: ignore[attr-defined]


# -- mutable attributes


def test_an_input_can_be_replaced(g: Graph) -> None:
    x, other = float_input(), float_input("other")
    y, z = raw_ops.Add(x, x), raw_ops.Add(x, other)
    y.op._update_input(1, other)
    assert list(y.op.inputs) == [x, other]
    assert (x.consumers(), other.consumers()) == ([y.op, z.op], [z.op, y.op])
    y.op._update_input(0, other)
    assert (x.consumers(), other.consumers()) == ([z.op], [z.op, y.op, y.op])
    after = raw_ops.Add(other, x)
    assert (x.consumers(), other.consumers()) == ([z.op, after.op], [z.op, y.op, y.op, after.op])


def test_a_graph_may_hold_cycles(g: Graph) -> None:
    x = float_input()
    y = raw_ops.Add(x, x)
    z = raw_ops.Add(y, y)
    y.op._update_input(0, z)
    y.op._add_control_input(z.op)
    assert (y.op.inputs, y.op.control_inputs) == ((z, x), [z.op])
    assert z.consumers() == [y.op]


def test_only_what_fits_replaces_an_input(g: Graph) -> None:
    y = raw_ops.Add(float_input(), float_input("b"))
    before = y.op.inputs
    with Graph().as_default():
        foreign = float_input()
    for index, given, error, said in [
        (0, "x:0", TypeError, "must be a Tensor: 'x:0'"),
        (0, constant(1), TypeError, "is float32; it can't become Const:0, which is int32"),
        (0, foreign, ValueError, "must be from the same graph"),
        (2, y, IndexError, "2 inputs, and none at 2"),
        (-1, y, IndexError, "2 inputs, and none at -1"),
    ]:
        with pytest.raises(error, match=said):
            y.op._update_input(index, given)
    assert y.op.inputs is before
    assert y.consumers() == []


def test_control_inputs_are_added_once(g: Graph) -> None:
    a, b, c = (constant(0, name=name).op for name in "abc")
    c._add_control_inputs([a, b, a])
    c._add_control_inputs([b])
    assert c.control_inputs == [a, b]
    with Graph().as_default():
        foreign = constant(1).op
    with pytest.raises(ValueError, match="same graph"):
        c._add_control_inputs([foreign])
    with pytest.raises(TypeError, match="must be an Operation"):
        c._add_control_input(a.outputs[0])
    assert c.control_inputs == [a, b]


# -- tensors


def test_a_tensor_says_what_it_is(g: Graph) -> None:
    x = float_input()
    high, index = raw_ops.TopKV2(x, 1, name="top")
    assert (high.name, index.name, index.value_index) == ("top:0", "top:1", 1)
    assert (index.dtype, index.op, index.graph) == (dtypes.int32, high.op, g)
    assert x.shape.as_list() == [2]
    assert x.get_shape() is x.shape
    assert x.device == ""


def test_a_tensor_as_text(g: Graph) -> None:
    x = placeholder(dtypes.float32, name="x")
    assert str(x) == 'Tensor("x:0", dtype=float32)'
    assert str(placeholder(dtypes.int32, [None, 2], name="y")) == (
        'Tensor("y:0", shape=(?, 2), dtype=int32)'
    )
    with g.device("/gpu:0"):
        z = constant(1, name="z")
    assert str(z) == 'Tensor("z:0", shape=(), dtype=int32, device=/device:GPU:0)'
    assert repr(z) == "<tf.Tensor 'z:0' shape=() dtype=int32>"


def test_a_shape_is_narrowed_and_never_widened(g: Graph) -> None:
    x = placeholder(dtypes.float32, [None, 2])
    x.set_shape([3, None])
    assert x.shape.as_list() == [3, 2]
    x.set_shape(None)
    assert x.shape.as_list() == [3, 2]
    for wrong in ([4, 2], [3], []):
        with pytest.raises(ValueError, match="must be equal"):
            x.set_shape(wrong)
    assert x.shape.as_list() == [3, 2]


def test_consumers_are_those_that_are_there_now(g: Graph) -> None:
    x = float_input()
    assert x.consumers() == []
    first = raw_ops.Add(x, x).op
    assert x.consumers() == [first, first]
    second = raw_ops.Identity(x).op
    x.consumers().clear()
    assert x.consumers() == [first, first, second]


def test_tensors_are_themselves(g: Graph) -> None:
    x, y = float_input(), float_input("y")
    assert x == x
    assert x != y
    assert len({x, y, x}) == 2
    assert copy.copy(x) is x
    assert copy.deepcopy({"x": [x]}) == {"x": [x]}
    assert (np.zeros(2) == x) is False


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (bool, OperatorNotAllowedInGraphError),
        (list, OperatorNotAllowedInGraphError),
        (lambda x: x and 1, OperatorNotAllowedInGraphError),
        (lambda x: 1 in x, TypeError),
        (len, TypeError),
        (float, TypeError),
        (int, TypeError),
        (lambda x: [1, 2][x], TypeError),
        (np.asarray, NotImplementedError),
        (lambda x: np.array([x]), NotImplementedError),
    ],
)
def test_a_tensor_has_no_value_while_the_graph_is_built(
    g: Graph, use: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        use(float_input())


@pytest.mark.parametrize("use", [bool, list, len, np.asarray], ids=str)
def test_such_misuse_names_the_tensor(g: Graph, use: Any) -> None:
    with pytest.raises(TypeError, match=r"x:0"):
        use(float_input())


def test_a_tensor_is_stood_for_by_a_reference(g: Graph) -> None:
    x, y = float_input(), float_input()
    assert x.experimental_ref() == x.experimental_ref() != y.experimental_ref()
    assert {x.experimental_ref(): 1}[x.experimental_ref()] == 1
    assert x.experimental_ref().deref() is x
    assert x.experimental_ref() != x


def test_where_the_functions_begin_that_made_it(g: Graph) -> None:
    op = float_input().op
    plain, starts = op.traceback, op.traceback_with_start_lines
    assert [entry[:4] for entry in starts] == plain
    assert all(0 < entry[4] <= entry[1] for entry in starts)


def test_the_arguments_of_a_signature_by_tensorflow_s_names(g: Graph) -> None:
    x = float_input()
    op_def = raw_ops.Add(x, x).op.op_def
    assert [arg.name for arg in op_def.input_arg] == ["x", "y"]
    assert [arg.name for arg in op_def.output_arg] == ["z"]
