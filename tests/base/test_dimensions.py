"""Dimension: one size, known or not."""

import operator
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpugraph.base.dimensions import Dimension, as_dimension, as_size, dimension_value

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("value", [3, np.int32(3), Dimension(3), 3.0, np.float32(3)])
def test_dimension_value(value):
    dimension = Dimension(value)
    assert type(dimension.value) is int
    assert dimension.value == int(dimension) == 3
    assert [0, 1, 2, 3][dimension] == 3
    assert float(dimension) == 3.0
    assert (str(dimension), repr(dimension)) == ("3", "Dimension(3)")
    assert dimension_value(dimension) == 3


def test_unknown_dimension():
    dimension = Dimension(None)
    assert dimension.value is None
    assert (str(dimension), repr(dimension)) == ("?", "Dimension(None)")
    assert not dimension
    for convert in (int, operator.index):
        with pytest.raises(TypeError):
            convert(dimension)


@pytest.mark.parametrize(
    ("value", "error"),
    [(-1, ValueError), (2.5, ValueError), ("x", ValueError), ([1], TypeError), (1j, TypeError)],
)
def test_no_dimension(value, error):
    with pytest.raises(error):
        Dimension(value)


@given(st.integers(0, 9), st.integers(0, 9))
def test_dimension_arithmetic(a, b):
    x, y = Dimension(a), Dimension(b)
    for operate in (operator.add, operator.mul):
        for result in (operate(x, y), operate(x, b), operate(a, y)):
            assert isinstance(result, Dimension)
            assert result.value == operate(a, b)
    for operate in COMPARISONS:
        assert operate(x, y) is operate(x, b) is operate(a, b)
    if b:
        for operate in (operator.floordiv, operator.mod):
            for result in (operate(x, y), operate(x, b), operate(a, y)):
                assert result.value == operate(a, b)
    if a >= b:
        assert (x - y).value == (x - b).value == (a - y).value == a - b
    else:
        with pytest.raises(ValueError, match=">= 0"):
            x - y


@pytest.mark.parametrize("operate", ARITHMETIC)
def test_arithmetic_with_unknown(operate):
    for a, b in ((Dimension(None), 3), (3, Dimension(None)), (Dimension(3), None)):
        assert operate(a, b).value is None


@pytest.mark.parametrize("operate", COMPARISONS)
def test_comparison_with_unknown(operate):
    for a, b in ((Dimension(None), 3), (Dimension(3), None), (Dimension(None), Dimension(None))):
        assert operate(a, b) is None


def test_digits_are_a_size():
    assert Dimension("12") == 12
    assert Dimension(12) == "12"
    assert Dimension(12) != "13"
    assert (Dimension(None) == "13") is None


def test_dimension_misuse():
    why = "unsupported operand type\\(s\\) for /: '{}' and '{}', please use // instead"
    with pytest.raises(TypeError, match=why.format("Dimension", "int")):
        Dimension(4) / 2
    with pytest.raises(TypeError, match=why.format("int", "Dimension")):
        2 / Dimension(4)
    with pytest.raises(TypeError):
        Dimension(4) + "a"
    with pytest.raises(ValueError, match="invalid literal"):
        operator.lt(Dimension(4), "a")
    with pytest.raises(ZeroDivisionError):
        Dimension(4) // 0
    assert Dimension(2) != "a"
    assert (Dimension(2) == "a") is False


class Other:
    def __radd__(self, dimension):
        return "other"

    __rmul__ = __radd__


def test_other_operands_get_their_turn():
    assert Dimension(2) + Other() == Dimension(2) * Other() == "other"


def test_dimension_merge():
    assert Dimension(3).is_compatible_with(None)
    assert Dimension(3).is_compatible_with(3)
    assert not Dimension(3).is_compatible_with(4)
    assert Dimension(None).merge_with(4).value == Dimension(4).merge_with(None).value == 4
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        Dimension(3).merge_with(4)


def test_dimension_is_a_value():
    assert hash(Dimension(3)) == hash(Dimension(3))
    assert pickle.loads(pickle.dumps(Dimension(3))) == 3
    dimension = Dimension(3)
    assert as_dimension(dimension) is dimension
    assert as_dimension(None).value is None


def test_as_size():
    assert as_size(None) is as_size(Dimension(None)) is None
    assert as_size(3) == as_size(Dimension(3)) == as_size(3.0) == 3
    assert dimension_value("a") == "a"
    assert dimension_value(None) is None
