"""Nested structures of elements: tuples, named tuples and dicts.

Unlike in `tf.nest`, a list is not a structure but a value that is converted to a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpugraph.base.nest import parts_of, structure_like
from gpugraph.ops.sparse.sparse_tensor import SparseTensorValue


def is_sequence(value: Any) -> bool:
    """Return whether a value is a structure. A value that is not a structure is a leaf."""
    if isinstance(value, SparseTensorValue):
        return False
    return isinstance(value, (tuple, Mapping)) or hasattr(type(value), "__attrs_attrs__")


is_nested = is_sequence


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure. The leaves of a dict are sorted by their keys."""
    if not is_sequence(structure):
        return [structure]
    return [leaf for part in parts_of(structure) for leaf in flatten(part)]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """Return a structure like `structure`, with the leaves `flat_sequence`. Raises ValueError for a
    wrong number of leaves.
    """
    leaves = list(flat_sequence)
    expected = len(flatten(structure))
    if not is_sequence(structure) and len(leaves) == 1:
        return leaves[0]
    if expected != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {expected} elements, but flat_sequence had "
            f"{len(leaves)} elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    return structure_like(structure, [_packed(part, leaves) for part in parts_of(structure)])


def map_structure(function: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    """Call `function` with the corresponding leaves of several structures. Return its results in an
    equal structure.
    """
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    leaves = zip(*map(flatten, structures))
    return pack_sequence_as(structures[0], [function(*group) for group in leaves])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError if the nesting differs, and TypeError if the types of structures differ."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {nest1}\n\nSecond structure: {nest2}"
        )
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        both = isinstance(nest1, Mapping) and isinstance(nest2, Mapping)
        if not both:
            raise TypeError(
                "The two structures don't have the same sequence type. First structure has type "
                f"{type(nest1)}, while second structure has type {type(nest2)}."
            )
    if isinstance(nest1, Mapping) and set(nest1) != set(nest2):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{list(nest1)}, while second structure has keys {list(nest2)}"
        )
    first, second = parts_of(nest1), parts_of(nest2)
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{nest1}. Second structure: {nest2}."
        )
    for one, other in zip(first, second):
        assert_same_structure(one, other, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """Return the substructures of `input_tree` that correspond to the leaves of `shallow_tree`."""
    if not is_sequence(shallow_tree):
        return [input_tree]
    if isinstance(input_tree, list) and isinstance(shallow_tree, tuple):
        input_tree = tuple(input_tree)
    if not is_sequence(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    shallow, deep = parts_of(shallow_tree), parts_of(input_tree)
    if len(shallow) != len(deep):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(deep)}, while shallow structure has length {len(shallow)}."
        )
    return [leaf for one, other in zip(shallow, deep) for leaf in flatten_up_to(one, other)]


def map_structure_up_to(shallow_tree: Any, function: Callable[..., Any], *inputs: Any) -> Any:
    """Call `function` for each leaf of `shallow_tree`, with the corresponding substructures of the
    inputs.

    Return its results in the structure of `shallow_tree`.
    """
    groups = zip(*(flatten_up_to(shallow_tree, tree) for tree in inputs))
    return pack_sequence_as(shallow_tree, [function(*group) for group in groups])
