"""Errors in building branches and loops: each leaves the graph unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def pred() -> tf.Tensor:
    return tf.placeholder(tf.bool, [], name="p")


def below(i: Any, *_: Any) -> tf.Tensor:
    return i < 3


def again(*held: Any) -> Any:
    return held


def shapes(*sizes: Any) -> list[tf.TensorShape]:
    return [tf.TensorShape(each) for each in sizes]


ALIKE = "The two structures don't have the same nested structure"
Case = tuple[Callable[[], Any], type[Exception], str]

CONDS: dict[str, Case] = {
    "a Python bool": (
        lambda: tf.cond(True, lambda: 1, lambda: 2),
        TypeError,
        "pred must not be a Python bool",
    ),
    "no bool": (lambda: tf.cond(tf.constant(1.0), lambda: 1, lambda: 2), TypeError, "bool"),
    "a vector": (lambda: tf.cond([True], lambda: 1, lambda: 2), ValueError, "must be rank 0"),
    "true_fn no function": (
        lambda: tf.cond(pred(), 1, lambda: 2),
        TypeError,
        "true_fn must be callable",
    ),
    "false_fn no function": (
        lambda: tf.cond(pred(), lambda: 1, 2),
        TypeError,
        "false_fn must be callable",
    ),
    "no true_fn": (lambda: tf.cond(pred()), TypeError, "true_fn argument required"),
    "no false_fn": (lambda: tf.cond(pred(), lambda: 1), TypeError, "false_fn argument required"),
    "true_fn and fn1": (
        lambda: tf.cond(pred(), lambda: 1, lambda: 2, fn1=lambda: 3),
        TypeError,
        "true_fn and fn1 may not be set simultaneously",
    ),
    "false_fn and fn2": (
        lambda: tf.cond(pred(), lambda: 1, lambda: 2, fn2=lambda: 3),
        TypeError,
        "false_fn and fn2 may not be set simultaneously",
    ),
    "nothing where true": (
        lambda: tf.cond(pred(), lambda: None, lambda: 2),
        ValueError,
        "true_fn must have a return value",
    ),
    "nothing where false": (
        lambda: tf.cond(pred(), lambda: 1, lambda: None),
        ValueError,
        "false_fn must have a return value",
    ),
    "an empty list": (
        lambda: tf.cond(pred(), lambda: [], lambda: []),
        ValueError,
        "must return at least one result",
    ),
    "None among the results": (
        lambda: tf.cond(pred(), lambda: (1, None), lambda: (2, None)),
        ValueError,
        "None values not supported",
    ),
    "dtypes": (
        lambda: tf.cond(pred(), lambda: 1, lambda: 2.0),
        ValueError,
        "Outputs of true_fn and false_fn must have the same type: int32, float32",
    ),
    "nesting": (
        lambda: tf.cond(pred(), lambda: (1, 2), lambda: 2),
        ValueError,
        f"Incompatible return types of true_fn and false_fn: {ALIKE}",
    ),
    "lengths": (lambda: tf.cond(pred(), lambda: [1, 2], lambda: [1, 2, 3]), ValueError, ALIKE),
    "sequence types": (lambda: tf.cond(pred(), lambda: (1, 2), lambda: [2, 3]), TypeError, ALIKE),
    "keys": (lambda: tf.cond(pred(), lambda: {"a": 1}, lambda: {"b": 1}), ValueError, "set of key"),
    "one strictly": (
        lambda: tf.cond(pred(), lambda: [1], lambda: 2, strict=True),
        ValueError,
        ALIKE,
    ),
    "an operation and a number": (
        lambda: tf.cond(pred(), lambda: tf.no_op(), lambda: 2),
        ValueError,
        "the same type: bool, int32",
    ),
    "an error inside": (
        lambda: tf.cond(pred(), lambda: 1 // 0, lambda: 2),
        ZeroDivisionError,
        "zero",
    ),
}

LOOPS: dict[str, Case] = {
    "no variables": (
        lambda: tf.while_loop(below, again, []),
        ValueError,
        "No loop variables provided",
    ),
    "a lone tensor": (
        lambda: tf.while_loop(below, again, tf.constant(1)),
        TypeError,
        "loop_vars must be a list or tuple",
    ),
    "cond no function": (lambda: tf.while_loop(1, again, [0]), TypeError, "cond must be callable"),
    "body no function": (lambda: tf.while_loop(below, 1, [0]), TypeError, "body must be callable"),
    "no parallel iterations": (
        lambda: tf.while_loop(below, again, [0], parallel_iterations=0),
        TypeError,
        "parallel_iterations must be a positive integer",
    ),
    "a maximum that is a vector": (
        lambda: tf.while_loop(below, again, [0], maximum_iterations=[1]),
        ValueError,
        r"maximum_iterations must be a scalar, saw shape: \(1,\)",
    ),
    "a maximum of any shape": (
        lambda: tf.while_loop(below, again, [0], maximum_iterations=tf.placeholder(tf.int32)),
        ValueError,
        "maximum_iterations must be a scalar",
    ),
    "too few results": (lambda: tf.while_loop(below, lambda i, j: i, [0, 1]), ValueError, ALIKE),
    "too many results": (
        lambda: tf.while_loop(below, lambda i, j: (i, j, j), [0, 1]),
        ValueError,
        ALIKE,
    ),
    "nested results": (
        lambda: tf.while_loop(below, lambda i, j: (i, [j]), [0, 1]),
        ValueError,
        ALIKE,
    ),
    "another sequence type": (
        lambda: tf.while_loop(below, lambda i, j: (i, tuple(j)), [0, [1]]),
        TypeError,
        ALIKE,
    ),
    "another dtype": (
        lambda: tf.while_loop(below, lambda i: 2.0, [tf.constant(1, name="c")]),
        TypeError,
        "loop variable '.*c:0' is int32, but after one iteration it is .* which is float32",
    ),
    "another shape": (
        lambda: tf.while_loop(
            lambda i: i[0] < 3, lambda i: tf.concat([i, i], 0), [tf.constant([1], name="c")]
        ),
        ValueError,
        r"Input tensor '.*c:0' enters the loop with shape \(1,\), but has shape \(2,\) after one "
        "iteration. To allow the shape to vary across iterations, use the `shape_invariants`",
    ),
    "a shape that is not known any more": (
        lambda: tf.while_loop(below, lambda i: tf.placeholder(tf.int32), [0]),
        ValueError,
        r"with shape \(\), but has shape <unknown> after one iteration",
    ),
    "more than the invariant allows": (
        lambda: tf.while_loop(
            lambda i: i[0, 0] < 3,
            lambda i: tf.concat([i, i], 1),
            [tf.constant([[1]])],
            shape_invariants=shapes([None, 1]),
        ),
        ValueError,
        r"enters the loop with shape \(1, 1\), but has shape \(\?, 2\)",
    ),
    "invariants that are no shapes": (
        lambda: tf.while_loop(lambda i: i[0] < 3, again, [tf.constant([1])], [3]),
        ValueError,
        "must be a .*list of TensorShapes",
    ),
    "an invariant for another structure": (
        lambda: tf.while_loop(lambda i: i[0] < 3, again, [tf.constant([1])], [[None]]),
        ValueError,
        ALIKE,
    ),
    "too many invariants": (
        lambda: tf.while_loop(lambda i: i[0] < 3, again, [tf.constant([1])], shapes([1], [])),
        ValueError,
        ALIKE,
    ),
    "an invariant of another size": (
        lambda: tf.while_loop(lambda i: i[0] < 3, again, [tf.constant([1])], shapes([2])),
        ValueError,
        r"specified for .*Const:0 is not compatible with the initial shape of the loop variable. "
        r"It enters the loop with shape \(1,\), but the specified shape invariant is \(2,\)",
    ),
    "an invariant of another rank": (
        lambda: tf.while_loop(below, again, [0], shapes([None])),
        ValueError,
        "is not compatible with the initial shape",
    ),
    "a condition that is a vector": (
        lambda: tf.while_loop(lambda i: tf.equal(i, 1), again, [tf.constant([1, 2])]),
        ValueError,
        "must be rank 0",
    ),
    "a condition that is a number": (
        lambda: tf.while_loop(lambda i: i, again, [1]),
        TypeError,
        "bool",
    ),
    "no condition": (lambda: tf.while_loop(lambda i: None, again, [1]), ValueError, "None values"),
    "no result": (lambda: tf.while_loop(below, lambda i: None, [1]), ValueError, "None values"),
    "an error in the body": (
        lambda: tf.while_loop(below, lambda i: 1 // 0, [1]),
        ZeroDivisionError,
        "zero",
    ),
}


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [*CONDS.values(), *LOOPS.values()],
    ids=[*(f"cond: {name}" for name in CONDS), *(f"while: {name}" for name in LOOPS)],
)
def test_it_is_refused(
    graph: tf.Graph, build: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with tf.name_scope("around"), pytest.raises(error, match=message):
        build()
    outside = tf.constant(1)
    assert outside.op.name == "Const" or outside.op.name.startswith("Const_")
    assert outside.op.control_inputs == []
    assert graph.is_fetchable(outside)


# -- tensors that are created inside and used elsewhere


def leaked(name: str = "mul") -> tf.Tensor:
    """Return a tensor of the inside of a loop."""
    held: list[Any] = []

    def body(i: Any) -> Any:
        held.append(tf.multiply(i, 2, name=name))
        return i + 1

    tf.while_loop(below, body, [0])
    return held[0]


def test_outside_of_its_loop() -> None:
    inner = leaked()
    with pytest.raises(
        ValueError, match="Cannot use 'while/mul' as input to 'Add' because"
    ) as found:
        tf.add(inner, 1)
    said = str(found.value)
    assert "'while/mul' is in a while loop. See info log for more details." in said
    assert "'while/while_context'" in said
    assert said.count("test_errors.py") == 2, "the lines of both"


def test_in_another_loop() -> None:
    inner = leaked()
    with pytest.raises(
        ValueError, match=r"'while_1/add' because they are in different while loops\. See"
    ):
        tf.while_loop(below, lambda i: i + inner, [0])


def test_in_a_branch_outside_of_its_loop() -> None:
    inner = leaked()
    with pytest.raises(ValueError, match="'while/mul' is in a while loop"):
        tf.cond(pred(), lambda: inner + 1, lambda: 0)


def test_of_an_inner_loop_in_the_outer_one() -> None:
    def body(i: Any) -> Any:
        return i + leaked()

    with pytest.raises(ValueError, match="Cannot use 'while/while/mul' as input to 'while/add"):
        tf.while_loop(below, body, [0])


def test_of_a_branch_outside_of_it() -> None:
    """As in TensorFlow: it has a value where that branch is taken."""
    held: list[Any] = []

    def taken() -> Any:
        held.append(tf.constant(3) + 1)
        return held[0]

    p = pred()
    tf.cond(p, taken, lambda: 0)
    y = held[0] * 2
    with tf.Session() as session:
        assert session.run(y, {p: True}) == 8
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(y, {p: False})


def test_what_is_inside_can_not_be_fetched() -> None:
    inner = leaked()
    with tf.Session() as session, pytest.raises(ValueError, match="not fetchable") as found:
        session.run(inner)
    assert type(found.value).__name__ == "InaccessibleTensorError"
    assert "'while/mul:0'" in str(found.value)


def test_what_is_inside_can_not_be_fed() -> None:
    inner = leaked()
    with tf.Session() as session, pytest.raises(ValueError, match="may not be fed"):
        session.run(tf.constant(1), {inner: 3})


def test_a_variable_begins_with_nothing_from_inside() -> None:
    with pytest.raises(ValueError, match="use a lambda as the initializer"):
        tf.cond(pred(), lambda: tf.Variable(tf.constant(1.0) + 1.0), lambda: 2.0)
    with pytest.raises(ValueError, match="from inside a control-flow construct"):
        tf.while_loop(below, lambda i: i + tf.Variable(i), [0])
