"""`tf.Assert`: when it ends a run, and the values that its message shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def said(data: Any, summarize: int | None = None) -> str:
    """Return the message of a failing assertion about `data`."""
    condition = tf.placeholder_with_default(False, [])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as found:
        session.run(tf.Assert(condition, data, summarize))
    text = found.value.message.partition("\n")[0]
    assert text.startswith("assertion failed: ")
    return text.removeprefix("assertion failed: ")


# TensorFlow's output for the same values.
SHOWN: dict[str, tuple[list[Any], int | None, str]] = {
    "several": ([np.float32([1.5, 2, 3.25, 9]), "text", 3], None, "[1.5 2 3.25...] [text] [3]"),
    "rows": (
        [np.arange(10), np.arange(1, 7).reshape(3, 2)],
        5,
        "[0 1 2 3 4...] [[1 2][3 4][5...]...]",
    ),
    "all": ([np.arange(4).reshape(2, 2)], -1, "[[0 1][2 3]]"),
    "nothing": ([np.arange(4)], 0, "[...]"),
    "three axes": ([np.arange(12).reshape(2, 3, 2)], 7, "[[[0 1][2 3][4 5]][[6...]]...]"),
    "bools": ([np.array([True, False]), np.array(True)], None, "[1 0] [1]"),
    "text": ([np.array(["a", "b c", "d\n'\""])], 9, "[a b c d\\n\\'\\\"]"),
    "float64": (
        [np.array([1 / 3, 1e20, np.nan, np.inf])],
        9,
        "[0.33333333333333331 1e+20 nan inf]",
    ),
    "float32": (
        [np.float32([1 / 3, 1e20, 123456789, 0.1, 100000, 1234567, -0.0])],
        9,
        "[0.333333343 1e+20 123456792 0.1 100000 1234567 -0]",
    ),
    "float16": ([np.float16([1 / 3])], None, "[0.333251953]"),
    "small ints": ([np.uint8([200]), np.int8([-3])], None, "[200] [-3]"),
    "empty": ([np.float32([]), np.zeros((0, 3))], None, "[] []"),
}


@pytest.mark.parametrize(("data", "summarize", "text"), SHOWN.values(), ids=SHOWN)
def test_what_is_shown(data: list[Any], summarize: int | None, text: str) -> None:
    assert said(data, summarize) == text


def test_nothing_happens_where_it_holds() -> None:
    condition = tf.placeholder_with_default(True, [])
    with tf.Session() as session:
        assert session.run(tf.Assert(condition, [1.0])) is None


def test_what_waits_for_it_does_not_run() -> None:
    condition = tf.placeholder(tf.bool, [])
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.Assert(condition, [v])]):
        change = v.assign(2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"assertion failed: \[1\]"
        ) as found:
            session.run(change, {condition: False})
        assert session.run(v) == 1.0
        session.run(change, {condition: True})
        assert session.run(v) == 2.0
    assert "Assert/AssertGuard/Assert" in found.value.message
    assert "test_assertion.py" in found.value.message


def test_in_a_loop() -> None:
    limit = tf.placeholder(tf.int32, [])

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.Assert(i < limit, ["too far", i])]):
            return i + 1

    done = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        assert session.run(done, {limit: 9}) == 5
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[too far\] \[3\]"):
            session.run(done, {limit: 3})


def test_a_condition_that_is_no_scalar() -> None:
    condition = tf.placeholder(tf.bool, None)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"should be a scalar: \[2\]"):
            session.run(tf.Assert(condition, ["x"]), {condition: [True, True]})


@pytest.mark.parametrize("data", [1, "abc", None])
def test_data_that_is_no_list(data: Any) -> None:
    with pytest.raises(TypeError, match="values must be a sequence"):
        tf.Assert(tf.placeholder(tf.bool, []), data)


def test_no_data() -> None:
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.Assert(tf.placeholder(tf.bool, []), [])


def test_a_condition_that_is_no_bool() -> None:
    with pytest.raises(TypeError, match="bool"):
        tf.Assert(tf.constant(1), ["x"])
