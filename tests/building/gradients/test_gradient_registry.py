"""Gradients that a program registers, and ops that select them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def registered() -> str:
    """Register a gradient that triples its input, and return its new name."""
    name = f"Threefold{uuid4().hex}"
    tf.RegisterGradient(name)(lambda op, dy: dy * 3.0)
    return name


def slope(y: tf.Tensor, x: tf.Tensor) -> Any:
    with tf.Session() as session:
        return session.run(tf.gradients(y, x)[0])


def test_ops_made_inside_have_the_other_gradient(graph: tf.Graph) -> None:
    x = tf.constant(2.0)
    before = tf.square(x)
    with graph.gradient_override_map({"Square": registered()}):
        inside = tf.square(x)
    assert [slope(y, x) for y in (before, inside, tf.square(x))] == [4.0, 3.0, 4.0]


def test_inner_maps_go_before_outer_ones(graph: tf.Graph) -> None:
    x = tf.constant(2.0)
    with graph.gradient_override_map({"Square": "Identity", "Sin": registered()}):
        with graph.gradient_override_map({"Square": registered()}):
            y = tf.square(x)
            z = tf.sin(x)
    assert [slope(y, x), slope(z, x)] == [3.0, 3.0]


def test_it_may_name_another_op_type(graph: tf.Graph) -> None:
    x = tf.constant(2.0)
    with graph.gradient_override_map({"Square": "Identity"}):
        y = tf.square(x)
    assert y.op.attrs["_gradient_op_type"] == "Identity"
    assert slope(y, x) == 1.0


def test_in_a_loop(graph: tf.Graph) -> None:
    x = tf.constant(2.0)
    with graph.gradient_override_map({"Square": registered()}):
        y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.square(a)), (0, x))[1]
    assert slope(y, x) == 81.0


def test_ops_without_a_gradient(graph: tf.Graph) -> None:
    name = f"None{uuid4().hex}"
    tf.NotDifferentiable(name)
    x = tf.constant(2.0)
    with graph.gradient_override_map({"Square": name}):
        y = tf.square(x)
    assert tf.gradients(y, x) == [None]
    assert tf.NoGradient is tf.NotDifferentiable


def test_a_name_that_nobody_registered(graph: tf.Graph) -> None:
    x = tf.constant(2.0)
    with graph.gradient_override_map({"Square": "Nobody"}):
        y = tf.square(x)
    with pytest.raises(
        LookupError, match=r"'Square' \(op type: Nobody\), made at .*test_gradient_registry"
    ):
        tf.gradients(y, x)


def test_names_are_registered_once() -> None:
    name = registered()
    for key in (name, "Square"):
        with pytest.raises(KeyError, match="Registering two gradient with name"):
            tf.RegisterGradient(key)(lambda op, dy: dy)
        with pytest.raises(KeyError, match="Registering two gradient with name"):
            tf.NotDifferentiable(key)


def test_what_is_no_name(graph: tf.Graph) -> None:
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.NotDifferentiable(None)
    for wrong in ([("Square", "Sin")], {"Square": 1}, {1: "Square"}):
        with pytest.raises(TypeError, match="strings"), graph.gradient_override_map(wrong):
            pass
