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

_TILE, _STEP, _THREADS = 64, 32, 256  # the same numbers as in kernels/cuda/nn/attention.cu
_HEADS = (64, 128)
_MMA_THREADS, _MMA_HEADS = (
    128,
    (32, 64, 96, 128),
)  # for attention_mma.cu, whose tiles also have _TILE rows
_COPIED = 8
"""The number of adjacent elements that attention_mma.cu copies at once, if rows are aligned."""
_MAX_BLOCKS, _MAX_KEYS = 2**31 - 1, 2**24


# -- sizes


class _Sizes(NamedTuple):
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


def attention_sizes(signature: Signature) -> _Sizes:
    """Return the sizes for the CUDA kernel.

    Raises NotImplementedError, with the reason, if the dtypes or shapes are not supported.
    """
    query, key, value, *masks = signature.input_shapes
    dtype = signature.input_types[0].base_dtype
    if dtype not in (float16, bfloat16, float32):
        raise NotImplementedError(f"attention of {dtype.name}")
    if not query[:-2] == key[:-2] == value[:-2]:
        raise NotImplementedError("queries, keys and values of different batches")
    (m, d), (n, dv) = query[-2:], value[-2:]
    if max(d, dv) > _HEADS[-1]:
        raise NotImplementedError(f"a head size of {max(d, dv)}, above {_HEADS[-1]}")
    batch = prod(query[:-2])
    if batch * -(-m // _TILE) > _MAX_BLOCKS or n > _MAX_KEYS:
        raise NotImplementedError(f"{batch} times {m} queries and {n} keys")
    head, mma_head = (
        min(size for size in heads if size >= max(d, dv)) for heads in (_HEADS, _MMA_HEADS)
    )
    inner, mask = _mask_strides(masks[0], (*query[:-1], n)) if masks else (1, (0, 0, 0, 0))
    return _Sizes(batch, m, n, d, dv, head, mma_head, inner, mask)


def shared_bytes(head: int) -> int:
    """Return the bytes of shared memory that a block of attention.cu needs for this head size."""
    row = _TILE + 4
    chunk = max(_STEP * row, _STEP * (head + 4))
    return 4 * (head * row + _TILE * row + chunk)


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


# -- the op


def _infer(context: InferContext) -> Sequence[TensorShape]:
    query, value = context.shapes[0], context.shapes[2]
    if query.rank is None or value.rank is None:
        return [TensorShape.of(None)]
    return [query[:-1].concatenate(value[-1:])]


def _attend(attrs: Any, query: Any, key: Any, value: Any, *rest: Any) -> None:
    *masks, out = rest
    kind = np.float64 if out.dtype.itemsize == 8 else np.float32
    scores = query.astype(kind) @ (key.swapaxes(-1, -2) if attrs["adj_y"] else key).astype(kind)
    scores *= kind(attrs["scale"])
    for mask in masks:
        scores += mask
    with np.errstate(invalid="ignore"):
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
    np.copyto(out, scores @ value.astype(kind), casting="unsafe")


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    return partial(_attend, context.attrs, *arrays)


def _launch(
    signature: Signature, function: str, threads: int, macros: dict[str, str | int], **options: Any
) -> list[Launch]:
    """Return one launch, with a thread block for each batch and each tile of `_TILE` queries."""
    sizes = attention_sizes(signature)
    macros["MASKED"] = int(len(signature.input_shapes) > 3)
    types = {"T": signature.input_types[0].base_dtype}
    grid, arguments = (sizes.batch * -(-sizes.m // _TILE), 1, 1), _arguments(signature, sizes)
    return [Launch(function, grid, (threads, 1, 1), arguments, types, macros, **options)]


def _launch_by_threads(signature: Signature) -> list[Launch]:
    head = attention_sizes(signature).head
    options = {"shared_bytes": shared_bytes(head)}
    return _launch(signature, "gg_attention", _THREADS, {"HEAD": head}, **options)


def _launch_mma(signature: Signature) -> list[Launch]:
    """Return a launch that uses tensor cores. For float32, return an empty list, because tensor
    cores would round the inputs.
    """
    sizes, dtype = attention_sizes(signature), signature.input_types[0].base_dtype
    if dtype is float32:
        return []
    macros: dict[str, str | int] = {
        "HEAD": sizes.mma_head,
        "ACROSS": int(not signature.attrs["adj_y"]),
        "BRAIN": int(dtype is bfloat16),
    }
    apart = (sizes.d, sizes.d if signature.attrs["adj_y"] else sizes.n, sizes.dv)
    aligned = {}
    for array, (name, stride) in enumerate(zip("QKV", apart)):
        if stride % _COPIED:
            macros[f"PACKED_{name}"] = 0
        else:
            aligned[f"PACKED_{name}"] = (Arg(array), _COPIED * dtype.size)
    options = {"file": "attention_mma.cu", "aligned": aligned}
    return _launch(signature, "gg_attention_mma", _MMA_THREADS, macros, **options)


def _arguments(signature: Signature, sizes: _Sizes) -> tuple[Arg | int | float, ...]:
    """Return the arguments that attention.cu and attention_mma.cu have in common."""
    attrs = signature.attrs
    by_key = (sizes.d, 1) if attrs["adj_y"] else (1, sizes.n)
    mask = (Arg(3), Arg(4)) if len(signature.input_shapes) > 3 else (Arg(0), Arg(3))
    return (
        *(Arg(0), Arg(1), Arg(2), *mask, sizes.inner, *sizes[1:5], *by_key, *sizes.mask),
        float(attrs["scale"]),
    )


op(
    "_FusedAttention",
    inputs="query: T, key: T, value: T, args: num_args * T",
    outputs="output: T",
    attrs={
        "T": FLOATING,
        "num_args": Attr("int"),
        "scale": Attr("float", 1.0),
        "adj_y": Attr("bool", True),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Source("attention.cu", _launch_by_threads, Call(make=_bind), tensor_cores=_launch_mma),
    native=HOST_ATTENTION,
    grad=NO_GRADIENT,
    doc="softmax(scale * query @ key + args) @ value. If adj_y is true, key is transposed.",
)
