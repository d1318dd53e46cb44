"""Composite values in branches and loops, where one or several tensors represent each of them.

A TensorArray is represented by its flow, the tensor that orders its writes. A SparseTensor or
IndexedSlices is represented by its component tensors. When these tensors leave the branch or loop,
they are combined again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray, build_ta_with_new_flow


def parts_of(value: Any) -> list[Any]:
    """Return the components of a value. Each component can be converted to a tensor.

    The component of a TensorArray is its flow. A value that is not composite is its own component.
    """
    if isinstance(value, TensorArray):
        return [value.flow]
    if isinstance(value, (SparseTensor, IndexedSlices)):
        return list(value._parts())
    return [value]


def flat_tensors(structure: Any) -> list[Tensor]:
    """Return the components of all leaves of a structure, as tensors."""
    return [convert_to_tensor(part) for leaf in flatten(structure) for part in parts_of(leaf)]


def packed(structure: Any, tensors: Iterable[Tensor]) -> Any:
    """Rebuild `structure` with `tensors` as its components, in the order of `flat_tensors`."""
    rest = iter(tensors)
    return pack_sequence_as(structure, [_made_again(leaf, rest) for leaf in flatten(structure)])


def _made_again(original: Any, rest: Any) -> Any:
    parts = [next(rest) for _ in parts_of(original)]
    if isinstance(original, TensorArray):
        return build_ta_with_new_flow(original, parts[0])
    if isinstance(original, (SparseTensor, IndexedSlices)):
        return type(original)(*parts)
    return parts[0]


def map_parts(change: Callable[[Any], Tensor], structure: Any) -> Any:
    """Return the structure with each component of its leaves replaced by `change(component)`.

    A TensorArray becomes the tensor `change(flow)`.
    """

    def changed(leaf: Any) -> Any:
        parts = [change(part) for part in parts_of(leaf)]
        if isinstance(leaf, (SparseTensor, IndexedSlices)):
            return type(leaf)(*parts)
        return parts[0]

    return map_structure(changed, structure)


def check_kinds(one: Any, two: Any) -> None:
    """Raise ValueError if corresponding leaves of two structures differ in kind.

    There are four kinds: a single tensor, a SparseTensor, IndexedSlices with a dense shape, and
    IndexedSlices without one.
    """
    for first, second in zip(flatten(one), flatten(two)):
        kinds = [_kind(leaf) for leaf in (first, second)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                "The two structures don't have the same nested structure.\n\nFirst structure: "
                f"{one}\n\nSecond structure: {two}\n\n{first} is {kinds[0]}, {second} {kinds[1]}"
            )


def _kind(leaf: Any) -> str:
    if isinstance(leaf, IndexedSlices):
        return f"IndexedSlices with{'' if leaf.dense_shape is not None else 'out'} dense_shape"
    return "a SparseTensor" if isinstance(leaf, SparseTensor) else "one tensor"


def with_indices_alike(structure: Any, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the components of a structure, with the indices of all IndexedSlices cast to int64."""
    parts = [
        isinstance(leaf, IndexedSlices) and slot == 1
        for leaf in flatten(structure)
        for slot, _ in enumerate(parts_of(leaf))
    ]
    return [cast(x, int64) if is_indices else x for x, is_indices in zip(tensors, parts)]


def invariant_shapes(leaf: Any, invariant: Any) -> Sequence[TensorShape | None]:
    """Return the static shape that each component of a loop variable has in all iterations.

    A shape of None means the shape at the loop's entry.

    Raises ValueError if the variable's type can't have the invariant.

    Args:
      invariant: a TensorShape or TensorSpec, or None to keep the shapes at entry. For a
        SparseTensor, the invariant is the shape of its `dense_shape`. For IndexedSlices, it is the
        shape of their values.
    """
    if isinstance(invariant, TensorSpec):
        invariant = invariant.shape
    if isinstance(leaf, SparseTensor):
        rank = leaf.dense_shape.shape
        shape = rank if invariant is None else _shape(leaf.values, invariant)
        if shape.rank not in (None, 1):
            raise ValueError(
                f"Expected a shape with 1 dimension. Obtained: {shape}; the shape invariant of a "
                "SparseTensor is the shape of its dense_shape"
            )
        axes = shape[0] if shape.rank == 1 else None
        return [TensorShape([None, axes]), TensorShape([None]), shape]
    if invariant is None:
        return [None for _ in parts_of(leaf)]
    if isinstance(leaf, IndexedSlices):
        shape = _shape(leaf.values, invariant)
        rows = TensorShape([None]) if shape.rank is None else shape[:1]
        return [shape, rows, TensorShape([shape.rank])][: len(leaf._parts())]
    return [_shape(leaf, invariant)]


def _shape(leaf: Any, invariant: Any) -> TensorShape:
    if not isinstance(invariant, TensorShape):
        raise ValueError(
            "`shapes` must be a (possibly nested) list of TensorShapes; that of "
            f"{getattr(leaf, 'name', leaf)} is {invariant!r}"
        )
    return invariant
