"""Operations on sets along the last axis of tensors: sizes, intersections, differences and unions.

The elements along the last axis of a dense or sparse tensor form a set. Results are sparse tensors.
The elements of each set are in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
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

Part = Sequence[Any]
"""The elements of all sets: the positions of their sets, along all axes except the last, and the
values.
"""

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "a-b": lambda in_a, in_b: in_a & ~in_b,
    "b-a": lambda in_a, in_b: in_b & ~in_a,
    "intersection": lambda in_a, in_b: in_a & in_b,
    "union": lambda in_a, in_b: in_a | in_b,
}
"""Whether the result of an operation contains an element, by whether the two sets contain it."""

_MOST_KEYS = 1 << 61


def _dense_part(array: Any) -> Part:
    places = np.indices(array.shape, np.int64)[:-1].reshape(array.ndim - 1, array.size)
    return places.T, array.reshape(-1)


def _sparse_part(indices: Any, values: Any, shape: Any, validate: bool) -> Part:
    if len(indices):
        (_check_order if validate else _check_sets)(indices, shape)
    return indices[:, :-1], values


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
    _refuse_first((indices[:, :-1] < 0).any(axis=1), indices, f"out of bounds of {sizes.tolist()}")


def _check_order(indices: Any, sizes: Any) -> None:
    """Raise InvalidArgumentError if an index is out of bounds, repeated or out of order.

    Args:
      sizes: the dense shape.
    """
    whole = sizes.tolist()
    columns = zip(indices.T, whole, strict=True)
    if prod(whole) < _MOST_KEYS and not any((c.view(np.uint64) >= n).any() for c, n in columns):
        keys, _ = _numbers_of_places(indices, whole)
        if (keys[1:] > keys[:-1]).all():
            return
    outside = ((indices < 0) | (indices >= sizes)).any(axis=1)
    later = np.ones(len(indices), np.int64)  # the sign of the first difference to the row before
    if len(indices) > 1:
        steps = np.sign(indices[1:] - indices[:-1])
        later[1:] = np.take_along_axis(steps, np.argmax(steps != 0, 1)[:, None], 1)[:, 0]
    wrong = outside | (later <= 0)
    if wrong.any():
        number = int(np.argmax(wrong))
        fault = "out of order" if later[number] else "repeated"
        bounds = f"out of bounds of {sizes.tolist()}"
        _refuse_first(wrong, indices, bounds if outside[number] else fault)


def _refuse_first(wrong: Any, indices: Any, what: str) -> None:
    """Raise InvalidArgumentError for the first row of indices that is wrong, if there is one."""
    if wrong.any():
        number = int(np.argmax(wrong))
        raise invalid_argument(f"indices[{number}] = {indices[number].tolist()} is {what}")


def _numbers_of_places(
    places: Any, sizes: Sequence[int], most: int = _MOST_KEYS
) -> tuple[Any, Any]:
    """Return an ascending number for each position, and the positions by number, or None if they
    are in C order, of which there are fewer than `most`.
    """
    if prod(sizes) < most:
        numbers = np.zeros(len(places), np.int64)
        for axis, size in enumerate(sizes):
            numbers = numbers * size + places[:, axis]
        return numbers, None
    different, numbers = np.unique(places, axis=0, return_inverse=True)
    return numbers.reshape(-1), different


def _numbers_of_values(values: Any, most: int) -> tuple[Any, int, Any]:
    """Return an ascending number below a bound for each value, the bound, and a function from
    numbers to values.
    """
    if values.dtype.kind in "iu" and values.size:
        low = int(values.min())
        span = int(values.max()) - low + 1
        if span <= most:
            numbers = values.astype(np.int64) - low
            return numbers, span, lambda codes: (codes + low).astype(values.dtype)
    if values.dtype.kind == "O":
        different = np.array(sorted(set(values.tolist())), object)
        order = {value: number for number, value in enumerate(different.tolist())}
        numbers = np.fromiter(map(order.__getitem__, values.tolist()), np.int64, len(values))
    else:
        different, numbers = np.unique(values, return_inverse=True)
    return numbers.reshape(-1), max(len(different), 1), different.__getitem__


def _distinct(keys: Any) -> Any:
    """Return the distinct keys in ascending order."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


# -- sizes


def _infer_size(context: InferContext) -> Sequence[TensorShape]:
    if not context.is_building:
        check_parts(context)
    shape = context.value_as_shape(2)
    return [UNKNOWN if shape.rank is None else shape[:-1]]


def _sizes(context: KernelContext, indices: Any, values: Any, shape: Any) -> Callable[[], Any]:
    validate = context.attrs["validate_indices"]

    def run() -> list[Any]:
        places, members = _sparse_part(indices, values, shape, validate)
        sizes = tuple(shape.tolist())[:-1]
        out = np.zeros(sizes, np.int32)
        if len(members):
            numbers = _numbers_of_places(places, sizes)[0]
            codes, span, _ = _numbers_of_values(members, _MOST_KEYS // max(out.size, 1))
            counts = np.bincount(_distinct(numbers * span + codes) // span, minlength=out.size)
            out.reshape(-1)[:] = counts
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
    if named not in _COMBINED:
        raise ValueError(f"Invalid set_operation {named}, not one of {list(_COMBINED)}")
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
    operation: str, one: Part, other: Part, sizes: tuple[int, ...], dtype: Any
) -> list[Any]:
    """Apply `operation` to each pair of sets at the same position. Return the indices, values and
    shape of the results.

    Args:
      sizes: the sizes of all axes except the last.
    """
    places = np.concatenate([one[0], other[0]])
    numbers, different = _numbers_of_places(places, sizes, _MOST_KEYS >> 32)
    most = _MOST_KEYS // (len(different) if different is not None else max(prod(sizes), 1))
    codes, span, value_of = _numbers_of_values(np.concatenate([one[1], other[1]]), most)
    keys = numbers * span + codes
    held = [_distinct(keys[: len(one[1])]), _distinct(keys[len(one[1]) :])]
    # each key once, and whether each of the sets contains it
    twice = np.sort(np.concatenate([2 * held[0], 2 * held[1] + 1]))
    both = np.zeros(len(twice), bool)
    both[:-1] = twice[1:] == twice[:-1] ^ 1
    in_first = twice & 1 == 0
    repeats = np.zeros(len(twice), bool)
    repeats[1:] = both[:-1] & ~in_first[1:]
    both &= in_first
    kept = _COMBINED[operation](in_first, both | ~in_first) & ~repeats
    results = twice[kept] >> 1
    owners, values = results // span, value_of(results % span)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    counts = np.diff(starts, append=len(owners))
    columns = np.arange(len(owners)) - np.repeat(starts, counts)
    rows = (
        different[owners]
        if different is not None
        else (np.stack(np.unravel_index(owners, sizes), 1) if sizes else np.zeros((len(owners), 0)))
    )
    indices = np.concatenate([rows, columns[:, None]], 1).astype(np.int64)
    elements = np.empty(len(results), dtype)
    elements[:] = values
    return [indices, elements, np.array([*sizes, counts.max(initial=0)], np.int64)]


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
            shapes = [tuple(array.shape) for array in arrays[:dense]]
            parts = [_dense_part(array) for array in arrays[:dense]]
            for start in range(dense, len(arrays), 3):
                shapes.append(tuple(arrays[start + 2].tolist()))
                indices, values, shape = arrays[start : start + 3]
                parts.append(_sparse_part(indices, values, shape, validate))
            return _combine_sets(operation, parts[0], parts[1], _common_sizes(*shapes), dtype)

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
