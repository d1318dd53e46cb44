"""Slices of tensors: `tf.slice`, strided slices with all their masks, and `tensor[...]`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, DType
from gpugraph.base.misfit import Misfit, value_error
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_library import OPERATORS
from gpugraph.kernel import OpMemory, Signature
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, int_argument, op_scope, shape_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, from_value, of_rank
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.gather import boolean_mask
from gpugraph.ops.indexing.slice_spec import MASKS, numpy_index, sliced_shape

newaxis = None
"""In an index, `tensor[newaxis]`, it inserts a new axis of size 1."""

_slice_type = slice


# -- slice


def _slice_rank(context: InferContext) -> int | None:
    begin, size = (
        TensorShape.of(of_rank(shape, 1, "begin and size")) for shape in context.shapes[1:]
    )
    (count,) = begin.merge_with(size).as_list()
    sizes = context.shapes[0].sizes
    if sizes is None or count is None:
        return count if sizes is None else len(sizes)
    of_rank(context.shapes[0], count, "begin and size have an entry for each of its dimensions")
    return count


def _infer_slice(context: InferContext) -> Sequence[TensorShape]:
    rank = _slice_rank(context)
    if rank is None:
        return [UNKNOWN]
    sizes = context.shapes[0].sizes or (None,) * rank
    begin, length = context.value(1), context.value(2)
    if length is None:
        shape = context.value_as_shape(2)
        return [TensorShape.of((None,) * rank) if shape.sizes is None else shape]
    starts = [None] * rank if begin is None else list(ints(begin))
    entries = enumerate(zip(sizes, starts, ints(length), strict=True))
    return [TensorShape.of(tuple(_slice_length(axis, *entry) for axis, entry in entries))]


def _slice_length(axis: int, size: int | None, start: int | None, length: int) -> int | None:
    if length < -1 or (start is not None and start < 0):
        raise ValueError(f"Dimension {axis}: begin {start} and size {length} can't be negative")
    if size is None or start is None:
        return None if length == -1 else length
    count = size - start if length == -1 else length
    if start > size:
        message = f"Expected begin[{axis}] in [0, {size}], but got {start}"
        raise Misfit(message, in_run=message)
    if start + count > size:
        message = f"Expected size[{axis}] in [0, {size - start}], but got {length}"
        raise Misfit(message, in_run=message)
    return count


def _slice_views(signature: Signature, source: Any, out: Any) -> Pairs:
    index = tuple(
        _slice_type(start, start + length)
        for start, length in zip(ints(signature.value(1)), out.shape, strict=True)
    )
    return [(source[index + (...,)], out)]


def _slice_back(op: Any, dy: Any) -> list[Any]:
    source, begin = op.inputs[0], op.inputs[1]
    index = begin.dtype.base_dtype
    after = raw_ops.Sub(
        raw_ops.Sub(raw_ops.Shape(source, out_type=index), begin),
        raw_ops.Shape(op.outputs[0], out_type=index),
    )
    dx = raw_ops.Pad(dy, raw_ops.Pack([begin, after], axis=1))
    dx.set_shape(source.shape)
    return [dx, None, None]


_slice = op(
    "Slice",
    inputs="input: T, begin: Index, size: Index",
    outputs="output: T",
    attrs={"T": ALL, "Index": INDEX},
    infer=_infer_slice,
    memory=OpMemory(host_inputs=[1, 2]),
    **copying(_slice_views),
    grad=_slice_back,
    doc=(
        "The slice that starts at `begin` and has the sizes `size`. A size of -1 means all "
        "remaining elements."
    ),
)


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return the slice of `input_` that starts at `begin` and has the sizes `size`.

    Args:
      begin, size: int vectors with one entry per axis. A size of -1 means all remaining elements.

    >>> session.run(tf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[2, 2]))
    array([[2, 3],
           [5, 6]], dtype=int32)

    Raises ValueError if the slice is not inside `input_`.
    """
    return _slice(input_, int_argument(begin), int_argument(size), name=name)


