"""Ops that stand apart: constants by promise, the time, fingerprints, rows stacked in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import from_attr, same_shape, scalar
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.strings.hash_algorithms import farm_fingerprint


def _copy(x: Any, out: Any) -> None:
    np.copyto(out, x)


_guarantee_const = op(
    "GuaranteeConst",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": ALL},
    infer=same_shape(0),
    alias={0: 0},
    cpu=Call(_copy),
    gpu=Call(_copy),
    grad=lambda op, dy: dy,
    stateful=True,
    doc="The input as it is, of which the program promises that it never changes.",
)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """`input`, of which you promise that every run gives it the same value."""
    return _guarantee_const(input, name=name)


def _now(out: Any) -> None:
    out[...] = time.time()


_timestamp = op(
    "Timestamp",
    outputs="ts: double",
    infer=scalar,
    cpu=Call(_now),
    gpu=HostOnly("the time is read on the host"),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Seconds since 1970 when the op runs.",
)


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970 when the op runs, float64: at each run anew."""
    return _timestamp(name=name)


# -- fingerprints


def _infer_fingerprint(context: InferContext) -> Sequence[TensorShape]:
    rows = context.shapes[0].with_rank_at_least(1)
    return [TensorShape.of((None if rows.sizes is None else rows.sizes[0], 8))]


def _bind_fingerprint(context: KernelContext, data: Any, out: Any) -> Callable[[], Any]:
    method = context.value(1).reshape(())[()]
    if method != b"farmhash64":
        raise invalid_argument(f"Unsupported fingerprint algorithm: {method!r}")

    def words(row: Any) -> bytes:
        if row.dtype != object:
            return bytes(np.ascontiguousarray(row).tobytes())
        if data.ndim == 1:
            return bytes(row.reshape(())[()])
        each = (farm_fingerprint(bytes(text)).to_bytes(8, "little") for text in row.reshape(-1))
        return b"".join(each)

    def run() -> None:
        for number in range(len(data)):
            found = farm_fingerprint(words(np.asarray(data[number], data.dtype)))
            out[number] = np.frombuffer(found.to_bytes(8, "little"), np.uint8)

    return run


_fingerprint = op(
    "Fingerprint",
    inputs="data: T, method: string",
    outputs="fingerprint: uint8",
    attrs={"T": ALL},
    infer=_infer_fingerprint,
    host=[1],
    cpu=Call(make=_bind_fingerprint),
    gpu=HostOnly("hashes are computed on the host"),
    grad=NO_GRADIENT,
    doc="The 8 bytes of the 64-bit hash of each row. InvalidArgumentError for another method.",
)


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """The hash of each row of `data`, uint8 of shape (rows, 8), the lowest byte first.

    It is one of the row's bytes, of strings of their own hashes if there are several in a row.
    ValueError for a scalar, InvalidArgumentError in a run for another method than "farmhash64".
    """
    return _fingerprint(data, method, name=name)


# -- stacking


def _infer_concat(context: InferContext) -> Sequence[TensorShape]:
    shape = from_attr("shape")(context)[0]
    for each in context.shapes:
        row = each.with_rank_at_least(1)
        if row.sizes is not None and row.sizes[0] not in (1, None):
            raise ValueError(f"Each value must be one row, but one has {row.sizes[0]}")
        row[1:].assert_is_compatible_with(shape[1:])
    return [shape]


def _bind_concat(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    *values, out = arrays
    del context

    def run() -> None:
        np.concatenate(values, axis=0, out=out)

    return run


_parallel_concat = op(
    "ParallelConcat",
    inputs="values: N*T",
    outputs="output: T",
    attrs={"N": Attr("int", required=True), "T": ALL, "shape": Attr("shape", required=True)},
    infer=_infer_concat,
    cpu=Call(make=_bind_concat),
    gpu=Call(make=_bind_concat),
    grad=lambda op, dy: raw_ops.Split(np.array(0, np.int32), dy, num_split=len(op.inputs)),
    doc="Values of one row each, one after the other.",
)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one shape, which must be known, as the rows of one. ValueError where it is not."""
    with op_scope(name, "parallel_stack", *values):
        first = convert_to_tensor(values[0])
        shape = as_shape(first.shape)
        if not shape.is_fully_defined():
            raise ValueError(f"The shapes of what is stacked must be known, but one is {shape}")
        front = np.array(0, np.int32)
        rows = [raw_ops.ExpandDims(each, front) for each in values]
        whole = TensorShape.of((len(rows),)).concatenate(shape)
        return _parallel_concat(rows, shape=whole)
