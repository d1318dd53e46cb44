"""The gradients of an attention (`fused_attention`) as a single op, which computes the scores again
from the statistics of their rows instead of reading stored scores.

Programs do not create this op. On GPUs, the compiler's attention pass replaces the ops of the
gradients with this op, and the attention with the op that also returns the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, Scratch, Signature, Source
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.nn.activations.fused_attention import (
    MAX_KEYS,
    MMA_THREADS,
    THREADS,
    TILE,
    AttentionSizes,
    add_pack,
    attention_sizes,
    key_strides,
    masked_scores,
    row_packs,
)

_COUNT = 6
"""The number of inputs before the mask."""


def gradient_sizes(signature: Signature) -> AttentionSizes:
    """Return the sizes of the attention whose gradients an op with this signature computes.

    Raises NotImplementedError, with the reason, if the dtypes or shapes are not supported.
    """
    sizes = attention_sizes(signature, _COUNT)
    if sizes.m > MAX_KEYS:
        raise NotImplementedError(f"gradients of an attention of {sizes.m} queries")
    return sizes


def _mma_bytes(head: int) -> int:
    """Return the bytes of dynamic shared memory that a block of attention_gradient_mma.cu needs:
    two tiles of rows of the block, and two times two tiles of other rows.
    """
    others = 32 if head > 64 else TILE
    across = (
        max(TILE * (head + 8), head * (TILE + 8)),
        max(others * (head + 8), head * (others + 8)),
    )
    return 2 * (across[0] + TILE * (head + 8) + 2 * (across[1] + others * (head + 8)))


def _infer(context: InferContext) -> Sequence[TensorShape]:
    query, key, value = context.shapes[:3]
    if context.attrs["adj_y"] != context.attrs["key_rows"] and key.rank is not None:
        key = key[:-2].concatenate([key[-1], key[-2]])
    return [query, key, value]


def _gradients(attrs: Any, *arrays: Any) -> None:
    query, key, value, out, statistics, back, *rest = arrays
    masks, (query_out, key_out, value_out) = rest[:-3], rest[-3:]
    scores = masked_scores(attrs, query, key, masks)
    kind = scores.dtype
    with np.errstate(invalid="ignore"):
        chances = np.exp(scores - statistics[..., None])
    keys = (key if attrs["adj_y"] else key.swapaxes(-1, -2)).astype(kind)
    back, query = back.astype(kind), query.astype(kind)
    mean = (back * out.astype(kind)).sum(axis=-1, keepdims=True)
    changes = (
        chances * (back @ value.astype(kind).swapaxes(-1, -2) - mean) * kind.type(attrs["scale"])
    )
    by_key = changes.swapaxes(-1, -2) @ query
    results = (
        changes @ keys,
        by_key if attrs["key_rows"] else by_key.swapaxes(-1, -2),
        chances.swapaxes(-1, -2) @ back,
    )
    for result, output in zip(results, (query_out, key_out, value_out)):
        np.copyto(output, result, casting="unsafe")


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    return partial(_gradients, context.attrs, *arrays)


def _launch(
    signature: Signature, function: str, threads: int, macros: dict[str, str | int], **options: Any
) -> list[Launch]:
    """Return a launch for the gradient of queries, which also writes row sums, and a launch for the
    gradients of keys and values, which reads these sums.
    """
    sizes = gradient_sizes(signature)
    macros["MASKED"] = int(len(signature.input_shapes) > _COUNT)
    types = {"T": signature.input_types[0].base_dtype}
    arguments = _arguments(signature, sizes)
    return [
        Launch(
            function,
            (sizes.batch * -(-rows // TILE), 1, 1),
            (threads, 1, 1),
            arguments,
            types,
            {**macros, "BY_KEYS": by_keys},
            **options,
        )
        for by_keys, rows in enumerate((sizes.m, sizes.n))
    ]


def _arguments(signature: Signature, sizes: AttentionSizes) -> tuple[Any, ...]:
    count = len(signature.input_shapes)
    mask = Arg(_COUNT) if count > _COUNT else Arg(0)
    delta = Scratch("delta", sizes.batch * sizes.m, float32)
    gradient_strides = (sizes.d, 1) if signature.attrs["key_rows"] else (1, sizes.n)
    return (
        *(Arg(0), Arg(1), Arg(2), mask, Arg(3), Arg(4), Arg(5), delta),
        *(Arg(count), Arg(count + 1), Arg(count + 2), sizes.inner, *sizes[1:5]),
        *(*key_strides(signature, sizes), *gradient_strides, *sizes.mask),
        float(signature.attrs["scale"]),
    )


def _launch_by_threads(signature: Signature) -> list[Launch]:
    macros: dict[str, str | int] = {"HEAD": gradient_sizes(signature).head}
    return _launch(signature, "gg_attention_back", THREADS, macros)


def _launch_mma(signature: Signature) -> list[Launch]:
    """Return launches that use tensor cores, or an empty list for float32."""
    dtype = signature.input_types[0].base_dtype
    if dtype is float32:
        return []
    sizes = gradient_sizes(signature)
    macros, aligned = row_packs(signature, sizes)
    add_pack(macros, aligned, "D", Arg(5), sizes.dv, dtype.size)
    options: dict[str, Any] = {"file": "attention_gradient_mma.cu", "aligned": aligned}
    options["shared_bytes"] = _mma_bytes(sizes.mma_head)
    return _launch(signature, "gg_attention_back_mma", MMA_THREADS, macros, **options)


op(
    "_FusedAttentionGrad",
    inputs="query: T, key: T, value: T, output: T, statistics: float, gradient: T,"
    " args: num_args * T",
    outputs="query_gradient: T, key_gradient: T, value_gradient: T",
    attrs={
        "T": FLOATING,
        "num_args": Attr("int"),
        "scale": Attr("float", 1.0),
        "adj_y": Attr("bool", True),
        "key_rows": Attr("bool", True),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=Source(
        "attention_gradient.cu", _launch_by_threads, Call(make=_bind), tensor_cores=_launch_mma
    ),
    grad=NO_GRADIENT,
    doc="The gradients of _FusedAttention. With key_rows, the gradient of a key is a row, else a"
    " column.",
)
