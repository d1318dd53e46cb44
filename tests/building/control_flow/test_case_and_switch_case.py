"""`tf.case` and `tf.switch_case`: the choice of the function, and the errors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def flags(*names: str) -> list[tf.Tensor]:
    return [tf.placeholder(tf.bool, [], name=name) for name in names]


def giving(number: float) -> Callable[[], tf.Tensor]:
    return lambda: tf.constant(float(number)) + 0.0


def test_the_first_true_predicate() -> None:
    p, q, r = flags("p", "q", "r")
    y = tf.case([(p, giving(1)), (q, giving(2)), (r, giving(3))], default=giving(4))
    with tf.Session() as session:
        for held in product([True, False], repeat=3):
            wanted = held.index(True) + 1 if any(held) else 4
            assert session.run(y, dict(zip((p, q, r), held))) == wanted


def test_without_a_default_one_must_be_true() -> None:
    p, q = flags("p", "q")
    y = tf.case([(p, giving(1)), (q, giving(2))])
    with tf.Session() as session:
        assert session.run(y, {p: True, q: False}) == 1
        assert session.run(y, {p: False, q: True}) == 2
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            session.run(y, {p: False, q: False})
    assert "None of conditions evaluated as True:] [0 0]" in found.value.message


def test_exclusive_predicates() -> None:
    p, q = flags("p", "q")
    y = tf.case([(p, giving(1)), (q, giving(2))], default=giving(3), exclusive=True)
    with tf.Session() as session:
        assert session.run(y, {p: False, q: True}) == 2
        assert session.run(y, {p: False, q: False}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            session.run(y, {p: True, q: True})
    said = "more than 1 conditions (p:0, q:0) evaluated as True:] [1 1]"
    assert f"assertion failed: [Input error: exclusive=True: {said}" in found.value.message


def test_dicts_go_by_name_and_ordered_dicts_by_order() -> None:
    p, q = flags("p", "q")
    by_name = tf.case({q: giving(2), p: giving(1)}, default=giving(3))
    in_order = tf.case(OrderedDict([(q, giving(2)), (p, giving(1))]), default=giving(3))
    with tf.Session() as session:
        assert session.run([by_name, in_order], {p: True, q: True}) == [1, 2]


def test_a_lone_pair() -> None:
    (p,) = flags("p")
    assert tf.case([(p, lambda: 7)]) == 7
    assert isinstance(tf.case([(p, lambda: [7])], default=lambda: [8], strict=True), list)


@pytest.mark.parametrize("default", [False, True])
def test_the_function_at_the_index(default: bool) -> None:
    index = tf.placeholder(tf.int32, [])
    functions = [giving(number) for number in (10, 11, 12, 13, 14)]
    y = tf.switch_case(index, functions, default=giving(-1) if default else None)
    with tf.Session() as session:
        for at in range(5):
            assert session.run(y, {index: at}) == 10 + at
        for at in (-7, -1, 5, 100):
            assert session.run(y, {index: at}) == (-1 if default else 14)


def test_functions_by_number() -> None:
    index = tf.placeholder(tf.int64, [])
    functions = {2: giving(12), 0: giving(10), 1: giving(11)}
    ys = [tf.switch_case(index, functions), tf.switch_case(index, list(functions.items()))]
    with tf.Session() as session:
        assert session.run(ys, {index: 1}) == [11, 11]
        assert session.run(ys, {index: 9}) == [12, 12]


def test_a_lone_function() -> None:
    y = tf.switch_case(tf.placeholder(tf.int32, []), [lambda: 7])
    assert isinstance(y, tf.Tensor)


def test_gradients_go_to_the_function_chosen() -> None:
    index, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [])
    y = tf.switch_case(index, [lambda: x * 2.0, lambda: x * x, lambda: tf.exp(x)])
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as session:
        assert [session.run(gradient, {index: at, x: 3.0}) for at in (0, 1)] == [2.0, 6.0]


def index() -> tf.Tensor:
    return tf.placeholder(tf.int32, [])


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no pairs": (lambda: tf.case([]), ValueError, "at least one pair"),
    "no list": (lambda: tf.case(3), TypeError, "must be a list, tuple, or dict"),
    "no pair": (lambda: tf.case([flags("p")]), TypeError, "must be a 2-tuple"),
    "a Python bool": (lambda: tf.case([(True, giving(1))]), TypeError, "pred must be a Tensor"),
    "a number": (
        lambda: tf.case([(tf.constant(1), giving(1))]),
        TypeError,
        "pred must be Tensor of type bool: Const:0 is int32",
    ),
    "no function": (
        lambda: tf.case([(*flags("p"), 1)]),
        TypeError,
        "fn for pred p:0 must be callable",
    ),
    "no functions": (lambda: tf.switch_case(index(), []), ValueError, "at least one function"),
    "a Python int": (
        lambda: tf.switch_case(0, [giving(1)]),
        TypeError,
        "branch_index must be a Tensor",
    ),
    "a float": (
        lambda: tf.switch_case(tf.constant(0.0), [giving(1)]),
        TypeError,
        "must be an integer Tensor, got float32",
    ),
    "one function": (
        lambda: tf.switch_case(index(), giving(1)),
        TypeError,
        "must be a list, tuple, or dict",
    ),
    "a gap": (
        lambda: tf.switch_case(index(), {0: giving(1), 2: giving(2)}),
        ValueError,
        r"contiguous range of \[0 to 2\) but found \[0, 2\]",
    ),
    "a key that is no int": (
        lambda: tf.switch_case(index(), {"a": giving(1)}),
        TypeError,
        "key must be a Python `int`",
    ),
    "an entry that is no pair": (
        lambda: tf.switch_case(index(), [(0, giving(1), 2)]),
        TypeError,
        "must be a 2-tuple",
    ),
    "an entry without a function": (
        lambda: tf.switch_case(index(), [(0, 1)]),
        TypeError,
        "fn for key 0 must be callable",
    ),
    "a default that is no function": (
        lambda: tf.switch_case(index(), [giving(1)], default=3),
        TypeError,
        "default must be callable",
    ),
}


@pytest.mark.parametrize(("build", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()
