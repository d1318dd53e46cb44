"""Nested structures: flat and back, alike or not."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.base import nest

Point = namedtuple("Point", "x y")
Place = namedtuple("Place", "x y")
Twin = namedtuple("Point", "x y")

LEAVES = st.one_of(st.integers(), st.none(), st.text(max_size=3))
STRUCTURES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Point, inner, inner),
    ),
    max_leaves=12,
)


@given(STRUCTURES)
def test_flat_and_back(structure: Any) -> None:
    flat = nest.flatten(structure)
    assert not any(nest.is_nested(leaf) for leaf in flat)
    assert nest.pack_sequence_as(structure, flat) == structure
    nest.assert_same_structure(structure, structure)


@given(STRUCTURES)
def test_mapping_keeps_the_structure(structure: Any) -> None:
    mapped = nest.map_structure(repr, structure)
    nest.assert_same_structure(structure, mapped)
    assert nest.flatten(mapped) == [repr(leaf) for leaf in nest.flatten(structure)]


def test_dicts_go_by_their_sorted_keys() -> None:
    ordered = OrderedDict([("b", 1), ("a", 2)])
    assert nest.flatten({"b": 1, "a": 2}) == nest.flatten(ordered) == [2, 1]
    packed = nest.pack_sequence_as(ordered, [10, 20])
    assert isinstance(packed, OrderedDict)
    assert list(packed.items()) == [("b", 20), ("a", 10)]
    counted = nest.pack_sequence_as(defaultdict(list, a=1), [5])
    assert counted == {"a": 5}
    assert counted["new"] == []


def test_what_is_a_leaf() -> None:
    with tf.Graph().as_default():
        leaves = [None, 1, "text", b"bytes", {1, 2}, tf.constant(1), tf.TensorShape([1, 2])]
        assert nest.flatten(leaves) == leaves
    assert nest.flatten("abc") == ["abc"]
    assert nest.flatten(range(3)) == [0, 1, 2]


def test_structures_of_several_are_mapped_together() -> None:
    found = nest.map_structure(lambda a, b: a + b, [1, (2, {"k": 3})], [10, (20, {"k": 30})])
    assert found == [11, (22, {"k": 33})]
    assert nest.map_structure(lambda a, b: a + b, [1, 2], (1, 2), check_types=False) == [2, 4]


# Outcomes and error classes of TensorFlow.
DIFFERENT: dict[str, tuple[Any, Any, type[Exception] | None, type[Exception] | None, str]] = {
    "length": ([1, 2], [1], ValueError, ValueError, "same number of elements"),
    "a leaf": ([1], 1, ValueError, ValueError, "is a sequence, while substructure"),
    "a structure": (1, [1], ValueError, ValueError, "is a sequence, while substructure"),
    "deeper": ([1, [2]], [1, 2], ValueError, ValueError, "is a sequence, while substructure"),
    "sequence type": ([1, 2], (1, 2), TypeError, None, "has type list, while .* has type tuple"),
    "keys": ({"a": 1}, {"b": 1}, ValueError, None, "same set of keys"),
    "names": (Point(1, 2), Place(1, 2), TypeError, None, "has type Point, while"),
    "named and not": (Point(1, 2), (1, 2), TypeError, None, "has type Point, while"),
    "dict and list": ({"a": 1}, [1], TypeError, None, "has type dict, while"),
    "inside a dict": ({"a": [1]}, {"a": 1}, ValueError, ValueError, "is a sequence"),
    "nothing": (Point(1, 2), Twin(3, 4), None, None, ""),
    "the dict's class": ({"a": 1}, OrderedDict(a=1), None, None, ""),
}


@pytest.mark.parametrize(
    ("one", "other", "error", "unchecked", "message"), DIFFERENT.values(), ids=DIFFERENT
)
def test_what_differs(one: Any, other: Any, error: Any, unchecked: Any, message: str) -> None:
    for check, wanted in ((True, error), (False, unchecked)):
        if wanted is None:
            nest.assert_same_structure(one, other, check_types=check)
            continue
        with pytest.raises(wanted, match=message) as found:
            nest.assert_same_structure(one, other, check_types=check)
        assert type(found.value) is wanted
        assert "The two structures don't have the same nested structure" in str(found.value)


def test_the_error_draws_both() -> None:
    with pytest.raises(ValueError, match="nested structure") as found:
        nest.assert_same_structure([1, {"a": (2,)}], [1, 2])
    said = str(found.value)
    assert "First structure: type=list str=[1, {'a': (2,)}]" in said
    assert said.endswith(
        "Entire first structure:\n[., {'a': (.,)}]\nEntire second structure:\n[., .]"
    )


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Structure had 2 elements, but flat_sequence had 1"):
        nest.pack_sequence_as([1, [2]], [1])
    with pytest.raises(ValueError, match="Structure had 1 elements"):
        nest.pack_sequence_as(1, [1, 2])
    with pytest.raises(TypeError, match="flat_sequence must be a sequence"):
        nest.pack_sequence_as([1], 1)
    with pytest.raises(TypeError, match="func must be callable"):
        nest.map_structure(1, [1])
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(lambda x: x)
    with pytest.raises(TypeError, match="only supports dicts with sortable keys"):
        nest.flatten({1: 2, "a": 3})


def test_views_of_dicts_are_structures() -> None:
    pairs = {"b": 1, "a": [2, 3]}
    assert nest.flatten(pairs.values()) == [1, 2, 3]
    assert nest.flatten(pairs.keys()) == ["b", "a"]
    assert nest.flatten([pairs.items()]) == ["b", 1, "a", 2, 3]
    assert nest.map_structure(lambda leaf: leaf + 1, pairs.values()) == [2, [3, 4]]


def test_composites_are_leaves_or_their_tensors() -> None:
    sparse = tf.SparseTensor([[0, 1]], [2.0], [3, 4])
    slices = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([5]))
    structure = {"a": [sparse, 1], "b": slices}
    assert tf.nest.flatten(structure) == [sparse, 1, slices]
    flat = tf.nest.flatten(structure, expand_composites=True)
    assert flat == [
        *(sparse.indices, sparse.values, sparse.dense_shape, 1, slices.values, slices.indices)
    ]
    again = tf.nest.pack_sequence_as(structure, flat, expand_composites=True)
    assert again["a"][0].values is sparse.values and again["a"][1] == 1
    assert isinstance(again["b"], tf.IndexedSlices) and again["b"].dense_shape is None
    mapped = tf.nest.map_structure(tf.identity, [sparse, slices], expand_composites=True)
    assert isinstance(mapped[0], tf.SparseTensor) and mapped[1].values is not slices.values
    with pytest.raises(ValueError, match="had 6 elements, but flat_sequence had 1"):
        tf.nest.pack_sequence_as(structure, [1], expand_composites=True)
    tf.nest.assert_same_structure([sparse], [1])
    with pytest.raises(ValueError, match="is made of 3 tensors"):
        tf.nest.assert_same_structure([sparse], [1], expand_composites=True)
