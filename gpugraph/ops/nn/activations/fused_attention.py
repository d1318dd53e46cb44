"""Attention as a single op: softmax(scale * query @ key' + mask) @ value, where key' is the
transposed key.

Programs do not create this op. The compiler's attention pass replaces two matrix products and a
Softmax with this op, on GPUs, and on CPUs if there is a native kernel for the shapes. The matrix of
scores, one for each pair of a query and a key, is never stored as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from struct import pack, unpack
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import FLOATING, bfloat16, float16, float32, float64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, CSource, KernelContext, Launch, Signature, Source
from gpugraph.ops.framework.cuda_grids import shared_axes
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op

TILE, THREADS, MMA_THREADS = 64, 256, 128
"""The rows of a thread block's tile, and the block's threads without and with tensor cores, as in
kernels/cuda/nn/attention.cu and attention_mma.cu.
"""

_STEP, _HEADS, _MMA_HEADS = 32, (64, 128), (32, 64, 96, 128)
_COPIED = 8
"""The number of adjacent elements that attention_mma.cu copies at once, if rows are aligned."""

_MAX_BLOCKS, MAX_KEYS = 2**31 - 1, 2**24
"""The maximum numbers of thread blocks of a launch, and of the keys of an attention."""


# -- sizes


class AttentionSizes(NamedTuple):
    """The sizes of an attention. It has `m` queries and `n` keys of `d` elements, and `n` values of
    `dv` elements.

    Args:
      batch: the number of independent attentions.
      head: the head size for which the kernel without tensor cores is compiled, at least d and dv.
      mma_head: the head size for which the kernel with tensor cores is compiled, at least d and dv.
      inner, mask: see `_mask_strides`.
    """

    batch: int
    m: int
    n: int
    d: int
    dv: int
    head: int
    mma_head: int
    inner: int
    mask: tuple[int, int, int, int]


def attention_sizes(signature: Signature, mask: int = 3) -> AttentionSizes:
    """Return the sizes for the CUDA kernel.

    Raises NotImplementedError, with the reason, if the dtypes or shapes are not supported.

    Args:
      mask: the index of the input that is the mask, if there is one.
    """
    query, key, value = signature.input_shapes[:3]
    masks = signature.input_shapes[mask:]
    dtype = signature.input_types[0].base_dtype
    if dtype not in (float16, bfloat16, float32):
        raise NotImplementedError(f"attention of {dtype.name}")
    if not query[:-2] == key[:-2] == value[:-2]:
        raise NotImplementedError("queries, keys and values of different batches")
    (m, d), (n, dv) = query[-2:], value[-2:]
    if max(d, dv) > _HEADS[-1]:
        raise NotImplementedError(f"a head size of {max(d, dv)}, above {_HEADS[-1]}")
    batch = prod(query[:-2])
    if batch * -(-max(m, n) // TILE) > _MAX_BLOCKS or n > MAX_KEYS:
        raise NotImplementedError(f"{batch} times {m} queries and {n} keys")
    head, mma_head = (
        min(size for size in heads if size >= max(d, dv)) for heads in (_HEADS, _MMA_HEADS)
    )
    inner, strides = _mask_strides(masks[0], (*query[:-1], n)) if masks else (1, (0, 0, 0, 0))
    return AttentionSizes(batch, m, n, d, dv, head, mma_head, inner, strides)


def shared_bytes(head: int) -> int:
    """Return the bytes of shared memory that a block of attention.cu needs for this head size."""
    row = TILE + 4
    chunk = max(_STEP * row, _STEP * (head + 4))
    return 4 * (head * row + TILE * row + chunk)


def _mask_strides(
    mask: Sequence[int], scores: Sequence[int]
) -> tuple[int, tuple[int, int, int, int]]:
    """Return the number of inner batches, and the mask's strides in elements.

    The batch axes are merged into two axes, outer and inner. The strides are along outer batches,
    inner batches, rows (queries) and columns (keys). They are 0 along broadcast axes.

    Args:
      mask: the mask's shape, which broadcasts to `scores`.
      scores: the shape of the scores.
    """
    sizes = (1,) * (len(scores) - len(mask)) + tuple(mask)
    (_, inner), [[outer, within]] = shared_axes([sizes[:-2]], tuple(scores[:-2]), 2)
    row, column = sizes[-1] if sizes[-2] > 1 else 0, int(sizes[-1] > 1)
    matrix = prod(sizes[-2:])
    return inner, (outer * matrix, within * matrix, row, column)


# -- on the CPU

_MIN_QUERIES, _MIN_KEYS, _MIN_SCORES = 28, 16, 1 << 14
"""The minimum numbers of queries, keys and scores for the native kernel.

