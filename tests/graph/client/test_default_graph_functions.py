"""Functions that a program calls without naming its graph."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph import graph
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.framework.tensor_conversion import constant


@pytest.fixture
def g() -> Any:
    with Graph().as_default() as made:
        yield made


def test_functions_reach_the_default_graph(g: Graph) -> None:
    first = constant(0, name="first")
    with graph.device("/gpu:0"), graph.control_dependencies([first]), graph.container("c"):
        op = constant(0).op
    assert (op.device, op.control_inputs) == ("/device:GPU:0", [first.op])
    with graph.colocate_with(first):
        assert constant(0).op.colocation_groups() == [b"loc:@first"]
    with graph.colocate_with(first), graph.colocate_with(None, ignore_existing=True):
        assert constant(0, name="own").op.colocation_groups() == [b"loc:@own"]


def test_a_name_scope_falls_back_to_its_default_name(g: Graph) -> None:
    seen = []
    for arguments in (("a", "b"), (None, "b"), ("", "b"), (None,), ("c",)):
        scope = graph.name_scope(*arguments)
        with scope as prefix:
            seen.append((scope.name, prefix))
    assert seen == [("a", "a/"), ("b", "b/"), ("", ""), (None, ""), ("c", "c/")]


def test_one_scope_object_can_be_entered_again(g: Graph) -> None:
    scope = graph.name_scope("a")
    with scope as outer, scope as inner:
        assert (outer, inner) == ("a/", "a/a/")
    with scope as again:
        assert again == "a_1/"
    assert g.get_name_scope() == ""


def test_values_choose_the_graph() -> None:
    with Graph().as_default() as other:
        value = constant(1)
    with Graph().as_default() as here:
        with graph.name_scope("a", values=[3, None, value]) as scope:
            assert scope == "a/"
            assert constant(1).op.name == "a/Const"
            assert graph.get_default_graph() is other
        assert graph.get_default_graph() is here
        assert here.version == 0
        mine = constant(1)
        with (
            pytest.raises(ValueError, match="must be from the same graph as"),
            graph.name_scope("a", values=[value, mine]),
        ):
            pass
        assert graph.get_default_graph() is here


def test_a_scope_with_values_needs_a_name(g: Graph) -> None:
    said = r"At least one of name \(None\) and default_name \(None\) must be provided"
    with pytest.raises(ValueError, match=said), graph.name_scope(None, None, []):
        pass
    with pytest.raises(TypeError, match=r"`default_name` type \(<class 'list'>\)"):
        graph.name_scope(None, [constant(1)])


@pytest.mark.parametrize("name", ["a b", 5])
def test_a_scope_that_cannot_be_entered_leaves_the_default_graph(g: Graph, name: Any) -> None:
    with Graph().as_default():
        value = constant(1)
    try:
        graph.name_scope(name, values=[value]).__enter__()
    except (ValueError, TypeError):
        assert graph.get_default_graph() is g  # already while the error is handled
    else:
        raise AssertionError("entered")


def test_an_exception_inside_ends_scope_and_graph(g: Graph) -> None:
    with Graph().as_default():
        value = constant(1)
    with pytest.raises(KeyError), graph.name_scope("a", values=[value]):
        raise KeyError
    assert graph.get_default_graph() is g
    assert value.graph.get_name_scope() == ""


def test_init_scope_lifts_out_of_control_dependencies_and_keeps_names(g: Graph) -> None:
    first = constant(0)
    with graph.name_scope("a"), graph.control_dependencies([first]):
        with graph.init_scope():
            lifted = constant(0, name="x").op
        after = constant(0).op
    assert (lifted.name, lifted.control_inputs) == ("a/x", [])
    assert after.control_inputs == [first.op]


def test_op_scope_is_name_scope_in_another_order(capsys):
    with tf.Graph().as_default() as graph:
        x = tf.constant(1)
        with tf.Graph().as_default(), tf.op_scope([x], None, "scope") as scope:
            assert scope == "scope/"
            assert tf.get_default_graph() is graph
        with tf.op_scope([], "named", "scope") as scope:
            assert scope == "named/"
    assert "tf.op_scope(values, name, default_name) is deprecated" in capsys.readouterr().err


def test_the_seed_of_a_graph_is_a_property():
    graph = tf.Graph()
    assert graph.seed is None
    with graph.as_default():
        tf.set_random_seed(7)
    assert graph.seed == 7
    assert isinstance(tf.Graph.seed, property)
