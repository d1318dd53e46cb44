"""Structures as deep as another one goes, and with their paths."""

from __future__ import annotations

from collections import namedtuple

import pytest

from gpugraph.base.nest_by_depth import (
    flatten_dict_items,
    flatten_up_to,
    flatten_with_joined_string_paths,
    get_traverse_shallow_structure,
    is_named_tuple,
    map_structure_up_to,
)

Pair = namedtuple("Pair", "a b")


def test_a_structure_is_cut_where_the_other_has_leaves() -> None:
    assert flatten_up_to([[0], 0], [[[1, 2]], [3]]) == [[1, 2], [3]]
    assert flatten_up_to({"b": 0, "a": Pair(0, 0)}, {"a": Pair(1, [2]), "b": (3,)}) == [
        1,
        [2],
        (3,),
    ]
    assert map_structure_up_to([0, 0], lambda x, y: (x, y), [[1], 2], [3, [4]]) == [
        ([1], 3),
        (2, [4]),
    ]
    assert flatten_up_to(7, [1, 2]) == [[1, 2]]


@pytest.mark.parametrize(
    ("shallow", "value", "error", "words"),
    [
        ([0, 0], [1], ValueError, "length 1, while shallow structure has length 2"),
        ([0], (1,), TypeError, "don't have the same sequence type"),
        ([0], 1, TypeError, "input must also be a sequence"),
        ({"a": 0}, {"b": 1}, ValueError, "keys"),
    ],
)
def test_structures_that_differ(shallow, value, error, words) -> None:
    with pytest.raises(error, match=words):
        flatten_up_to(shallow, value)


def test_types_are_not_compared_where_that_is_asked_for() -> None:
    assert flatten_up_to([0, 0], (1, 2), check_types=False) == [1, 2]
    with pytest.raises(ValueError, match="Cannot map over no sequences"):
        map_structure_up_to([0], len)


def test_dicts_of_nested_keys() -> None:
    assert flatten_dict_items({(1, (2,)): (3, (4,)), 5: [6]}) == {1: 3, 2: 4, 5: [6]}
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
        flatten_dict_items({(1, 2): (3,)})
    with pytest.raises(ValueError, match="not unique"):
        flatten_dict_items({(1, 2): (3, 4), 2: 1})
    with pytest.raises(TypeError, match="must be a dictionary"):
        flatten_dict_items([1])


def test_paths() -> None:
    structure = {"x": [1, 2], "y": Pair(3, {"q": 4})}
    assert flatten_with_joined_string_paths(structure) == [
        ("x/0", 1),
        ("x/1", 2),
        ("y/a", 3),
        ("y/b/q", 4),
    ]
    assert flatten_with_joined_string_paths(structure, ".")[3] == ("y.b.q", 4)


def test_a_traversed_structure_has_bools_down_to_where_the_function_allows() -> None:
    Pair = namedtuple("Pair", "a b")
    value = {"x": [1, (2, 3)], "y": Pair(4, [5])}
    traverse = get_traverse_shallow_structure
    assert traverse(lambda part: part is value, value) == {"x": False, "y": False}
    assert traverse(lambda part: True, value) == {
        "x": [True, (True, True)],
        "y": Pair(True, [True]),
    }
    only_x = traverse(lambda part: {"x": True, "y": False} if part is value else True, value)
    assert only_x == {"x": [True, (True, True)], "y": False}
    with pytest.raises(TypeError, match="returned a non-bool scalar: 3"):
        traverse(lambda part: 3, value)
    with pytest.raises(TypeError, match="for non-structure: 1"):
        traverse(lambda part: [True, True], [1, (2, 3)])
    with pytest.raises(TypeError, match="depth=1 structure of bools"):
        traverse(lambda part: [1, True], [1, (2, 3)])


def test_named_tuples_are_found_by_their_fields() -> None:
    Pair = namedtuple("Pair", "a b")
    Further = type("Further", (Pair,), {})
    assert is_named_tuple(Pair(1, 2), strict=True)
    assert is_named_tuple(Further(1, 2))
    assert not is_named_tuple(Further(1, 2), strict=True)
    assert not is_named_tuple((1, 2))
