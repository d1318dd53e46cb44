"""Checks of elements: their messages, when they fail, and their names in the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

import gpugraph as tf

Invalid = tf.errors.InvalidArgumentError

COMPARISONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "assert_equal": (tf.assert_equal, np.equal, "=="),
    "assert_none_equal": (tf.assert_none_equal, np.not_equal, "!="),
    "assert_less": (tf.assert_less, np.less, "<"),
    "assert_less_equal": (tf.assert_less_equal, np.less_equal, "<="),
    "assert_greater": (tf.assert_greater, np.greater, ">"),
    "assert_greater_equal": (tf.assert_greater_equal, np.greater_equal, ">="),
}
SIGNS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "assert_positive": (tf.assert_positive, np.greater, ">"),
    "assert_negative": (tf.assert_negative, np.less, "<"),
    "assert_non_negative": (tf.assert_non_negative, np.greater_equal, ">="),
    "assert_non_positive": (tf.assert_non_positive, np.less_equal, "<="),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def fails(check: Any, feeds: Any) -> str:
    """Return the message of the run that the check ends, or "" if the run succeeds."""
    with tf.Session() as session:
        try:
            assert not isinstance(session.run(check, feeds), Exception)
        except Invalid as error:
            return error.message
    return ""


floats = arrays.arrays(np.float32, st.integers(0, 3), elements=st.sampled_from([-1, 0, 1, np.nan]))


@pytest.mark.parametrize("name", COMPARISONS)
@settings(max_examples=25)
@given(x=floats, y=st.sampled_from([-1.0, 0.0, 1.0, np.nan]))
def test_a_run_fails_where_elements_do_not_compare(name: str, x: Any, y: float) -> None:
    check, compare, sign = COMPARISONS[name]
    with tf.Graph().as_default():
        a = tf.placeholder(tf.float32, [None], name="A")
        message = fails(check(a, y), {a: x})
    assert bool(message) == (not compare(x, np.float32(y)).all())
    if message:
        assert f"Condition x {sign} y did not hold element-wise:] [x (A:0) = ]" in message


@pytest.mark.parametrize("name", SIGNS)
@settings(max_examples=25)
@given(x=floats)
def test_a_run_fails_where_signs_are_others(name: str, x: Any) -> None:
    check, compare, sign = SIGNS[name]
    with tf.Graph().as_default():
        a = tf.placeholder(tf.float32, [None], name="A")
        message = fails(check(a, message="why"), {a: x})
    assert bool(message) == (not compare(x, 0).all())
    if message:
        assert f"[why.  ] [Condition x {sign} 0 did not hold element-wise:]" in message


@pytest.mark.parametrize("name", COMPARISONS)
def test_constants_are_compared_at_once(name: str) -> None:
    check, compare, sign = COMPARISONS[name]
    for x, y in (([1, 2], [1, 2]), ([1, 2], [2, 3]), ([1.5], [0.5])):
        if compare(x, y).all():
            assert isinstance(check(x, y), tf.Operation)
            continue
        with pytest.raises(Invalid) as caught:
            check(x, y, message="why", name="here")
        scope = caught.value.message.split("x (")[1].split("/")[0]
        assert caught.value.message == (
            f"why\nCondition x {sign} y did not hold element-wise:\nx ({scope}/x:0) = \n"
            f"{np.array(x)}\ny ({scope}/y:0) = \n{np.array(y)}"
        )


def test_what_only_runs_tell_is_left_to_them() -> None:
    """Also where it follows from constants: the branch it is in may not be taken."""
    x = tf.placeholder_with_default(1.0, [])
    total = tf.constant(3) + 1
    tf.cond(x < 0.0, lambda: tf.group(tf.assert_less(total, 2)), tf.no_op)


def test_a_tensor_equals_itself(graph: Any) -> None:
    x = tf.placeholder(tf.float32)
    assert tf.assert_equal(x, x).type == "NoOp"
    assert [op.type for op in graph.get_operations()] == ["Placeholder", "NoOp"]


def test_data_and_summary_are_the_programs() -> None:
    x = tf.placeholder(tf.int32, [None])
    check = tf.assert_less(x, 3, data=["only", x], summarize=2, message="first")
    message = fails(check, {x: [1, 2, 3]})
    assert message.startswith("assertion failed: [first] [only] [1 2...]")


def test_strings_and_bools_can_be_equal() -> None:
    x, flag = tf.placeholder(tf.string, [None]), tf.placeholder(tf.bool, [])
    assert not fails(tf.assert_equal(x, ["a", "b"]), {x: ["a", "b"]})
    assert fails(tf.assert_equal(x, ["a", "b"]), {x: ["a", "c"]})
    assert fails(tf.assert_none_equal(flag, True), {flag: True})


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match=r"Dimensions must be equal, but are 2 and 3 for"):
        tf.assert_equal(tf.placeholder(tf.int32, [2]), [1, 2, 3])


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_near_is_within_the_tolerances(dtype: Any) -> None:
    x = tf.placeholder(dtype, [None], name="X")
    close = float(np.finfo(dtype.as_numpy_dtype).eps)
    check = tf.assert_near(x, [1.0])
    assert not fails(check, {x: [1 + 4 * close]})
    assert "x and y not equal to tolerance rtol = Tensor(" in fails(check, {x: [1 + 40 * close]})
    loose = tf.assert_near(x, [10.0], rtol=0.125, atol=0.5)
    assert not fails(loose, {x: [11.5]})
    assert fails(loose, {x: [12]})
    assert fails(loose, {x: [np.nan]})


def test_integers_are_not_near() -> None:
    with pytest.raises(ValueError, match=r"not (inexact|compatible with finfo)"):
        tf.assert_near([1], [1])


NAMES = {
    "assert_less": (
        lambda x: tf.assert_less(x, 1),
        "y Less Const All Assert/Const Assert/Const_1 Assert/Const_2 Assert/Assert/data_0 "
        "Assert/Assert/data_1 Assert/Assert/data_3 Assert/Assert",
    ),
    "assert_positive": (
        lambda x: tf.assert_positive(x, data=[1]),
        "Const assert_less/Less assert_less/Const assert_less/All assert_less/Assert/Const "
        "assert_less/Assert/Assert/data_0 assert_less/Assert/Assert",
    ),
    "assert_equal_1": (
        lambda x: tf.assert_equal(x, 1, data=["d"]),
        "y Equal Const All Assert/Const Assert/Assert/data_0 Assert/Assert",
    ),
}


@pytest.mark.parametrize("scope", NAMES)
def test_names_in_the_graph_are_tensorflows(scope: str, graph: Any) -> None:
    make, wanted = NAMES[scope]
    make(tf.placeholder(tf.int32, [2], name="X"))
    actual = [op.name for op in graph.get_operations()][1:]
    assert actual == [f"{scope}/{name}" for name in wanted.split()]


@pytest.mark.parametrize(
    ("values", "rises", "climbs"),
    [
        ([], True, True),
        ([1.0], True, True),
        ([1, 2, 3], True, True),
        ([1, 1], True, False),
        ([2, 1], False, False),
        ([[1, 2], [2, 4]], True, False),
        ([np.nan, 1], False, False),
    ],
)
def test_orders(values: Any, rises: bool, climbs: bool) -> None:
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        actual = session.run([tf.is_non_decreasing(x), tf.is_strictly_increasing(x)], {x: values})
    assert actual == [rises, climbs]


def test_orders_are_of_numbers() -> None:
    with pytest.raises(TypeError, match="Expected x to be numeric"):
        tf.is_non_decreasing(["a", "b"])
