"""Ops that sum the gradients and hessians of examples, for each node and each bucket of a
feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import merge_sizes, of_rank
from gpugraph.ops.queues.handle_ops import HOST, Run

_SIZES = {
    "max_splits": Attr("int", required=True, minimum=1),
    "num_buckets": Attr("int", required=True, minimum=1),
}


def _check(name: str, values: Any, minimum: int, size: int) -> None:
    """Raise InvalidArgumentError unless all values are in [minimum, size)."""
    if values.size and (values.min() < minimum or values.max() >= size):
        wrong = values[(values < minimum) | (values >= size)].flat[0]
        raise invalid_argument(f"{name} {wrong} is not in the range [{minimum}, {size})")


def _check_batch(context: InferContext, *indices: int) -> None:
    size: int | None = None
    for index in indices:
        sizes = context.shapes[index].sizes
        size = merge_sizes(size, sizes[0] if sizes else None)


def _infer_summary(context: InferContext) -> Sequence[TensorShape]:
    for index, shape in enumerate(context.shapes):
        of_rank(shape, 2 if index in (1, 2) else 1, "an input")
    _check_batch(context, *range(len(context.shapes)))
    attrs = context.attrs
    return [TensorShape.of((attrs["num_features"], attrs["max_splits"], attrs["num_buckets"], 2))]


def _bind_summary(context: KernelContext, *arrays: Any) -> Run:
    node_ids, gradients, hessians, *features, out = arrays
    attrs = context.attrs

    def run() -> None:
        _check("node id", node_ids, 0, attrs["max_splits"])
        for buckets, sums in zip(features, out):
            _check("bucket", buckets, 0, 1 << 31)
            # streams of quantiles may give more boundaries than there are buckets
            known = np.minimum(buckets, attrs["num_buckets"] - 1)
            places = node_ids.astype(np.int64) * attrs["num_buckets"] + known
            for column, values in enumerate((gradients[:, 0], hessians[:, 0])):
                totals = np.bincount(places, values, sums[..., 0].size)  # in float64
                sums[..., column] = totals.reshape(sums.shape[:2])

    return run


op(
    "BoostedTreesMakeStatsSummary",
    inputs="node_ids: int32, gradients: float32, hessians: float32, "
    "bucketized_features_list: num_features * int32",
    outputs="stats_summary: float32",
    attrs={**_SIZES, "num_features": Attr("int", required=True, minimum=1)},
    infer=_infer_summary, cpu=Call(make=_bind_summary), gpu=HOST, grad=NO_GRADIENT,
    doc=(
        "Sums of gradients and hessians, [num_features, max_splits, num_buckets, 2]. A bucket "
        "number of num_buckets or more means the last bucket. TensorFlow adds such an example to "
        "another node."
    ),
)  # fmt: skip


def _infer_aggregate(context: InferContext) -> Sequence[TensorShape]:
    shapes, attrs = context.shapes, context.attrs
    of_rank(shapes[0], 1, "node_ids")
    _, logits = of_rank(shapes[1], 2, "gradients")
    _, hessians = of_rank(shapes[2], 2, "hessians")
    _, dimensions = of_rank(shapes[3], 2, "feature")
    _check_batch(context, 0, 1, 2, 3)
    statistics = None if logits is None or hessians is None else logits + hessians
    return [TensorShape.of((attrs["max_splits"], dimensions, attrs["num_buckets"] + 1, statistics))]


def _bind_aggregate(
    context: KernelContext, node_ids: Any, gradients: Any, hessians: Any, feature: Any, out: Any
) -> Run:
    attrs = context.attrs

    def run() -> None:
        _check("node id", node_ids, 0, attrs["max_splits"])
        _check("bucket", feature, -1, attrs["num_buckets"])
        buckets = np.where(feature < 0, attrs["num_buckets"], feature)
        statistics = np.concatenate([gradients, hessians], axis=1, dtype=np.float64)
        sums = np.zeros(out.shape)
        for dimension in range(feature.shape[1]):
            np.add.at(sums[:, dimension], (node_ids, buckets[:, dimension]), statistics)
        out[...] = sums

    return run


op(
    "BoostedTreesAggregateStats",
    inputs="node_ids: int32, gradients: float32, hessians: float32, feature: int32",
    outputs="stats_summary: float32", attrs=_SIZES,
    infer=_infer_aggregate, cpu=Call(make=_bind_aggregate), gpu=HOST, grad=NO_GRADIENT,
    doc=(
        "Sums of gradients and hessians, [max_splits, dimensions of the feature, num_buckets + 1, "
        "statistics]. The last bucket has the examples whose bucket number is -1, because they "
        "lack the feature."
    ),
)  # fmt: skip


def _infer_sparse(_: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((None, 4)), TensorShape.of((None,)), TensorShape.of((4,))]


def _bind_sparse(context: KernelContext, *arrays: Any) -> Run:
    attrs = context.attrs

    def run() -> list[Any]:
        node_ids, gradients, hessians, indices, values, shape = arrays
        batch, dimensions = int(shape[0]), int(shape[1])
        _check("node id", node_ids, 0, attrs["max_splits"])
        _check("bucket", values, -1, attrs["num_buckets"])
        buckets = np.full((batch, dimensions), attrs["num_buckets"], np.int64)
        buckets[indices[:, 0], indices[:, 1]] = np.where(values < 0, attrs["num_buckets"], values)
        statistics = np.concatenate([gradients, hessians], axis=1)
        sizes = (attrs["max_splits"], dimensions, attrs["num_buckets"] + 1)
        where = (node_ids[:, None], np.arange(dimensions)[None], buckets)
        flat = np.ravel_multi_index(np.broadcast_arrays(*where), sizes)
        keys, positions = np.unique(flat, return_inverse=True)
        sums = np.zeros((len(keys), statistics.shape[1]), np.float32)
        np.add.at(sums, positions.reshape(flat.shape), statistics[:, None])
        return _sparse_result(keys, sums, sizes)

    return run


def _sparse_result(keys: Any, sums: Any, sizes: tuple[int, ...]) -> list[Any]:
    count = sums.shape[1]
    places = np.stack(np.unravel_index(keys, sizes), axis=1)
    indices = np.concatenate(
        [np.repeat(places, count, axis=0), np.tile(np.arange(count), len(keys))[:, None]], axis=1
    )
    return [indices.astype(np.int32), sums.reshape(-1), np.array([*sizes, count], np.int32)]


op(
    "BoostedTreesSparseAggregateStats",
    inputs="node_ids: vector int32, gradients: matrix float32, hessians: matrix float32, "
    "feature_indices: matrix int32, feature_values: vector int32, feature_shape: vector int32",
    outputs="stats_summary_indices: int32, stats_summary_values: float32, "
    "stats_summary_shape: int32",
    attrs=_SIZES, infer=_infer_sparse, cpu=Call(make=_bind_sparse, dynamic=True), gpu=HOST,
    grad=NO_GRADIENT,
    doc=(
        "The sums that BoostedTreesAggregateStats computes, as a sparse tensor, for a sparse "
        "feature."
    ),
)  # fmt: skip
