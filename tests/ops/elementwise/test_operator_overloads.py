"""Python's operators on tensors: the ops they make, under which names, of which dtypes."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant

from ..evaluator import evaluate

BINARY = [
    (operator.add, "AddV2", "add"),
    (operator.sub, "Sub", "sub"),
    (operator.mul, "Mul", "mul"),
    (operator.truediv, "RealDiv", "truediv"),
    (operator.floordiv, "FloorDiv", "floordiv"),
    (operator.mod, "FloorMod", "mod"),
    (operator.pow, "Pow", "pow"),
]


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(("function", "op_type", "name"), BINARY)
def test_arithmetic(function, op_type, name):
    x, y = np.float32([1, 2, 3]), np.float32([3, 2, 4])
    output = function(constant(x), constant(y))
    assert (output.op.type, output.op.name) == (op_type, name)
    np.testing.assert_allclose(evaluate(output), function(x, y))


@pytest.mark.parametrize(("function", "op_type", "name"), BINARY)
@pytest.mark.parametrize("other", [2, 2.0, np.float64(2), [2.0, 3.0], np.array([2, 3])])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_stands_beside_takes_the_dtype(function, op_type, name, other, dtype):
    x = np.array([1, 2], dtype)
    left, right = function(constant(x), other), function(other, constant(x))
    assert left.dtype == right.dtype == dtype
    assert left.op.inputs[1].op.name == f"{name}/y"
    assert right.op.inputs[0].op.name == f"{name}_1/x"
    value = np.array(other, dtype)
    np.testing.assert_allclose(evaluate(left), function(x, value), rtol=2e-3)
    np.testing.assert_allclose(evaluate(right), function(value, x), rtol=2e-3)


def test_integers():
    x = constant([7, -7])
    assert evaluate(x / 2).tolist() == [3.5, -3.5]
    assert (x / 2).dtype == "float64"
    assert evaluate(2 / x).dtype == "float64"
    assert evaluate(x // 2).tolist() == [3, -4]
    assert evaluate(x % 2).tolist() == [1, 1]
    assert evaluate(x**2).tolist() == [49, 49]
    assert evaluate(x + np.float32(2.5)).tolist() == [9, -5]
    with pytest.raises(TypeError, match=r"Expected int32, got 2\.5"):
        x * 2.5


def test_dtypes_must_agree():
    with pytest.raises(TypeError, match="float64 that does not match type float32"):
        constant([1.0]) + constant(np.float64([1]))
    with pytest.raises(TypeError, match="must have the same dtype"):
        constant([1.0]) / constant([1])


@pytest.mark.parametrize(
    ("function", "op_type"),
    [
        (operator.lt, "Less"),
        (operator.le, "LessEqual"),
        (operator.gt, "Greater"),
        (operator.ge, "GreaterEqual"),
    ],
)
def test_comparisons(function, op_type):
    x = np.float32([1, 2, 3])
    output = function(constant(x), 2)
    assert (output.op.type, output.op.name) == (op_type, op_type)
    np.testing.assert_array_equal(evaluate(output), function(x, 2))
    np.testing.assert_array_equal(evaluate(function(2, constant(x))), function(2, x))


@pytest.mark.parametrize(
    ("function", "name"), [(operator.and_, "and"), (operator.or_, "or"), (operator.xor, "xor")]
)
def test_logic(function, name):
    x, y = np.array([True, True, False]), np.array([True, False, False])
    output = function(constant(x), constant(y))
    assert output.op.name == name
    np.testing.assert_array_equal(evaluate(output), function(x, y))
    np.testing.assert_array_equal(evaluate(function(True, constant(y))), function(True, y))
    with pytest.raises(TypeError):
        function(constant([1.0]), constant([1.0]))


def test_unary():
    x = constant([1.0, -2.0])
    assert (-x).op.name == "Neg"
    assert evaluate(abs(x)).tolist() == [1, 2]
    assert evaluate(~constant([True, False])).tolist() == [False, True]


def test_matrix_products():
    matrix = placeholder("float32", [2, 2])
    batch = placeholder("float32", [3, 2, 2])
    unknown = placeholder("float32")
    assert ((matrix @ matrix).op.type, (matrix @ matrix).op.name) == ("MatMul", "matmul_1")
    assert (np.eye(2) @ matrix).op.type == "MatMul"
    assert (batch @ batch).op.type == "BatchMatMulV2"
    assert (batch @ matrix).op.type == "BatchMatMulV2"
    assert (unknown @ unknown).op.type == "BatchMatMulV2"


def test_strings_are_joined():
    output = constant(["a", "b"]) + "c"
    assert output.op.type == "Add"
    assert evaluate(output).tolist() == [b"ac", b"bc"]
    assert evaluate("c" + constant(["a"])).tolist() == [b"ca"]


def test_a_wrong_dtype_is_told_with_names_and_line(graph):
    with graph.name_scope("layer"):
        x, y = constant([1.0], name="x"), constant([1], name="y")
        with pytest.raises(TypeError) as caught:
            x + y
    message = str(caught.value)
    assert "For 'layer/add' (op: 'AddV2')" in message
    assert "x = 'layer/x:0' (float32), y = 'layer/y:0' (int32)" in message
    assert "test_operator_overloads.py:" in message


def test_a_wrong_value_beside_a_tensor_is_told_with_name_and_line():
    with pytest.raises(
        TypeError, match=r"got 2\.5.*'mul' \(op: 'Mul'\).*test_operator_overloads\.py:\d+"
    ):
        constant(1) * 2.5


def test_values_beside_tensors_have_dtypes_of_their_own():
    x = constant(1)
    for make in (lambda: x + 1.5, lambda: x * 1.5, lambda: x - 1.5, lambda: x % 1.5):
        with pytest.raises(TypeError, match=r"type float32 that does not match type int32 of .*x"):
            make()
    with pytest.raises(TypeError, match="'y' of 'AddV2' Op has type string that does not match"):
        x + "a"
    with pytest.raises(TypeError, match=r"Expected int32, got 1.5 of type 'float'"):
        1.5 + x


def test_dtypes_of_a_list_must_agree():
    message = r"passed to 'values' of 'ConcatV2' Op have types \[int32, float32\] that don't all"
    with pytest.raises(TypeError, match=message):
        concat([constant([1]), constant([2.0])], 0)
    with pytest.raises(TypeError, match=r"'bias' of 'BiasAdd' .* type float32 of argument 'value'"):
        raw_ops.BiasAdd(value=constant(np.zeros((2, 2), np.float32)), bias=constant([1, 2]))
