"""Ops that divide tensors: split and unstack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import Dimension, TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import OpMemory, Signature
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _filled_gradients(op: Any, dys: Sequence[Any]) -> list[Any]:
    """Return the gradients of all outputs. A gradient of None is replaced by zeros."""
    return [
        raw_ops.ZerosLike(output) if dy is None else dy
        for output, dy in zip(op.outputs, dys, strict=True)
    ]


# -- unstack


def _unstacking_axis(axis: int, rank: int) -> int:
    """Return the axis as a non-negative number. Raises ValueError if `axis` is outside [-rank,
    rank).
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
    return axis % rank


def _infer_unpack(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN] * context.num_outputs
    axis = _unstacking_axis(context.attrs["axis"], len(sizes))
    if sizes[axis] not in (None, context.num_outputs):
        raise ValueError(
            f"Dimension {axis} has size {sizes[axis]} but {context.num_outputs} tensors are to "
            "be made of it"
        )
    return [TensorShape.of((*sizes[:axis], *sizes[axis + 1 :]))] * context.num_outputs


def _unstacked(signature: Signature, value: Any, *outputs: Any) -> Pairs:
    before = (slice(None),) * (signature.attrs["axis"] % value.ndim)
    return [(value[before + (index, ...)], out) for index, out in enumerate(outputs)]


_unpack = op(
    "Unpack",
    inputs="value: T",
    outputs="output: num * T",
    attrs={"num": Attr("int", required=True, minimum=0), "T": ALL, "axis": Attr("int", 0)},
    infer=_infer_unpack,
    **copying(_unstacked),
    grad=lambda op, *dys: raw_ops.Pack(_filled_gradients(op, dys), axis=op.attrs["axis"]),
    doc="The slices of a tensor along an axis, as `num` tensors.",
)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> Any:
    """Return the slices of `value` along `axis`: a list of `num` tensors without that axis.

    Args:
      num: the size of the axis, needed only if it is not known statically.

    >>> first, second = tf.unstack([[1, 2], [3, 4]])
    >>> session.run(second)
    array([3, 4], dtype=int32)

    Raises ValueError if `num` is not passed although the size is unknown, or if `num` differs from
    the known size.
    """
    source = convert_to_tensor(value, name="value")
    if num is None:
        sizes = source.shape.sizes
        if sizes is not None:
            num = sizes[_unstacking_axis(axis, len(sizes))]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {source.shape}")
    return _unpack(source, num=num, axis=axis, name=name)


# -- split

Lengths = Sequence[int | None]


def _split_axis(value: Any, sizes: tuple[int | None, ...]) -> int:
    return normalize_axis(ints(value)[0], len(sizes), "split_dim")