# -- strided slice


def _vectors(context: Any, first: int) -> list[tuple[int, ...] | None]:
    """Return the values of begin, end and strides, which are three inputs starting with input
    `first`. An unknown value is None.
    """
    values = [context.value(index) for index in range(first, first + 3)]
    return [None if value is None else ints(value) for value in values]


def _infer_strided_slice(context: InferContext) -> Sequence[TensorShape]:
    vectors = [of_rank(shape, 1, "begin, end and strides") for shape in context.shapes[1:4]]
    counts = {sizes[0] for sizes in vectors} - {None}
    if len(counts) > 1:
        first, second = next(
            (a[0], b[0])
            for a, b in (
                (vectors[0], vectors[1]),
                (vectors[0], vectors[2]),
                (vectors[1], vectors[2]),
            )
            if None not in (a[0], b[0]) and a[0] != b[0]
        )
        raise value_error(
            "begin, end and strides must have equally many entries",
            f"Dimension 0 in both shapes must be equal, but are {first} and {second}. "
            f"Shapes are [{first}] and [{second}].",
        )
    if not counts:
        return [UNKNOWN]
    count = counts.pop()
    assert count is not None
    begin, end, strides = _vectors(context, 1)
    return [sliced_shape(context.attrs, context.shapes[0], count, begin, end, strides)]


def _index(signature: Signature, sizes: Sequence[int], first: int) -> tuple[Any, ...]:
    begin, end, strides = (ints(signature.value(index)) for index in range(first, first + 3))
    return numpy_index(signature.attrs, sizes, begin, end, strides)


def _strided_views(signature: Signature, source: Any, out: Any) -> Pairs:
    return [(source[_index(signature, source.shape, 1)], out)]


def _strided_slice_back(op: Any, dy: Any) -> list[Any]:
    source, begin, end, strides = op.inputs
    shape = shape_of(source, begin.dtype.base_dtype)
    dx = raw_ops.StridedSliceGrad(shape, begin, end, strides, dy, **attrs_of(op, MASKS))
    dx.set_shape(source.shape)
    return [dx, None, None, None]


_MASK_ATTRS = {key: Attr("int", 0) for key in MASKS}

_strided_slice = op(
    "StridedSlice",
    inputs="input: T, begin: Index, end: Index, strides: Index",
    outputs="output: T",
    attrs={"T": ALL, "Index": INDEX, **_MASK_ATTRS},
    infer=_infer_strided_slice,
    memory=OpMemory(host_inputs=[1, 2, 3]),
    **copying(_strided_views),
    grad=_strided_slice_back,
    doc="input[begin:end:strides], with the masks of `slice_spec`.",
)


def _among_zeros(signature: Signature, dy: Any, out: Any) -> Pairs:
    zero = np.array(zero_of(out.dtype), out.dtype)
    return [(zero, out), (dy, out[_index(signature, out.shape, 1)])]


