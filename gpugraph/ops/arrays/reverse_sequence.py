"""ReverseSequence, which reverses several sequences in one tensor, each over its own length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, ErrorFlag, KernelContext, Launch, RowSource, Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.cuda_grids import item_type
from gpugraph.ops.framework.kernel_helpers import cuda_kernels, item_size
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.row_update_launches import columns_and_rows
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis, of_rank


def _infer(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    (count,) = of_rank(context.shapes[1], 1, "seq_lengths")
    if sizes is None:
        return [UNKNOWN]
    batch = normalize_axis(context.attrs["batch_dim"], len(sizes), "batch_dim")
    if normalize_axis(context.attrs["seq_dim"], len(sizes), "seq_dim") == batch:
        raise ValueError(f"seq_dim and batch_dim must differ, but both are {batch}")
    if count is not None and sizes[batch] not in (None, count):
        raise Misfit(
            f"Dimensions must be equal, but are {sizes[batch]} and {count}",
            f"Length of seq_lengths != input.dims({batch}), ({count} vs. {sizes[batch]})",
            detail=f"there are {count} seq_lengths, but a batch of {sizes[batch]}",
        )
    known = count if sizes[batch] is None else sizes[batch]
    return [TensorShape.of((*sizes[:batch], known, *sizes[batch + 1 :]))]


def _bind(context: KernelContext, value: Any, lengths: Any, out: Any) -> Callable[[], Any]:
    axes = (context.attrs["batch_dim"], context.attrs["seq_dim"])
    source, target = (np.moveaxis(array, axes, (0, 1)) for array in (value, out))
    if source.shape[0] != lengths.shape[0]:
        raise invalid_argument(f"{lengths.shape[0]} seq_lengths for a batch of {source.shape[0]}")
    rows = np.arange(source.shape[0])[:, None]

    def run() -> None:
        size = source.shape[1]
        if lengths.size and (lengths.min() < 0 or lengths.max() > size):
            _check(lengths.tolist(), size, axes[1])
        places, counts = np.arange(size), lengths.astype(np.int64)[:, None]
        places = np.where(places < counts, counts - 1 - places, places)
        np.copyto(target, source[rows, places])

    return run


def _check(counts: Sequence[int], size: int, axis: int) -> None:
    """Raise InvalidArgumentError if a sequence length in `counts` is outside [0, size].

    Args:
      size: the size of the sequence axis.
      axis: the index of the sequence axis, for the error message.
    """
    for row, count in enumerate(counts):
        if count < 0:
            raise invalid_argument(f"seq_lens({row}) < 0")
        if count > size:
            raise invalid_argument(f"seq_lens({row}) > input.dims({axis})")


def _back(op: Any, dy: Any) -> list[Any]:
    attrs = {key: op.attrs[key] for key in ("seq_dim", "batch_dim")}
    return [raw_ops.ReverseSequence(dy, op.inputs[1], **attrs), None]


def _sizes(signature: Signature) -> list[int]:
    """Return [outer, first, middle, second, inner, leads], which describe the input's shape.

    `first` and `second` are the sizes of the batch axis and of the sequence axis, in the order in
    which the two axes occur in the input. `leads` is 1 if the batch axis comes first, otherwise 0.
    `outer`, `middle` and `inner` are the products of the sizes before, between and after the two
    axes.
    """
    sizes = signature.input_shapes[0]
    axes = [normalize_axis(signature.attrs[key], len(sizes)) for key in ("batch_dim", "seq_dim")]
    if sizes[axes[0]] != signature.input_shapes[1][0]:
        raise NotImplementedError("there are not as many seq_lengths as batch entries")
    first, second = sorted(axes)
    middle, inner = prod(sizes[first + 1 : second]), prod(sizes[second + 1 :])
    outer, leads = prod(sizes[:first]), int(axes[0] == first)
    return [outer, sizes[first], middle, sizes[second], inner, leads]


def _native(signature: Signature) -> list[int]:
    wide = int(signature.input_types[1].size == 8)
    return [*_sizes(signature), item_size(signature.input_types[0]), wide]


def _launch(signature: Signature) -> list[Launch]:
    outer, first, middle, second, inner, leads = _sizes(signature)
    rows = outer * first * middle * second
    grid, block = columns_and_rows(rows, inner)
    failed = ErrorFlag(f"one of seq_lengths is not in [0, {second if leads else first}]")
    numbers = rows, first, middle, second, inner, leads
    defines: dict[str, str | int] = {
        "ITEM": item_type(signature.output_types[0]),
        "INDEX": f"int{8 * signature.input_types[1].size}_t",
    }
    arguments = (Arg(0), Arg(1), Arg(2), failed, *numbers)
    return [Launch("gg_reverse", grid, block, arguments, defines=defines)]


_reverse = op(
    "ReverseSequence",
    inputs="input: T, seq_lengths: Tlen",
    outputs="output: T",
    attrs={
        "seq_dim": Attr("int", required=True),
        "batch_dim": Attr("int", 0),
        "T": ALL,
        "Tlen": INDEX,
    },
    infer=_infer,
    **cuda_kernels("reverse_sequence.cu", _launch, Call(make=_bind)),
    native=RowSource("host_kept_rows.h", "gg_reverse", _native, None),
    grad=_back,
    doc="The input with the first seq_lengths[i] elements of each batch entry i reversed.",
)


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverse the first `seq_lengths[i]` elements along `seq_axis`, for each batch entry i.

    The remaining elements are copied. `seq_dim` and `batch_dim` are older names of `seq_axis` and
    `batch_axis`.

    Raises ValueError if the axes are equal or if an axis is passed under both names. A run raises
    InvalidArgumentError if a length is outside [0, size of seq_axis].

    Args:
      seq_lengths: an int vector with one length for each index of `batch_axis`, which is 0 by
        default.
    """
    sequence = _either("seq_axis", seq_axis, "seq_dim", seq_dim)
    if sequence is None:
        raise ValueError("reverse_sequence needs seq_axis: the axis along which to reverse")
    return _reverse(
        input,
        seq_lengths,
        seq_dim=sequence,
        batch_dim=_either("batch_axis", batch_axis, "batch_dim", batch_dim) or 0,
        name=name,
    )


def _either(new_name: str, new: int | None, old_name: str, old: int | None) -> int | None:
    if new is not None and old is not None:
        raise ValueError(f"Give one of '{new_name}' and its older name '{old_name}'")
    return old if new is None else new
