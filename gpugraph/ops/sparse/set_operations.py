"""Operations on sets along the last axis of tensors: sizes, intersections, differences and unions.

The elements along the last axis of a dense or sparse tensor form a set. Results are sparse tensors.
The elements of each set are in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import InternalError, invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.sparse.sparse_positions import PARTS, check_parts
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor

_TYPES = (
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
    dtypes.string,
)  # fmt: skip

Sets = dict[tuple[int, ...], set[Any]]
"""Sets by their index, which has the positions along all axes except the last."""

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _dense_sets(array: Any) -> Sets:
    groups = array.reshape(-1, array.shape[-1]) if array.shape[-1] else []
    places = list(np.ndindex(array.shape[:-1]))
    if not len(groups):
        return {place: set() for place in places}
    return {place: _set_of(row) for place, row in zip(places, groups, strict=True)}


_MANY = 256
"""The number of integers from which on NumPy removes repetitions faster than a Python set."""


_SPREAD = 4
"""The range of integers, relative to their number, up to which a flag for each is faster than a
sort.
"""


def _set_of(row: Any) -> set[Any]:
    if row.size < _MANY or row.dtype.kind not in "iu":
        return set(row.tolist())
    low, high = int(row.min()), int(row.max())
    if high - low > _SPREAD * row.size:
        return set(np.unique(row).tolist())
    occurs = np.zeros(high - low + 1, bool)
    occurs[row.astype(np.int64) - low] = True
    return set((np.flatnonzero(occurs) + low).tolist())


def _sparse_sets(indices: Any, values: Any, shape: Any, validate: bool) -> Sets:
    rows = [tuple(row) for row in indices.tolist()]
    if validate:
        _check_order(rows, tuple(shape.tolist()))
    elif rows:
        _check_sets(indices, shape)
    sets: Sets = {}
    for row, value in zip(rows, values.tolist(), strict=True):
        sets.setdefault(row[:-1], set()).add(value)
    return sets


def _check_sets(indices: Any, sizes: Any) -> None:
    """Raise an error if indices are out of range. Their order is not checked.

    Raises InternalError if an index exceeds the size of an axis, and InvalidArgumentError if an
    index is negative along any axis except the last.

    Args:
      sizes: the dense shape.
    """
    for row, column in np.argwhere(indices >= sizes)[:1].tolist():
        words = f"indices[{row}, {column}] expected < {sizes[column]}, got {indices[row, column]}."
        raise InternalError(None, None, words)
    before = (indices[:, :-1] < 0).any(axis=1)
    if before.any():
        number = int(np.argmax(before))
        raise invalid_argument(
            f"indices[{number}] = {indices[number].tolist()} is out of bounds of {sizes.tolist()}"
        )


def _check_order(rows: Sequence[tuple[int, ...]], sizes: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError if an index is out of bounds, repeated or out of order.

    Args:
      rows: the rows of indices.
      sizes: the dense shape.
    """
    before: tuple[int, ...] | None = None
    for number, row in enumerate(rows):
        if any(not 0 <= position < size for position, size in zip(row, sizes, strict=True)):
            raise invalid_argument(
                f"indices[{number}] = {list(row)} is out of bounds of {list(sizes)}"
            )
        if before is not None and row <= before:
            what = "repeated" if row == before else "out of order"
            raise invalid_argument(f"indices[{number}] = {list(row)} is {what}")
        before = row


# -- sizes


def _infer_size(context: InferContext) -> Sequence[TensorShape]:
    if not context.is_building:
        check_parts(context)
    shape = context.value_as_shape(2)
    return [UNKNOWN if shape.rank is None else shape[:-1]]


def _sizes(context: KernelContext, indices: Any, values: Any, shape: Any) -> Callable[[], Any]:
    validate = context.attrs["validate_indices"]

    def run() -> list[Any]:
        out = np.zeros(tuple(shape.tolist())[:-1], np.int32)
        for place, members in _sparse_sets(indices, values, shape, validate).items():
            out[place] = len(members)
        return [out]

    return run


_set_size = op(
    "SetSize",
    inputs=PARTS.format("set"),
    outputs="size: int32",
    attrs={"validate_indices": Attr("bool", True), "T": _TYPES},
    infer=_infer_size,
    **numpy_kernels(Call(make=_sizes, dynamic=True)),
    grad=NO_GRADIENT,
    doc="The number of distinct elements of each set along the last axis of a sparse tensor.",
)

# -- operations


def _infer_operation(context: InferContext) -> Sequence[TensorShape]:
    named = context.attrs["set_operation"]
    if named not in _OPERATIONS:
        raise ValueError(f"Invalid set_operation {named}, not one of {list(_OPERATIONS)}")
    rank = None
    if not context.is_building:
        for first in range(len(context.shapes) % 3 % 2, len(context.shapes) - 2, 3):
            check_parts(context, first)
    if len(context.shapes) == 2:
        for shape in context.shapes:
            rank = shape.with_rank_at_least(2).rank if rank is None else rank
        if None not in (context.shapes[0].rank, context.shapes[1].rank):
            context.shapes[0][:-1].merge_with(context.shapes[1][:-1])
    elif len(context.shapes) == 4:
        rank = context.shapes[0].rank
    elif context.shapes[0].sizes is not None:
        rank = context.shapes[0].sizes[-1]
    return [TensorShape.of((None, rank)), TensorShape.of((None,)), TensorShape.of((rank,))]