def _infer_parts(
    tensor: int, split_dim: int, lengths: Callable[[InferContext, int | None], Lengths]
) -> InferFunction:
    """Return the shape inference of a split.

    Args:
      tensor, split_dim: the indices of the inputs that hold the tensor to split and the split axis.
      lengths: a function that receives the context and the size of the split axis (or None), and
        returns the sizes of the parts.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        sizes, value = context.shapes[tensor].sizes, context.value(split_dim)
        if not context.is_building and context.shapes[split_dim].num_elements() not in (None, 1):
            actual = shape_text(context.shapes[split_dim])
            refused = f"split_dim must have exactly one element, but has shape {actual}"
            raise Misfit(refused, in_run=refused)
        if sizes is None:
            return [UNKNOWN] * context.num_outputs
        if value is None:
            return [TensorShape.of((None,) * len(sizes))] * context.num_outputs
        axis = _split_axis(value, sizes)
        before, after = sizes[:axis], sizes[axis + 1 :]
        parts = lengths(context, sizes[axis])
        return [TensorShape.of((*before, length, *after)) for length in parts]

    return infer


def _axis_of_split(context: InferContext) -> int:
    return ints(context.value(0))[0]


def _even_lengths(context: InferContext, length: int | None) -> Lengths:
    count = context.num_outputs
    if length is not None and length % count:
        ways = "Number of ways to split should evenly divide the split dimension"
        raise Misfit(
            f"Dimension size must be evenly divisible by {count} but is {length}\n\t{ways}",
            in_run=f"{ways}, but got split_dim {_axis_of_split(context)} (size = {length}) and "
            f"num_split {count}",
        )
    return [None if length is None else length // count] * count


def _pieces(value: Any, axis: int, outputs: Sequence[Any]) -> Pairs:
    before, start, pairs = (slice(None),) * axis, 0, []
    for out in outputs:
        stop = start + out.shape[axis]
        pairs.append((value[before + (slice(start, stop),)], out))
        start = stop
    return pairs


def _cut_evenly(signature: Signature, value: Any, *outputs: Any) -> Pairs:
    return _pieces(value, _split_axis(signature.value(0), value.shape), outputs)


_split = op(
    "Split",
    inputs="split_dim: scalar int32, value: T",
    outputs="output: num_split * T",
    attrs={"num_split": Attr("int", required=True, minimum=1), "T": ALL},
    infer=_infer_parts(1, 0, _even_lengths),
    memory=OpMemory(host_inputs=[0]),
    **copying(_cut_evenly),
    grad=lambda op, *dys: [None, concat(_filled_gradients(op, dys), op.inputs[0])],
    doc="The tensor cut into `num_split` equal parts along an axis.",
)


def _part_lengths(value: Any, length: int | None) -> Lengths:
    """Return the list `value` of the sizes of parts. A size of -1 is replaced by `length` minus the
    sum of all other sizes.

    Args:
      length: the size of the split axis. If it is None, -1 is replaced by None.
    """
    asked = ints(value)
    known = sum(size for size in asked if size != -1)
    if asked.count(-1) > 1:
        raise ValueError(f"Only one of size_splits may be -1, but they are {asked}")
    if length is None:
        return [None if size == -1 else size for size in asked]
    if known > length or (known != length and -1 not in asked):
        pieces = shape_text([None if size == -1 else size for size in asked])
        raise Misfit(f"can't split axis of size {length} into pieces of size {pieces}")
    return [length - known if size == -1 else size for size in asked]


def _asked_lengths(context: InferContext, length: int | None) -> Lengths:
    count, lengths = context.num_outputs, context.value(1)
    if lengths is None:
        return [None] * count
    if np.size(lengths) != count:
        raise ValueError(f"{np.size(lengths)} size_splits are given for {count} parts")
    return _part_lengths(lengths, length)


def _cut(signature: Signature, value: Any, *outputs: Any) -> Pairs:
    return _pieces(value, _split_axis(signature.value(2), value.shape), outputs)


_split_v = op(
    "SplitV",
    inputs="value: T, size_splits: vector Tlen, split_dim: int32",
    outputs="output: num_split * T",
    attrs={"num_split": Attr("int", required=True, minimum=1), "T": ALL, "Tlen": INDEX},
    infer=_infer_parts(0, 2, _asked_lengths),
    memory=OpMemory(host_inputs=[1, 2]),
    **copying(_cut),
    grad=lambda op, *dys: [concat(_filled_gradients(op, dys), op.inputs[2]), None, None],
    doc="The tensor cut along an axis into parts of the given sizes, one of which may be -1.",
)


@hint_at_old_arguments("split")
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> Any:
    """Split `value` along `axis` into a list of tensors.

    `num_or_size_splits` is the number of equal parts, or an int vector with the sizes of the parts,
    one of which may be -1.

    Args:
      num: the number of parts, needed only if `num_or_size_splits` is a vector of unknown length.

    >>> first, rest = tf.split([1, 2, 3], [1, 2])
    >>> session.run(rest)
    array([2, 3], dtype=int32)

    Raises ValueError if the parts do not add up to the size of the axis.
    """
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)):
        convert_to_tensor(int(num_or_size_splits))  # as in TensorFlow 1: seeds count ops
        return _split(axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = convert_to_tensor(int_argument(num_or_size_splits))
    if sizes.shape.sizes == ():
        raise ValueError("num_or_size_splits is an int or a vector, not a scalar tensor")
    if num is None:
        num = sizes.shape.sizes[0] if sizes.shape.sizes else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {sizes.shape}")
    return _split_v(value, sizes, axis, num_split=num, name=name)
