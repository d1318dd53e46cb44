"""Functions that flatten a structure only as deeply as another structure is nested, or that return
the path of each leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpugraph.base.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    pack_sequence_as,
    parts_of,
    structure_like,
)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raise TypeError or ValueError unless `input_tree` is nested like `shallow_tree`, or more
    deeply.

    A leaf of `shallow_tree` may correspond to a whole structure in `input_tree`.
    """
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    are_mappings = isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)
    if check_types and type(shallow_tree) is not type(input_tree) and not are_mappings:
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    shallow_parts, input_parts = parts_of(shallow_tree), parts_of(input_tree)
    if len(shallow_parts) != len(input_parts):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_parts)}, while shallow structure has length {len(shallow_parts)}."
        )
    if isinstance(shallow_tree, Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys "
            f"{sorted(input_tree)}, while shallow structure has keys {sorted(shallow_tree)}."
        )
    for shallow, value in zip(shallow_parts, input_parts):
        assert_shallow_structure(shallow, value, check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """Return the parts of `input_tree` that correspond to the leaves of `shallow_tree`."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(_up_to(shallow_tree, input_tree))


def _up_to(shallow_tree: Any, input_tree: Any) -> Iterator[Any]:
    if not is_nested(shallow_tree):
        yield input_tree
        return
    for shallow, value in zip(parts_of(shallow_tree), parts_of(input_tree)):
        yield from _up_to(shallow, value)


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True
) -> Any:
    """Apply `func` to the parts of the inputs that correspond to the same leaf of `shallow_tree`.

    Returns a structure like `shallow_tree` with the results.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    columns = [flatten_up_to(shallow_tree, tree, check_types) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*row) for row in zip(*columns)])


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Return a structure of bools as deep as `traverse_fn` allows, for `map_structure_up_to`.

    Args:
      traverse_fn: receives a structure and returns whether to descend into it. It returns one bool,
        or a structure of one level with a bool for each item.
      expand_composites: has no effect: a composite tensor is always a leaf.
    """
    allowed = traverse_fn(structure)
    if not is_nested(structure):
        if not isinstance(allowed, bool):
            raise TypeError(
                f"traverse_fn returned structure: {allowed} for non-structure: {structure}"
            )
        return allowed
    parts = parts_of(structure)
    if isinstance(allowed, bool):
        if not allowed:
            return False
        choices = [True] * len(parts)
    elif not is_nested(allowed):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {allowed} for input: {structure}")
    else:
        assert_shallow_structure(allowed, structure)
        choices = list(parts_of(allowed))
    if not all(isinstance(choice, bool) for choice in choices):
        raise TypeError(
            f"traverse_fn didn't return a depth=1 structure of bools. It returned {allowed} "
            f"for structure: {structure}"
        )
    inner = [
        choice and get_traverse_shallow_structure(traverse_fn, part, expand_composites)
        for choice, part in zip(choices, parts)
    ]
    return structure_like(structure, inner)


def is_named_tuple(instance: Any, strict: bool = False) -> bool:
    """Return whether a value is a named tuple. With `strict`, its class must also derive directly
    from tuple.
    """
    fields = getattr(instance, "_fields", None)
    is_tuple = isinstance(instance, tuple) and isinstance(fields, tuple)
    is_direct = not strict or type(instance).__base__ is tuple
    return is_tuple and is_direct and all(isinstance(field, str) for field in fields or ())


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """Return a dict in which every key that is a structure is flattened, together with its value.

    `{(k1, (k2,)): (v1, (v2,))}` becomes `{k1: v1, k2: v2}`. Raises ValueError for a duplicate key.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys = flatten(key) if is_nested(key) else [key]
        values = flatten(value) if is_nested(key) else [value]
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {key}, value: {value}."
            )
        for flat_key, flat_value in zip(keys, values):
            if flat_key in flat:
                raise ValueError(f"Could not flatten dictionary: key {flat_key} is not unique.")
            flat[flat_key] = flat_value
    return flat


def flatten_with_joined_string_paths(structure: Any, separator: str = "/") -> list[Any]:
    """Return (path, leaf) for each leaf.

    The path is a string: the keys, field names and positions that lead to the leaf, joined by
    `separator`.
    """
    paths = _with_paths(structure, ())
    return [(separator.join(map(str, path)), leaf) for path, leaf in paths]


def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return (path, leaf) for each leaf. The path is a tuple of keys, field names and positions.

    Args:
      expand_composites: whether a composite, such as a SparseTensor, is replaced by its component
        tensors. In a path, a component tensor is identified by its position in the composite.
    """
    paths = list(_with_paths(structure, ()))
    if not expand_composites:
        return paths
    expanded = []
    for path, leaf in paths:
        parts = flatten(leaf, expand_composites=True)
        is_single = len(parts) == 1 and parts[0] is leaf
        expanded += [(path if is_single else (*path, i), part) for i, part in enumerate(parts)]
    return expanded


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each leaf, as `flatten_with_tuple_paths` does."""
    return (path for path, _ in flatten_with_tuple_paths(nest, expand_composites))


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the results of `func(path, *leaves, **kwargs)` for the corresponding leaves of the
    arguments, in a structure like the first argument.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand)
    flat = zip(*(flatten(nested, expand) for nested in structure))
    paths = yield_flat_paths(structure[0], expand)
    results = [func(path, *leaves, **kwargs) for path, leaves in zip(paths, flat)]
    return pack_sequence_as(structure[0], results, expand)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the results of `map_structure_with_tuple_paths`, where each path is a string joined by
    "/".
    """
    return map_structure_with_tuple_paths(
        lambda path, *leaves, **words: func("/".join(map(str, path)), *leaves, **words),
        *structure,
        **kwargs,
    )


def _with_paths(structure: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not is_nested(structure):
        yield path, structure
        return
    parts = parts_of(structure)
    if isinstance(structure, Mapping):
        keys = sorted(structure)
    else:
        keys = list(getattr(structure, "_fields", range(len(parts))))
    for key, part in zip(keys, parts):
        yield from _with_paths(part, (*path, key))
