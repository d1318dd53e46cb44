"""Collections of a graph."""

from __future__ import annotations

from types import SimpleNamespace

from gpugraph import graph
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.graph_collections import GraphKeys


def test_a_collection_keeps_what_was_added_in_order() -> None:
    g = Graph()
    assert g.get_collection("c") == []
    for value in (3, 1, 3):
        g.add_to_collection("c", value)
    assert g.get_collection("c") == [3, 1, 3]
    assert g.collections == ["c"]


def test_a_collection_is_given_as_a_copy_or_live() -> None:
    g = Graph()
    g.get_collection("c").append(1)
    assert g.collections == []
    g.get_collection_ref("c").append(2)
    assert g.get_collection("c") == [2]
    g.get_collection("c").append(3)
    assert g.get_collection_ref("c") is g.get_collection_ref("c")
    assert g.get_collection("c") == [2]


def test_a_value_can_be_added_to_several_collections_once_each() -> None:
    g = Graph()
    g.add_to_collections(["a", "b", "a", ("t", 1)], 1)
    g.add_to_collections("word", 2)
    found = {name: g.get_collection(name) for name in g.collections}
    assert found == {"a": [1], "b": [1], ("t", 1): [1], "word": [2]}
    assert g.get_all_collection_keys() == ["a", "b", "word"]


def test_a_scope_filters_by_a_prefix_of_the_name() -> None:
    g = Graph()
    names = ["foo/x", "foo1/x", "bar/foo/x", "Foo/x"]
    items = {name: SimpleNamespace(name=name) for name in names}
    for item in [*items.values(), 7]:
        g.add_to_collection("c", item)
    assert g.get_collection("c", "foo") == [items["foo/x"], items["foo1/x"]]
    assert g.get_collection("c", "foo/") == [items["foo/x"]]
    assert g.get_collection("c", ".*foo") == [items["foo/x"], items["foo1/x"], items["bar/foo/x"]]
    assert g.get_collection("c", "") == list(items.values())  # items without a name are left out
    assert g.get_collection("c")[-1] == 7
    assert g.get_collection("nope", "foo") == []


def test_a_collection_can_be_forgotten() -> None:
    g = Graph()
    g.add_to_collection("c", 1)
    g.clear_collection("c")
    g.clear_collection("never")
    assert (g.collections, g.get_collection("c")) == ([], [])


def test_functions_reach_the_default_graph_s_collections() -> None:
    with Graph().as_default() as g, Graph().as_default() as inner:
        graph.add_to_collection("c", 1)
        graph.add_to_collections(["c", "d"], 2)
        assert graph.get_collection("c") == [1, 2]
        assert graph.get_collection_ref("d") is inner.get_collection_ref("d")
    assert g.collections == []


def test_keys_are_tensorflow_s_words() -> None:
    assert GraphKeys.GLOBAL_VARIABLES == GraphKeys.VARIABLES == "variables"
    assert GraphKeys.TRAINABLE_VARIABLES == "trainable_variables"
    assert GraphKeys.REGULARIZATION_LOSSES == "regularization_losses"
    assert GraphKeys.UPDATE_OPS == "update_ops"
