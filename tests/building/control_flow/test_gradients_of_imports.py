"""Gradients of loops and branches that a GraphDef, or a MetaGraphDef, brings into others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.graph_files.meta_graph_import import (
    export_scoped_meta_graph,
    import_scoped_meta_graph_with_return_elements,
)

START = 1.3


def looped(v: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.sin(v) * v), (0, v))[1]


def branched(v: Any) -> Any:
    return tf.cond(v > 0.5, lambda: tf.sin(v) * v, lambda: v * v * v)


def taken_in(part: Callable[[Any], Any], how: str, value: Any) -> Any:
    """Return the result of a part: built in place, or imported."""
    if how == "in place":
        return part(value)
    with tf.Graph().as_default() as graph:
        tf.identity(part(tf.placeholder(tf.float64, [], name="x")), name="y")
    if how == "graph_def":
        (result,) = tf.import_graph_def(graph.as_graph_def(), {"x:0": value}, ["y:0"])
    else:
        meta, _ = export_scoped_meta_graph(graph=graph)
        _, (result,) = import_scoped_meta_graph_with_return_elements(
            meta, input_map={"x:0": value}, import_scope="part", return_elements=["y:0"]
        )
    result.set_shape([])
    return result


def slope(y: Any, x: Any) -> Any:
    (gradient,) = tf.gradients(y, x)
    assert gradient is not None
    return gradient


def in_loop(body: Callable[[Any], Any], x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, body(v)), (0, x))[1]


def in_branch(body: Callable[[Any], Any], x: Any) -> Any:
    return tf.cond(x > 0, lambda: body(x), lambda: x * 1)


Part = Callable[[Any], Any]
PLACES: dict[str, Callable[[Part, Any], Any]] = {
    "outside": lambda part, x: slope(part(x), x),
    "of a loop": lambda part, x: slope(in_loop(part, x), x),
    "in a loop": lambda part, x: in_loop(lambda v: slope(part(v), v), x),
    "of a branch": lambda part, x: slope(in_branch(part, x), x),
    "in a branch": lambda part, x: in_branch(lambda v: slope(part(v), v), x),
    "of a branch in a loop": lambda part, x: slope(in_loop(lambda v: in_branch(part, v), x), x),
    "of a loop in a branch": lambda part, x: slope(in_branch(lambda v: in_loop(part, v), x), x),
    "in a branch in a loop": lambda part, x: in_loop(
        lambda v: in_branch(lambda u: slope(part(u), u), v), x
    ),
}
BEYOND = {"of a loop", "of a branch in a loop", "of a loop in a branch"}
"""Where gradients of a branch go back through a loop, and need its context."""


def value_of(part: Part, how: str, place: str, start: float = START) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [], name="x")
        return session.run(PLACES[place](lambda v: taken_in(part, how, v), x), {x: start})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("part", [looped, branched])
def test_of_a_meta_graph(part: Part, place: str) -> None:
    expected = value_of(part, "in place", place)
    np.testing.assert_allclose(value_of(part, "meta_graph", place), expected)


@pytest.mark.parametrize("place", PLACES)
def test_of_a_loop_in_a_graph_def_are_refused(place: str) -> None:
    """TensorFlow gives 0, None, or an AttributeError."""
    words = r"^No gradient defined for .*/Exit_1' .* loop was not made by .*: '.*while_context"
    with pytest.raises(LookupError, match=words):
        value_of(looped, "graph_def", place)


@pytest.mark.parametrize("place", [place for place in PLACES if place not in BEYOND])
@pytest.mark.parametrize("start", [START, 0.25, -1.0])
def test_of_a_branch_in_a_graph_def(place: str, start: float) -> None:
    """TensorFlow fails in the run, or refuses the initial value of a loop variable."""
    expected = value_of(branched, "in place", place, start)
    np.testing.assert_allclose(value_of(branched, "graph_def", place, start), expected)


@pytest.mark.parametrize("place", sorted(BEYOND))
def test_of_a_branch_in_a_graph_def_through_a_loop_are_refused(place: str) -> None:
    words = r"^No gradient defined for .*cond/.*: it is in the loop '.*while_context"
    with pytest.raises(LookupError, match=words):
        value_of(branched, "graph_def", place)


def test_of_what_a_loop_in_a_graph_def_does_not_depend_on() -> None:
    """A result beside such a loop has its gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [], name="x")
        y = x * x + tf.stop_gradient(taken_in(looped, "graph_def", x))
        assert session.run(slope(y, x), {x: START}) == pytest.approx(2 * START)
