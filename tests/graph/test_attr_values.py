"""Attrs are read by their kind, at one place: wrong ones are TensorFlow's TypeError."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.graph.attr_values import read_attr
from gpugraph.graph.op_def import AttrDef


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", 3, 3),
        ("int", np.int64(3), 3),
        ("int", tf.Dimension(3), 3),
        ("int", 2.7, 2),  # as in TensorFlow
        ("float", 2, 2.0),
        ("float", np.float32(0.5), 0.5),
        ("bool", True, True),
        ("string", b"a", "a"),
        ("string", "é", "é"),
        ("type", "float32", tf.float32),
        ("shape", [2, None], tf.TensorShape([2, None])),
        ("list(int)", (1, np.int32(2)), [1, 2]),
        ("list(type)", [np.int32], [tf.int32]),
    ],
)
def test_values_of_a_kind(kind: str, value: Any, expected: Any) -> None:
    result = read_attr(AttrDef("a", kind), value, "Op")
    assert type(result) is type(expected)
    assert str(result) == str(expected)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "3", "Expected int for argument 'a' not '3'"),
        ("int", float("inf"), "Expected int for argument 'a' not inf"),
        ("int", [1], "Expected int for argument"),
        ("int", np.array([1]), "Expected int for argument"),
        ("float", "1", "Expected float for argument"),
        ("float", 1j, "Expected float for argument"),
        ("bool", 1, "Expected bool for argument 'a' not 1"),
        ("string", 5, "Expected string for argument"),
        ("type", "none", "Expected DataType for argument"),
        ("shape", "x", "Error converting 'a' to a TensorShape"),
        ("list(int)", 3, "Expected list for 'a' argument to 'Op' Op, not 3"),
        ("list(int)", [1, "b"], "Expected int for argument"),
    ],
)
def test_values_of_another_kind(kind: str, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message.replace("(", r"\(")):
        read_attr(AttrDef("a", kind), value, "Op")


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", 2**63, "out of range"),
        ("float", 10**400, "out of range"),
        ("string", "\ud800", "can't be encoded"),
        ("int", 0, "less than minimum 1"),
        ("shape", [-2], "TensorShape"),
        ("shape", [2, 1 << 63], "to a TensorShape: Value out of range: 9223372036854775808"),
    ],
)
def test_values_out_of_bounds(kind: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_attr(AttrDef("a", kind, minimum=1 if kind == "int" else None), value, "Op")


def _deep() -> Any:
    result: list[Any] = []
    result.append(result)
    return result


X = [[1.0, 2.0], [3.0, 4.0]]

WRONG: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "a name that is no string": (lambda: tf.square(tf.constant(X), name=[1]), TypeError),
    "a name of a dict": (lambda: tf.rint([1, 2], name={"a": 1}), TypeError),
    "a constant beyond memory": (
        lambda: tf.constant(1.0, shape=[2**40]),
        tf.errors.ResourceExhaustedError,
    ),
    "a constant beyond addresses": (
        lambda: tf.constant(1.0, shape=[2**62, 4]),
        tf.errors.ResourceExhaustedError,
    ),
    "an equation that is no text": (lambda: tf.einsum(np.ones(3), X), TypeError),
    "a mode that is no text": (lambda: tf.pad(X, [[1, 1], [1, 1]], mode=1), TypeError),
    "a length that is a dict": (lambda: tf.signal.ifft2d(X, {}), TypeError),
    "a graph that is none": (lambda: tf.train.get_global_step(5), TypeError),
    "a list that contains itself": (lambda: tf.square(_deep()), ValueError),
    "text that can't be encoded": (lambda: tf.constant("\ud800"), ValueError),
    "an axis beyond 64 bits": (lambda: tf.nn.softmax(X, 2**70), ValueError),
    "an endless range": (lambda: tf.range(0.0, float("inf")), ValueError),
    "no variable": (lambda: tf.variables_initializer([5]), TypeError),
    "outputs without end": (lambda: tf.split(tf.placeholder(tf.float32), 2**40), ValueError),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls(case: str) -> None:
    call, error_class = WRONG[case]
    with pytest.raises(error_class) as caught:
        call()
    assert caught.value.__class__ in (error_class, *error_class.__subclasses__())