op(
    "StridedSliceGrad",
    inputs="shape: Index, begin: Index, end: Index, strides: Index, dy: T",
    outputs="output: T",
    attrs={"T": ALL, "Index": INDEX, **_MASK_ATTRS},
    infer=from_value(0),
    memory=OpMemory(host_inputs=[0, 1, 2, 3]),
    **copying(_among_zeros),
    grad=lambda op, dz: [
        *[None] * 4,
        raw_ops.StridedSlice(dz, op.inputs[1], op.inputs[2], op.inputs[3], **attrs_of(op, MASKS)),
    ],
    doc=("Zeros of `shape`, with `dy` at the positions of the elements that StridedSlice selects."),
)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return input_[begin:end:strides], where begin, end and strides are int vectors.

    The bits of the masks are described in `slice_spec`.

    Raises ValueError if a stride is 0, if there is a second ellipsis, if there are too many
    entries, or if a single element is out of range.

    Args:
      var: ignored.
    """
    del var
    if strides is None and isinstance(begin, Tensor):
        strides = raw_ops.OnesLike(begin)
    elif strides is None:
        is_list = isinstance(begin, (list, tuple))  # whose entries may be tensors
        strides = np.ones(len(begin) if is_list else np.shape(begin), np.int32)
    return _strided_slice(
        input_,
        int_argument(begin),
        int_argument(end),
        int_argument(strides),
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


# -- tensor[...]


class _Entries:
    """The entries of an index `tensor[...]`, converted to begin, end, strides and masks."""

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks: dict[str, Any] = dict.fromkeys(MASKS, 0)

    def add(self, entry: Any) -> None:
        """Append one entry, which is a slice, `...`, None or an index."""
        if isinstance(entry, _slice_type):
            self._append(
                self._open(entry.start, "begin_mask"),
                self._open(entry.stop, "end_mask"),
                1 if entry.step is None else _position(entry.step),
            )
        elif entry is Ellipsis:
            self._mark("ellipsis_mask")
            self._append(0, 0, 1)
        elif entry is None:
            self._mark("new_axis_mask")
            self._append(0, 0, 1)
        else:
            self._mark("shrink_axis_mask")
            index = _position(entry)
            self._append(index, index + 1, 1)

    def _append(self, begin: Any, end: Any, stride: Any) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def _mark(self, mask: str) -> None:
        self.masks[mask] |= 1 << len(self.begin)

    def _open(self, bound: Any, mask: str) -> Any:
        if bound is None:
            self._mark(mask)
            return 0
        return _position(bound)


def _position(value: Any) -> Any:
    """Return an index as an int or an int scalar tensor. Raises TypeError if the value is neither
    an int nor such a tensor.
    """
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, DType) and dtype.base_dtype in INDEX:
        return convert_to_tensor(value)
    if not isinstance(value, (bool, np.bool_)) and not isinstance(dtype, DType):
        try:
            index = operator.index(value)
        except TypeError:
            pass
        else:
            if -(1 << 63) <= index < 1 << 63:
                return index
            raise TypeError(f"Failed to convert an index beyond int64 to a Tensor: {index}")
    raise TypeError(
        "A tensor is indexed by integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and "
        f"scalar tf.int32 or tf.int64 tensors, but the index is {value!r}"
    )


def _vector(values: list[Any]) -> Any:
    if not any(isinstance(value, Tensor) for value in values):
        wide = any(not -(2**31) <= value < 2**31 for value in values)
        array = np.array(values, np.int64 if wide else np.int32)
        return constant(array, name="stack")
    tensors = [value for value in values if isinstance(value, Tensor)]
    if any(tensor.dtype is not tensors[0].dtype for tensor in tensors):
        values = [
            cast(value, dtypes.int64) if isinstance(value, Tensor) else value for value in values
        ]
    return stack(values)


def _is_mask(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, DType):
        return dtype.base_dtype is dtypes.bool
    return isinstance(value, np.ndarray) and value.dtype == np.bool_


def _getitem(tensor: Tensor, key: Any) -> Tensor:
    """Return `tensor[key]` for ints, slices, `...` and None, as in NumPy. If `key` is a bool mask,
    return the elements that it selects.
    """
    if _is_mask(key):
        return boolean_mask(tensor, key)
    entries = _Entries()
    for entry in key if isinstance(key, (list, tuple)) else (key,):
        entries.add(entry)
    with op_scope(None, "strided_slice", tensor) as scope:
        begin, end, strides = map(_vector, (entries.begin, entries.end, entries.strides))
        if begin.dtype is not end.dtype or begin.dtype is not strides.dtype:
            begin, end, strides = (cast(part, dtypes.int64) for part in (begin, end, strides))
        part = _strided_slice(tensor, begin, end, strides, **entries.masks, name=scope)
        part.assign = _no_assign
        return part


def _no_assign(value: Any, name: str | None = None) -> Any:
    """Raise ValueError, because only slices of variables can be assigned to. Slices of anything
    else have this function as their method `assign`.
    """
    raise ValueError("Sliced assignment is only supported for variables")


OPERATORS["__getitem__"] = _getitem
