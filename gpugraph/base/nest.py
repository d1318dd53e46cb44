"""Flattening and packing of nested structures.

A structure is a list, a tuple, a named tuple, a dict, a dict view, or an instance of an attrs
class. Every other value (tensors, numbers, strings, None) is a leaf. The leaves of a dict are in
the order of its sorted keys, so dicts with the same keys match whatever their insertion order.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

_VIEWS = (KeysView, ValuesView, ItemsView)


def is_nested(seq: Any) -> bool:
    """Return whether a value is a structure. Any other value is a leaf."""
    if isinstance(seq, (str, bytes, bytearray)):
        return False
    return isinstance(seq, (Sequence, Mapping, *_VIEWS)) or _is_attrs(seq)


def is_composite(value: Any) -> bool:
    """Return whether a value, such as a SparseTensor, is a composite of several tensors."""
    return hasattr(type(value), "_parts") and hasattr(type(value), "_of")


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of `structure`, in order. If `structure` is a leaf, return a list of this
    one leaf.

    With `expand_composites`, a composite leaf is replaced by its component tensors.

    >>> tf.nest.flatten({"b": [1, 2], "a": (3,)})
    [3, 1, 2]
    """
    if expand_composites:
        leaves = flatten(structure)
        return [part for leaf in leaves for part in (_components(leaf) or [leaf])]
    if not is_nested(structure):
        return [structure]
    leaves = []
    try:
        _collect(structure, leaves)
    except RecursionError:
        raise ValueError("A structure is nested too deeply, or contains itself") from None
    return leaves


def _components(value: Any) -> list[Any]:
    return value._parts() if is_composite(value) else []


def _collect(structure: Any, leaves: list[Any]) -> None:
    for part in parts_of(structure):
        if is_nested(part):
            _collect(part, leaves)
        else:
            leaves.append(part)


def pack_sequence_as(
    structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Any:
    """Return a structure like `structure` whose leaves are the items of `flat_sequence`.

    Raises TypeError if `flat_sequence` is not a sequence. Raises ValueError if its length is not
    the number of leaves of `structure`.

    Args:
      expand_composites: whether the items are the component tensors of composites, as `flatten`
        returns them with this option. They are joined to composites again.
    """
    if not is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack {flat_sequence!r} of type {type(flat_sequence)} into a structure: "
            "flat_sequence must be a sequence"
        )
    count = len(flatten(structure, expand_composites))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements. Structure: {structure}, flat_sequence: "
            f"{flat_sequence}."
        )
    leaves = iter(flat_sequence)
    return _packed(structure, _composed(structure, leaves) if expand_composites else leaves)


def _composed(structure: Any, leaves: Iterator[Any]) -> Iterator[Any]:
    """Yield one value for each leaf of `structure`, and join component tensors to the composites
    that they belong to.
    """
    for leaf in flatten(structure):
        parts = _components(leaf)
        yield leaf._of([next(leaves) for _ in parts]) if parts else next(leaves)


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    return structure_like(structure, [_packed(part, leaves) for part in parts_of(structure)])


def map_structure(
    func: Callable[..., Any],
    *structures: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Any:
    """Apply `func` to the corresponding leaves of the structures. Return the results in a structure
    like the first one.

    Raises TypeError if `func` is not callable, ValueError if no structure is passed, and the errors
    of `assert_same_structure` if the structures don't match.

    Args:
      expand_composites: whether `func` is applied to the component tensors of composites instead.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types, expand_composites)
    leaves = zip(*[flatten(item, expand_composites) for item in structures])
    return pack_sequence_as(structures[0], [func(*item) for item in leaves], expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise ValueError unless the two structures are nested in the same way.

    With `check_types`, sequences must also have the same type (TypeError), and dicts, whatever
    their types, must have the same keys (ValueError). With `expand_composites`, corresponding
    leaves must have the same number of component tensors.
    """
    try:
        _check_same(nest1, nest2, check_types)
        if expand_composites:
            _check_composites(flatten(nest1), flatten(nest2))
    except (TypeError, ValueError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(nest1)}\n\nSecond structure: {_described(nest2)}\n\n"
            f"More specifically: {error}\n"
            f"Entire first structure:\n{_outline(nest1)}\n"
            f"Entire second structure:\n{_outline(nest2)}"
        ) from None


def _check_same(one: Any, other: Any, check_types: bool) -> None:
    nested = is_nested(one)
    if nested != is_nested(other):
        inner, outer = (one, other) if nested else (other, one)
        raise ValueError(
            f'Substructure "{_described(inner)}" is a sequence, while substructure '
            f'"{_described(outer)}" is not'
        )
    if not nested:
        return
    if check_types:
        _check_types(one, other)
    parts, others = parts_of(one), parts_of(other)
    if len(parts) != len(others):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{_described(one)}. Second structure: {_described(other)}"
        )
    for part, its_like in zip(parts, others):
        _check_same(part, its_like, check_types)


def _check_composites(leaves: list[Any], others: list[Any]) -> None:
    for leaf, other in zip(leaves, others):
        if len(_components(leaf)) != len(_components(other)):
            raise ValueError(
                f'Substructure "{_described(leaf)}" is made of {len(_components(leaf))} tensors, '
                f'while substructure "{_described(other)}" is made of {len(_components(other))}'
            )


def _check_types(one: Any, other: Any) -> None:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if set(one) != set(other):
            raise ValueError(
                "The two dictionaries don't have the same set of keys. First structure has keys "
                f"{list(one)}, while second structure has keys {list(other)}"
            )
    elif type(one) is not type(other) and not _are_same_named_tuples(one, other):
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure "
            f"{_described(one)} has type {type(one).__name__}, while second structure "
            f"{_described(other)} has type {type(other).__name__}"
        )


def _are_same_named_tuples(one: Any, other: Any) -> bool:
    """Return whether the values are named tuples whose classes have the same name and the same
    fields.
    """
    fields = getattr(one, "_fields", None)
    same = fields is not None and fields == getattr(other, "_fields", None)
    return same and type(one).__name__ == type(other).__name__


def _is_attrs(value: Any) -> bool:
    return hasattr(type(value), "__attrs_attrs__")


def parts_of(structure: Any) -> Sequence[Any]:
    """Return the items of a structure, one level deep. The values of a dict are in the order of its
    sorted keys.
    """
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    if _is_attrs(structure):
        kind: Any = type(structure)
        return [getattr(structure, attribute.name) for attribute in kind.__attrs_attrs__]
    return list(structure) if isinstance(structure, _VIEWS) else structure


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError as error:
        raise TypeError(f"nest only supports dicts with sortable keys: {error}") from None


def structure_like(structure: Any, parts: list[Any]) -> Any:
    """Return a structure of the type of `structure` with the items `parts`."""
    kind = type(structure)
    if isinstance(structure, Mapping):
        held = dict(zip(_keys(structure), parts))
        pairs = [(key, held[key]) for key in structure]
        if hasattr(structure, "default_factory"):
            return kind(structure.default_factory, pairs)
        return kind(pairs)
    if hasattr(structure, "_fields") or _is_attrs(structure):
        return kind(*parts)
    if kind is tuple:
        return tuple(parts)
    is_list = kind is list or isinstance(structure, (range, *_VIEWS))
    return parts if is_list else kind(parts)


def _described(structure: Any) -> str:
    return f"type={type(structure).__name__} str={structure}"


class _Dot:
    """A placeholder for a leaf, printed as a dot when an error message shows a structure."""

    def __repr__(self) -> str:
        return "."


def _outline(structure: Any) -> str:
    return str(_packed(structure, iter([_Dot()] * len(flatten(structure)))))
