"""The ops concat and stack, and the conversion of lists that contain tensors.

`convert_to_tensor` stacks such a list: `convert_to_tensor([x, 1.0])` adds a Pack op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import Dimension, TensorShape, shape_text
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory, Signature, ViewCopies
from gpugraph.ops.arrays.joined_shapes import infer_concat, merge_all
from gpugraph.ops.arrays.reshape_and_transpose import by_index, index_op
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.kernel_helpers import Pairs, ints, numpy_kernels, run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.framework.tensor_conversion import (
    constant,
    convert_to_tensor,
    register_tensor_conversion_function,
)

# -- concat


def _bind_concat(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *parts, out = arrays
    axis = ints(context.value(len(parts)))[0]
    return partial(np.concatenate, parts, axis, out)


def _joined(signature: Signature, *arrays: Any) -> Pairs:
    *parts, out = arrays
    return joined_along(ints(signature.value(len(parts)))[0], parts, out)


def joined_along(axis: int, parts: Sequence[Any], out: Any) -> Pairs:
    """Return the copies that join `parts` along an axis. Each part is copied to its section of
    `out`.
    """
    axis = normalize_axis(axis, out.ndim)
    before, start, pairs = (slice(None),) * axis, 0, []
    for part in parts:
        stop = start + part.shape[axis]
        pairs.append((part, out[before + (slice(start, stop),)]))
        start = stop
    return pairs


def _concat_back(op: Any, dy: Any) -> list[Any]:
    parts, axis = op.inputs[:-1], op.inputs[-1]
    if len(parts) == 1:
        return [dy, None]
    if isinstance(dy, IndexedSlices):
        value, rank = constant_value(axis), parts[0].shape.rank
        if value is not None and int(value) < 0 and rank is None:
            raise ValueError(
                "Can only compute IndexedSlices gradient with negative concat_dim when first value "
                f"rank is statically-known: {op.name} joins {parts[0].name} along axis {value}"
            )
        if value is not None and int(value) in (0, -(rank or 0)):
            return [*_rows_by_part(parts, dy), None]
        dy = convert_to_tensor(dy)
    if axis.dtype.base_dtype is not dtypes.int32:
        axis = raw_ops.Cast(axis, DstT=dtypes.int32)
    are_known = all(
        part.shape.is_fully_defined() for part in parts
    )  # then no loop stashes the parts
    shapes = [shape(part) for part in parts] if are_known else raw_ops.ShapeN(parts)
    offsets = raw_ops.ConcatOffset(axis, shapes)
    pieces = [raw_ops.Slice(dy, begin, size) for begin, size in zip(offsets, shapes, strict=True)]
    for piece, part in zip(pieces, parts, strict=True):
        piece.set_shape(part.shape)
    return [*pieces, None]


def _rows_by_part(parts: Sequence[Tensor], dy: IndexedSlices) -> list[IndexedSlices]:
    """Return, for each part, the rows of `dy` that belong to it.

    The indices of `dy` are positions in the concatenation. The indices of each result are positions
    in its part.
    """
    slices = []
    first: Any = constant(0, dy.indices.dtype.base_dtype)
    for part in parts:
        sizes = shape(part)
        last = first + raw_ops.Cast(sizes[0], DstT=dy.indices.dtype.base_dtype)
        inside = raw_ops.LogicalAnd(
            raw_ops.GreaterEqual(dy.indices, first), raw_ops.Less(dy.indices, last)
        )
        chosen = raw_ops.Squeeze(raw_ops.Where(inside), squeeze_dims=[1])
        indices = raw_ops.Sub(raw_ops.GatherV2(dy.indices, chosen, 0), first)
        slices.append(IndexedSlices(raw_ops.GatherV2(dy.values, chosen, 0), indices, sizes))
        first = last
    return slices


_PARTS = Attr("int", required=True, minimum=2)
_concat = op(
    "ConcatV2",
    **by_index("values: N * T, axis: Tidx", N=_PARTS),
    infer=infer_concat,
    **numpy_kernels(Call(make=_bind_concat)),
    native=ViewCopies(_joined),
    grad=_concat_back,
    doc="The tensors joined along an axis.",
)


@hint_at_old_arguments("concat")
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Concatenate `values`, tensors of the same dtype and rank, along `axis`, which is in [-rank,
    rank).

    Raises ValueError if the tensors' sizes differ along any other axis, if they are scalars, if the
    list is empty, or if `axis` is not a scalar. If the list has one tensor, the result is a copy of
    this tensor. `axis` is checked in this case too.

    >>> session.run(tf.concat([[[1, 2]], [[3, 4]]], axis=0))
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise ValueError(
            "List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum length 2."
        )
    if len(values) == 1:
        with op_scope(name, "concat", values[0], axis):
            convert_to_tensor(axis, dtypes.int32, name="concat_dim").shape.assert_has_rank(0)
            return identity(values[0], name=name)
    return _concat(list(values), axis, name=name)


def _infer_offsets(context: InferContext) -> Sequence[TensorShape]:
    vectors = context.shapes[1:]
    if context.is_building:
        return vectors
    first = vectors[0]
    for index, vector in enumerate(vectors):
        if vector.rank not in (None, 1):
            refused = f"input {index} should be a vector, but got shape {shape_text(vector)}"
            raise Misfit(refused, in_run=refused)
        if not vector.is_compatible_with(first):
            refused = f"input {index} should contain {first[0]} elements, but got {vector[0]}"
            raise Misfit(refused, in_run=refused)
    return [merge_all(vectors)] * context.num_outputs


def _bind_offsets(context: KernelContext, *outputs: Any) -> Callable[[], Any]:
    shapes = [ints(context.value(index + 1)) for index in range(len(outputs))]
    axis, rank = ints(context.value(0))[0], len(shapes[0])
    if not -rank <= axis < rank:
        raise invalid_argument(f"Concat dim is out of range: {axis} vs. {rank}")
    axis %= rank
    copies: list[Callable[[], Any]] = []
    start = 0
    for index, (sizes, out) in enumerate(zip(shapes, outputs, strict=True)):
        if (sizes[:axis], sizes[axis + 1 :]) != (shapes[0][:axis], shapes[0][axis + 1 :]):
            first, other = (" ".join(map(str, shape)) for shape in (shapes[0], sizes))
            raise invalid_argument(
                f"All dimensions except {axis} must match. Input {index} has shape [{other}] and "
                f"doesn't match input 0 with shape [{first}]."
            )
        offset = np.zeros(len(sizes), out.dtype)
        offset[axis] = start
        start += sizes[axis]
        copies.append(partial(np.copyto, out, offset))
    return run_all(copies)


index_op(
    "ConcatOffset",
    "concat_dim: scalar int32, shape: N * shape_type",
    "offset: N * shape_type",
    _infer_offsets,
    Call(make=_bind_offsets),
    "Where each of N tensors of these shapes begins in their concatenation.",
    memory=OpMemory(host_inputs=[0, 1], host_outputs=[0]),
    N=_PARTS,
)


# -- stack


def _infer_pack(context: InferContext) -> Sequence[TensorShape]:
    sizes = merge_all(context.shapes).sizes
    if sizes is None:
        return [UNKNOWN]
    axis = _stacking_axis(context.attrs["axis"], len(sizes))
    return [TensorShape.of((*sizes[:axis], len(context.shapes), *sizes[axis:]))]


def _stacking_axis(axis: int, rank: int) -> int:
    """Return the index of the new axis in the result.

    Raises ValueError if `axis` is outside [-rank - 1, rank].
    """
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis = {axis} not in [{-rank - 1}, {rank + 1})")
    return axis % (rank + 1)


def _bind_pack(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *parts, out = arrays
    axis = context.attrs["axis"] % out.ndim
    slot = (*out.shape[:axis], 1, *out.shape[axis + 1 :])
    return partial(np.concatenate, [part.reshape(slot) for part in parts], axis, out)


def _stacked(signature: Signature, *arrays: Any) -> Pairs:
    *parts, out = arrays
    before = (slice(None),) * (signature.attrs["axis"] % out.ndim)
    return [(part, out[before + (index, ...)]) for index, part in enumerate(parts)]


def _pack_back(op: Any, dy: Any) -> list[Any]:
    return list(raw_ops.Unpack(dy, num=len(op.inputs), axis=op.attrs["axis"]))


_pack = op(
    "Pack",
    inputs="values: N * T",
    outputs="output: T",
    attrs={"T": ALL, "axis": Attr("int", 0)},
    infer=_infer_pack,
    **numpy_kernels(Call(make=_bind_pack)),
    native=ViewCopies(_stacked),
    grad=_pack_back,
    doc="N tensors of the same shape, stacked along a new axis.",
)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stack `values`, tensors of the same shape and dtype, along a new axis.

    Raises ValueError if the shapes differ or `axis` is not in [-rank - 1, rank].

    >>> session.run(tf.stack([[1, 2], [3, 4]], axis=1))
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if axis == 0 and not contains_tensor(values):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            return _pack(list(values), name=name)
    if axis:
        listed = list(values)
        rank = getattr(getattr(listed[0], "shape", None), "rank", None) if listed else None
        if rank is not None:
            _stacking_axis(axis, rank)
        return _pack(listed, axis=axis, name=name)
    if isinstance(values, Tensor):
        return values
    try:
        return _packed(list(values), _common_dtype(values), name)
    except TypeError:
        return _pack(list(values), name=name)  # the error of the op lists all the dtypes


# -- lists of tensors


def contains_tensor(value: Any) -> bool:
    """Return whether a nested list contains a tensor or a variable."""
    if isinstance(value, (list, tuple)):
        return any(map(contains_tensor, value))
    return _is_tensor(value)


def _is_tensor(value: Any) -> bool:
    return isinstance(getattr(value, "dtype", None), DType)


def _common_dtype(value: Any) -> DType | None:
    """Return the dtype of the first tensor in a nested list."""
    if isinstance(value, (list, tuple)):
        return next((dtype for dtype in map(_common_dtype, value) if dtype is not None), None)
    return value.dtype.base_dtype if _is_tensor(value) else None


def _packed(values: Sequence[Any], dtype: DType | None, name: str | None) -> Tensor:
    """Stack a nested list, with a Pack op for each nested list that contains tensors.

    Values that are not tensors become constants of `dtype`, named by their position in the list
    ("0", "1", ...).
    """
    if all(type(value) is Tensor and value.dtype is dtype for value in values):
        return _pack(list(values), name=name)
    with op_scope(name, "packed", *values) as scope:
        parts = [_element(value, dtype, str(index)) for index, value in enumerate(values)]
        return _pack(parts, name=scope)


def _element(value: Any, dtype: DType | None, name: str) -> Tensor:
    if isinstance(value, (list, tuple)) and contains_tensor(value):
        return _packed(value, dtype, name)
    if isinstance(value, Dimension):
        value = int(value)
    if dtype is not None and _is_tensor(value) and value.dtype.base_dtype is not dtype:
        raise TypeError(
            f"Cannot convert a list containing a tensor of dtype {value.dtype} to {dtype} "
            f"(Tensor is: {value!r})"
        )
    return convert_to_tensor(value, dtype, name=name)


def _from_list(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    """Convert a list that contains tensors or Dimensions to a tensor.

    A list that contains tensors is stacked, and a list of Dimensions becomes a constant. For any
    other list, return NotImplemented, so that the next conversion function is called.
    """
    del as_ref
    kinds = _kinds(value)
    if Tensor in kinds:
        common = _common_dtype(value)
        if dtype is not None and common is not dtype.base_dtype:
            value = _cast(value, dtype.base_dtype)
        return _packed(value, common if dtype is None else dtype.base_dtype, name or "packed")
    if Dimension in kinds:
        return constant(_plain(value), dtype, name=name or "Const")
    return NotImplemented


_DEEPEST = 64
"""The maximum nesting depth of a list, which is NumPy's limit."""


def _kinds(value: Any, depth: int = 0) -> set[type]:
    """Return the set of the types Tensor and Dimension that occur in a nested list. A variable
    counts as a Tensor.

    Raises ValueError if lists are nested more than `_DEEPEST` levels deep, for example if a list
    contains itself.
    """
    if depth > _DEEPEST:
        raise ValueError(f"A tensor has {_DEEPEST} dimensions at most: lists are nested too deep")
    kinds: set[type] = set()
    for item in value:
        kind = type(item)
        if kind is int or kind is float:
            continue
        if isinstance(item, (list, tuple)):
            kinds |= _kinds(item, depth + 1)
        elif isinstance(item, Dimension):
            kinds.add(Dimension)
        elif _is_tensor(item):
            kinds.add(Tensor)
    return kinds


def _cast(value: Any, dtype: DType) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cast(item, dtype) for item in value]
    if _is_tensor(value) and value.dtype.base_dtype is not dtype:
        return raw_ops.Cast(convert_to_tensor(value), DstT=dtype)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, Dimension) else value


register_tensor_conversion_function((list, tuple), _from_list, 99)
