"""`top_k` and `in_top_k`, which find the largest elements of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import REAL
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, RowSource, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.cuda_grids import THREADS
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, size_at
from gpugraph.ops.framework.shape_functions import UNKNOWN, merge_sizes, of_rank
from gpugraph.ops.indexing.sort_launches import first_in_order

# -- top k


def _infer_top_k(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "k")
    value = context.value(1)
    k = None if value is None else ints(value)[0]
    if k is not None and k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN, UNKNOWN]
    if not sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0: input")
    if k is not None and sizes[-1] is not None and k > sizes[-1]:
        raise Misfit(
            f"input must have last dimension >= k = {k} but is {sizes[-1]}",
            in_run=f"input must have at least k columns. Had {sizes[-1]}, needed {k}",
        )
    return [TensorShape.of((*sizes[:-1], k))] * 2


_LONG = 512
"""The row size from which selecting a few of the largest elements is faster than sorting the row.

With rows of 8,000 elements, it is 20 times as fast.
"""


def _first_of_largest(row: Any, k: int) -> Any:
    """Return the indices of the k largest values of a long row, largest first.

    Ties go to the lower index.
    """
    threshold = np.partition(row, row.size - k)[-k:].min()
    if threshold != threshold:  # NaN counts as the largest, but no comparison with NaN is true
        return row.size - 1 - np.argsort(row[::-1], kind="stable")[::-1][:k]
    larger = np.flatnonzero(row > threshold)
    chosen = np.concatenate([larger, np.flatnonzero(row == threshold)[: k - larger.size]])
    if chosen.size < k:  # there are NaNs among the largest elements
        return row.size - 1 - np.argsort(row[::-1], kind="stable")[::-1][:k]
    chosen.sort()
    return chosen[::-1][np.argsort(row[chosen[::-1]], kind="stable")[::-1]]


def _bind_top_k(_: KernelContext, source: Any, values: Any, indices: Any) -> Callable[[], Any]:
    size, k = source.shape[-1], values.shape[-1]
    backwards = source[..., ::-1]

    def run() -> None:
        if values.size == 0:
            return
        if k == 1:
            chosen = np.argmax(source, axis=-1, keepdims=True)
        elif size >= _LONG and 8 * k <= size:
            rows = source.reshape(-1, size)
            chosen = np.stack([_first_of_largest(row, k) for row in rows]).reshape(values.shape)
        else:  # a stable sort of the reversed row puts the first of equal elements first
            order = np.argsort(backwards, axis=-1, kind="stable")
            chosen = size - 1 - order[..., ::-1][..., :k]
        indices[...] = chosen
        values[...] = np.take_along_axis(source, chosen, axis=-1)

    return run


def _top_k_back(op: Any, dvalues: Any, dindices: Any) -> list[Any]:
    """Return the gradient of the input. It contains the gradient of each value at the value's
    position in the input, and 0 elsewhere.

    All rows are joined into one vector, so that a single scatter op suffices.
    """
    del dindices
    source, indices = op.inputs[0], op.outputs[1]
    shape, total = raw_ops.Shape(source), raw_ops.Size(source)
    last = np.array([-1], np.int32)
    width = raw_ops.Maximum(size_at(source, -1), 1)
    count = raw_ops.FloorDiv(total, width)
    rows = raw_ops.Reshape(indices, raw_ops.Pack([count, size_at(indices, -1)]))
    starts = raw_ops.Range(0, total, width)
    places = raw_ops.Add(rows, raw_ops.ExpandDims(starts, 1))
    places = raw_ops.Reshape(places, np.array([-1, 1], np.int32))
    flat = raw_ops.ScatterNd(
        places, raw_ops.Reshape(dvalues, last), raw_ops.Reshape(total, np.array([1], np.int32))
    )
    return [raw_ops.Reshape(flat, shape), None]


def _launch_top_k(signature: Signature) -> list[Launch]:
    sizes, count = signature.input_shapes[0], signature.output_shapes[0][-1]
    rows, dtype = prod(sizes[:-1]), signature.input_types[0]
    return first_in_order(Arg(0), Arg(1), Arg(2), rows, sizes[-1], count, dtype, True)


def _native_top_k(signature: Signature) -> list[int]:
    sizes, k = signature.input_shapes[0], signature.output_shapes[0][-1]
    return [prod(sizes[:-1]), sizes[-1], k]


_top_k = op(
    "TopKV2",
    inputs="input: T, k: int32",
    outputs="values: T, indices: int32",
    attrs={"sorted": Attr("bool", True), "T": REAL},
    infer=_infer_top_k,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_top_k),
    gpu=Source("sort_and_select.cu", _launch_top_k, Call(make=_bind_top_k)),
    native=RowSource("host_top_k.h", "gg_top_k", _native_top_k),
    grad=_top_k_back,
    doc="The k largest elements of each row, the largest first, and their indices.",
)


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """Return (values, indices) of the `k` largest elements along the last axis, largest first.

    If elements are equal, the element with the lower index comes first. If `sorted` is False, the
    order is unspecified. Raises ValueError if `input` is a scalar, or if its rows have fewer than k
    elements.

    >>> values, indices = tf.nn.top_k([1, 5, 3], k=2)
    >>> session.run(values), session.run(indices)
    (array([5, 3], dtype=int32), array([1, 2], dtype=int32))
    """
    return _top_k(input, k, sorted=sorted, name=name)


# -- in top k


def _infer_in_top_k(context: InferContext) -> Sequence[TensorShape]:
    rows = of_rank(context.shapes[0], 2, "predictions")[0]
    (count,) = of_rank(context.shapes[1], 1, "targets")
    return [TensorShape.of((merge_sizes(rows, count),))]


def _bind_in_top_k(
    context: KernelContext, predictions: Any, targets: Any, out: Any
) -> Callable[[], Any]:
    k = context.attrs["k"] if "k" in context.attrs else ints(context.value(2))[0]
    rows, classes = np.arange(predictions.shape[0]), predictions.shape[1]

    def run() -> None:
        valid = (targets >= 0) & (targets < classes)
        scores = predictions[rows, np.where(valid, targets, 0)] if classes else np.zeros(len(rows))
        above = np.count_nonzero(predictions > scores[:, None], axis=1)
        finite = np.isfinite(predictions).all(axis=1)
        out[...] = valid & (above < k) & finite

    return run


def _launch_in_top_k(signature: Signature) -> list[Launch]:
    rows, classes = signature.input_shapes[0]
    k = signature.attrs["k"] if "k" in signature.attrs else ints(signature.value(2))[0]
    arguments = (Arg(0), Arg(1), Arg(2), rows, classes, k)
    grid = min(rows, 1 << 16), 1, 1
    defines = {"INDEX": f"int{8 * signature.input_types[1].size}_t"}
    return [Launch("gg_in_top", grid, (THREADS, 1, 1), arguments, defines=defines)]


def _native_in_top_k(signature: Signature) -> list[int]:
    (rows, classes), wide = signature.input_shapes[0], signature.input_types[1].size == 8
    k = signature.attrs["k"] if "k" in signature.attrs else ints(signature.value(2))[0]
    return [rows, classes, k, int(wide)]


_IN_TOP_K: dict[str, Any] = {
    "outputs": "precision: bool",
    "infer": _infer_in_top_k,
    "cpu": Call(make=_bind_in_top_k),
    "native": RowSource("host_top_k.h", "gg_in_top_k", _native_in_top_k),
    "gpu": Source("in_top_k.cu", _launch_in_top_k, Call(make=_bind_in_top_k)),
    "grad": NO_GRADIENT,
    "doc": "Whether the target is among the k largest predictions of its row, ties counted in.",
}

op(
    "InTopK",
    inputs="predictions: float32, targets: T",
    attrs={"k": Attr("int", required=True), "T": INDEX},
    **_IN_TOP_K,
)

_in_top_k = op(
    "InTopKV2",
    inputs="predictions: float32, targets: T, k: T",
    attrs={"T": INDEX},
    memory=OpMemory(host_inputs=[2]),
    **_IN_TOP_K,
)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Return whether each target is among the k classes with the largest `predictions` of its row.

    Classes whose prediction is equal to that of the k-th class are included. The result is False if
    the target is outside [0, classes), or if a prediction in its row is not finite.

    Args:
      predictions: a tensor of shape [batch, classes].
      targets: a tensor of shape [batch] with class numbers.

    >>> session.run(tf.nn.in_top_k([[0.1, 0.9]], targets=[1], k=1))
    array([ True])
    """
    with op_scope(name, "in_top_k", predictions, targets):
        return _in_top_k(predictions, targets, k, name=name)