Below these, packing keys and values costs more time than it saves.
"""

_MAX_HOST_ELEMENTS = 1 << 22
"""The maximum number of elements in the keys or values of one attention, which each thread packs.
"""


def _host_parameters(signature: Signature) -> list[int]:
    """Return the integer parameters of `gg_attention` in host_attention.h.

    Raises NotImplementedError, with the reason, if the inputs are not supported.
    """
    query, key, value, *masks = signature.input_shapes
    dtype = signature.input_types[0].base_dtype
    if dtype not in (float32, float64):
        raise NotImplementedError(f"native attention of {dtype.name}")
    if not query[:-2] == key[:-2] == value[:-2]:
        raise NotImplementedError("queries, keys and values of different batches")
    (m, d), (n, dv) = query[-2:], value[-2:]
    batch = prod(query[:-2])
    if m < _MIN_QUERIES or n < _MIN_KEYS or batch * m * n < _MIN_SCORES:
        raise NotImplementedError(f"native attention of {batch} times {m} queries and {n} keys")
    if n * max(d, dv) > _MAX_HOST_ELEMENTS:
        raise NotImplementedError(f"native attention of {n} keys of {max(d, dv)} numbers")
    inner, mask = _mask_strides(masks[0], (*query[:-1], n)) if masks else (1, (0, 0, 0, 0))
    by_key = (d, 1) if signature.attrs["adj_y"] else (1, n)
    count = prod(masks[0]) if masks else 0
    [scale] = unpack("q", pack("d", signature.attrs["scale"]))
    return [batch, m, n, d, dv, *by_key, len(masks), count, inner, *mask, scale]


HOST_ATTENTION = CSource("host_attention.h", "gg_attention", _host_parameters)


# -- the ops


def _infer(context: InferContext) -> Sequence[TensorShape]:
    query, value = context.shapes[0], context.shapes[2]
    if query.rank is None or value.rank is None:
        return [TensorShape.of(None)]
    return [query[:-1].concatenate(value[-1:])]


def _infer_with_statistics(context: InferContext) -> Sequence[TensorShape]:
    return [*_infer(context), context.shapes[0][:-1]]


def masked_scores(attrs: Any, query: Any, key: Any, masks: Sequence[Any]) -> Any:
    """Return the scaled and masked scores of the inputs of an attention, as float32, or as float64
    if the inputs are.
    """
    kind = np.float64 if query.dtype.itemsize == 8 else np.float32
    scores = query.astype(kind) @ (key.swapaxes(-1, -2) if attrs["adj_y"] else key).astype(kind)
    scores *= kind(attrs["scale"])
    for mask in masks:
        scores += mask
    return scores


def _attend(attrs: Any, query: Any, key: Any, value: Any, *rest: Any) -> None:
    masks, (out, *statistics) = rest[: attrs["num_args"]], rest[attrs["num_args"] :]
    scores = masked_scores(attrs, query, key, masks)
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = scores.max(axis=-1, keepdims=True)
        scores -= largest
        np.exp(scores, out=scores)
        total = scores.sum(axis=-1, keepdims=True)
        scores /= total
        for statistic in statistics:
            statistic[...] = (largest + np.log(total))[..., 0]
    np.copyto(out, scores @ value.astype(scores.dtype), casting="unsafe")


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    return partial(_attend, context.attrs, *arrays)


def _launch(
    signature: Signature, function: str, threads: int, macros: dict[str, str | int], **options: Any
) -> list[Launch]:
    """Return one launch, with a thread block for each batch and each tile of queries."""
    sizes = attention_sizes(signature)
    macros["MASKED"] = int(len(signature.input_shapes) > 3)
    macros["STATISTICS"] = int(len(signature.output_shapes) > 1)
    types = {"T": signature.input_types[0].base_dtype}
    grid, arguments = (sizes.batch * -(-sizes.m // TILE), 1, 1), _arguments(signature, sizes)
    return [Launch(function, grid, (threads, 1, 1), arguments, types, macros, **options)]


def _launch_by_threads(signature: Signature) -> list[Launch]:
    head = attention_sizes(signature).head
    options = {"shared_bytes": shared_bytes(head)}
    return _launch(signature, "gg_attention", THREADS, {"HEAD": head}, **options)


def row_packs(
    signature: Signature, sizes: AttentionSizes
) -> tuple[dict[str, str | int], dict[str, tuple[Arg, int]]]:
    """Return the macros of the kernels by tensor cores that depend on the layout of query, key and
    value, and the macros that depend on the addresses of these arrays.
    """
    dtype = signature.input_types[0].base_dtype
    macros: dict[str, str | int] = {
        "HEAD": sizes.mma_head,
        "ACROSS": int(not signature.attrs["adj_y"]),
        "BRAIN": int(dtype is bfloat16),
    }
    apart = (sizes.d, sizes.d if signature.attrs["adj_y"] else sizes.n, sizes.dv)
    aligned: dict[str, tuple[Arg, int]] = {}
    for array, (name, stride) in enumerate(zip("QKV", apart)):
        add_pack(macros, aligned, name, Arg(array), stride, dtype.size)
    return macros, aligned


def add_pack(
    macros: dict[str, str | int],
    aligned: dict[str, tuple[Arg, int]],
    name: str,
    array: Arg,
    stride: int,
    size: int,
) -> None:
    """Add the macro `PACKED_name` of an array, which is 1 if its rows can be copied by packs.

    Args:
      macros, aligned: the macros that do not, and that do depend on addresses. One of them gets
        the new macro.
      stride, size: the elements from row to row, and the bytes of an element.
    """
    if stride % _COPIED:
        macros[f"PACKED_{name}"] = 0
    else:
        aligned[f"PACKED_{name}"] = (array, _COPIED * size)


def _launch_mma(signature: Signature) -> list[Launch]:
    """Return a launch that uses tensor cores. Return an empty list for float32, because tensor
    cores would round the inputs.
    """
    if signature.input_types[0].base_dtype is float32:
        return []
    macros, aligned = row_packs(signature, attention_sizes(signature))
    options = {"file": "attention_mma.cu", "aligned": aligned}
    return _launch(signature, "gg_attention_mma", MMA_THREADS, macros, **options)


def key_strides(signature: Signature, sizes: AttentionSizes) -> tuple[int, int]:
    """Return the distances between two keys, and between two elements of a key, in elements."""
    return (sizes.d, 1) if signature.attrs["adj_y"] else (1, sizes.n)


def _arguments(signature: Signature, sizes: AttentionSizes) -> tuple[Arg | int | float, ...]:
    """Return the arguments that attention.cu and attention_mma.cu have in common."""
    count = len(signature.input_shapes)
    outputs = [Arg(count + index) for index in range(len(signature.output_shapes))]
    return (
        *(Arg(0), Arg(1), Arg(2), Arg(3) if count > 3 else Arg(0), *outputs, sizes.inner),
        *(*sizes[1:5], *key_strides(signature, sizes), *sizes.mask),
        float(signature.attrs["scale"]),
    )


_ATTRS: dict[str, Any] = {
    "T": FLOATING,
    "num_args": Attr("int"),
    "scale": Attr("float", 1.0),
    "adj_y": Attr("bool", True),
}

op(
    "_FusedAttention",
    inputs="query: T, key: T, value: T, args: num_args * T",
    outputs="output: T",
    attrs=_ATTRS,
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Source("attention.cu", _launch_by_threads, Call(make=_bind), tensor_cores=_launch_mma),
    native=HOST_ATTENTION,
    grad=NO_GRADIENT,
    doc="softmax(scale * query @ key + args) @ value. If adj_y is true, key is transposed.",
)

op(
    "_FusedAttentionWithStatistics",
    inputs="query: T, key: T, value: T, args: num_args * T",
    outputs="output: T, statistics: float",
    attrs=_ATTRS,
    infer=_infer_with_statistics,
    cpu=Call(make=_bind),
    gpu=Source("attention.cu", _launch_by_threads, Call(make=_bind), tensor_cores=_launch_mma),
    grad=NO_GRADIENT,
    doc="_FusedAttention, and the logarithm of the sum of exponentials of each row of scores.",
)
