"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph.ops  # noqa: F401
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.elementwise import comparison_and_select as logical
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant

from ..evaluator import check_gradient, evaluate, gradients

COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@pytest.fixture(autouse=True)
def graph():
    with Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64", "uint8"])
def test_comparisons(name, dtype):
    x, y = np.array([[1], [2], [3]], dtype), np.array([1, 2, 3], dtype)
    output = getattr(logical, name)(constant(x), constant(y))
    assert output.op.name == name.title().replace("_", "")
    np.testing.assert_array_equal(evaluate(output), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_nan_compares_as_ieee_says(name):
    x, y = np.float32([np.nan, 1]), np.float32([np.nan, np.nan])
    result = evaluate(getattr(logical, name)(constant(x), constant(y)))
    np.testing.assert_array_equal(result, getattr(np, name)(x, y))


def test_equality_of_bools_strings_and_complex_numbers():
    assert evaluate(logical.equal(constant([True, False]), True)).tolist() == [True, False]
    assert evaluate(logical.equal(constant(["a", "b"]), "a")).tolist() == [True, False]
    assert evaluate(logical.not_equal(constant(["a", "b"]), "a")).tolist() == [False, True]
    assert evaluate(logical.equal(constant(np.complex64([1j])), np.complex64(1j))).tolist() == [
        True
    ]


def test_shapes_that_do_not_fit():
    x, y = placeholder("float32", [2]), placeholder("float32", [3])
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        logical.equal(x, y)
    output = raw_ops.Equal(x, y, incompatible_shape_error=False)
    assert output.shape == ()
    assert evaluate(output, {x: [1, 2], y: [1, 2, 3]}) == np.False_
    assert evaluate(
        raw_ops.NotEqual(x, y, incompatible_shape_error=False), {x: [1, 2], y: [1, 2, 3]}
    )
    open_shape = placeholder("float32", None)
    assert raw_ops.Equal(open_shape, y, incompatible_shape_error=False).shape.rank is None


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name):
    x, y = np.array([[True], [False]]), np.array([True, False])
    output = getattr(logical, name)(constant(x), constant(y))
    assert output.op.name == name.title().replace("_", "")
    np.testing.assert_array_equal(evaluate(output), getattr(np, name)(x, y))


def test_logical_not():
    assert evaluate(logical.logical_not(constant([True, False]))).tolist() == [False, True]
    with pytest.raises(TypeError):
        logical.logical_not(constant([1]))


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (True, X),
        (False, -X),
        ([True, False], np.stack([X[0], -X[1]])),
        ([[True, False, True], [False, True, False]], [[0, -1, 2], [-3, 4, -5]]),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_where(condition, wanted, known):
    c = placeholder("bool", np.shape(condition) if known else None)
    output = logical.where(c, constant(X), constant(-X))
    assert output.shape == (2, 3)
    np.testing.assert_array_equal(evaluate(output, {c: condition}), wanted)


def test_where_of_strings():
    output = logical.where([True, False], constant(["a", "b"]), constant(["c", "d"]))
    assert evaluate(output).tolist() == [b"a", b"d"]


def test_shapes_of_where():
    def shape(*sizes):
        condition, x, y = (
            placeholder(dtype, item)
            for dtype, item in zip(("bool", "int32", "int32"), sizes, strict=True)
        )
        return logical.where(condition, x, y).shape

    assert shape(None, [None, 3], [2, None]).as_list() == [2, 3]
    assert shape([2], [None, 3], [None, None]).as_list() == [None, 3]  # not the condition's
    assert shape([2], [None], [None]).as_list() == [None]
    assert shape([2], None, None).rank is None
    assert shape([2, None], None, None).rank is None
    assert shape([2, 3], [None, 3], [None, 3]).as_list() == [2, 3]
    for wrong in ([3], [2, 2], [2, 3, 1]):
        with pytest.raises(ValueError):
            shape(wrong, [2, 3], [2, 3])
    with pytest.raises(ValueError):
        shape([2], [], [])
    with pytest.raises(ValueError, match="both be non-None"):
        logical.where(constant([True]), constant([1]))


@pytest.mark.parametrize("condition", [True, [True, False], [[True, False], [False, True]]])
def test_gradient_of_where(condition):
    x, y = [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]
    check_gradient(lambda a, b: logical.where(constant(condition), a, b), x, y, order=2)


def test_comparisons_have_no_gradient():
    x = constant([1.0])
    output = raw_ops.Cast(logical.less(x, 2.0), DstT="float32")
    assert gradients(output, [x]) == [None]


def test_where_v2_broadcasts():
    output = logical.where_v2(constant([[True], [False]]), constant([1, 2, 3]), constant(0))
    assert evaluate(output).tolist() == [[1, 2, 3], [0, 0, 0]]
    assert evaluate(logical.where_v2(constant([False, True]))).tolist() == [[1]]
    check_gradient(
        lambda a, b: logical.where_v2(constant([True, False]), a, b), [[1.0], [2.0]], 3.0, order=2
    )
    with pytest.raises(ValueError, match="both be non-None"):
        logical.where_v2(constant([True]), constant([1]))
    with pytest.raises(ValueError):
        logical.where_v2(constant([True, False]), constant([1, 2, 3]), constant(0))