def _combine_sets(
    operation: str, ones: Sets, others: Sets, sizes: tuple[int, ...], dtype: Any
) -> list[Any]:
    """Apply `operation` to each pair of sets at the same position. Return the indices, values and
    shape of the results.

    Args:
      sizes: the sizes of all axes except the last.
    """
    combine = _OPERATIONS[operation]
    rows: list[tuple[int, ...]] = []
    values: list[Any] = []
    longest = 0
    for place in sorted({*ones, *others}):
        members = sorted(combine(ones.get(place, set()), others.get(place, set())))
        rows += [(*place, number) for number in range(len(members))]
        values += members
        longest = max(longest, len(members))
    indices = np.array(rows, np.int64).reshape(len(rows), len(sizes) + 1)
    elements = np.empty(len(values), dtype)
    elements[:] = values
    return [indices, elements, np.array([*sizes, longest], np.int64)]


def _common_sizes(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of all axes except the last. Raises InvalidArgumentError if they differ
    between the two shapes.
    """
    for sizes in (one, other):
        if len(sizes) < 2:
            raise invalid_argument(f"Shape {shape_text(sizes)} has rank {len(sizes)} < 2")
    if one[:-1] != other[:-1]:
        raise invalid_argument(
            f"Mismatched shapes {shape_text(one[:-1])} vs {shape_text(other[:-1])}"
        )
    return one[:-1]


def _bind(dense: int) -> Callable[..., Callable[[], Any]]:
    """Return a function that binds a set operation.

    Args:
      dense: the number of leading operands that are dense.
    """

    def make(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        operation, validate = context.attrs["set_operation"], context.attrs["validate_indices"]
        dtype = context.output_types[1].as_numpy_dtype

        def run() -> list[Any]:
            sets, shapes = [], []
            for array in arrays[:dense]:
                shapes.append(tuple(array.shape))
                sets.append(_dense_sets(array))
            for start in range(dense, len(arrays), 3):
                shapes.append(tuple(arrays[start + 2].tolist()))
                sets.append(
                    _sparse_sets(arrays[start], arrays[start + 1], arrays[start + 2], validate)
                )
            return _combine_sets(operation, sets[0], sets[1], _common_sizes(*shapes), dtype)

        return run

    return make


def _declare(kinds: str, dense: int, inputs: str) -> Any:
    kernel = Call(make=_bind(dense), dynamic=True)
    return op(
        f"{kinds}SetOperation",
        inputs=inputs,
        outputs="result_indices: int64, result_values: T, result_shape: int64",
        attrs={
            "set_operation": Attr("string", required=True),
            "validate_indices": Attr("bool", True),
            "T": _TYPES,
        },
        infer=_infer_operation,
        **numpy_kernels(kernel),
        grad=NO_GRADIENT,
        doc=(
            "The result of set_operation (a-b, b-a, intersection, union) for the sets along "
            "the last axes of two tensors. Raises InvalidArgumentError if the other axes "
            "differ."
        ),
    )


_both_dense = _declare("DenseToDense", 2, "set1: T, set2: T")
_one_dense = _declare("DenseToSparse", 1, f"set1: T, {PARTS.format('set2')}")
_none_dense = _declare("SparseToSparse", 0, f"{PARTS.format('set1')}, {PARTS.format('set2')}")

# -- public functions


def _convert_set(value: Any, name: str) -> Any:
    """Convert `value` to a tensor or SparseTensor.

    Raises TypeError if the dtype is neither an integer dtype nor string.
    """
    tensor = convert_to_tensor_or_sparse_tensor(value, name=name)
    if tensor.dtype.base_dtype not in _TYPES:
        kinds = [dtype.name for dtype in _TYPES]
        raise TypeError(f"'{name}' has invalid dtype {tensor.dtype.name}, not one of {kinds}")
    return tensor


_FLIPPED = {"a-b": "b-a", "b-a": "a-b"}


def _operate(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, _FLIPPED.get(operation, operation)
    attrs = {"set_operation": operation, "validate_indices": validate}
    if isinstance(a, SparseTensor):
        outputs = _none_dense(*a._parts(), *b._parts(), **attrs)
    elif isinstance(b, SparseTensor):
        outputs = _one_dense(a, *b._parts(), **attrs)
    else:
        outputs = _both_dense(a, b, **attrs)
    return SparseTensor(*outputs)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """Count the distinct elements of each set along the last axis of the SparseTensor `a`, as
    int32.

    The result has the shape of `a` without the last axis. Raises TypeError if `a` is not a
    SparseTensor or contains floats. A run raises InvalidArgumentError if indices are out of bounds
    or, if `validate_indices` is true, out of order.
    """
    tensor = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(tensor, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {tensor!r}.")
    if tensor.values.dtype.base_dtype not in _TYPES:
        raise TypeError(f"Invalid dtype `{tensor.values.dtype.name}` not in supported dtypes")
    return _set_size(*tensor._parts(), validate_indices=validate_indices)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the intersections of the sets along the last axes of `a` and `b`, as a SparseTensor.

    The elements of each resulting set are in ascending order.

    Args:
      a, b: tensors or SparseTensors of ints or strings. A run raises InvalidArgumentError if their
        sizes along an axis other than the last differ.
      validate_indices: whether a run checks the order of sparse indices.
    """
    return _operate(_convert_set(a, "a"), _convert_set(b, "b"), "intersection", validate_indices)


def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Return, for each pair of sets, the elements of `a` that are not in `b`. If `aminusb` is
    false, return the elements of `b` that are not in `a`.

    For the remaining arguments, see `set_intersection`.
    """
    return _operate(
        _convert_set(a, "a"), _convert_set(b, "b"), "a-b" if aminusb else "b-a", validate_indices
    )


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the unions of the sets of `a` and `b`. See `set_intersection` for the arguments."""
    return _operate(_convert_set(a, "a"), _convert_set(b, "b"), "union", validate_indices)
