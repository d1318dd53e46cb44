"""Ops that find the best split of each node of a layer, by the gain of the split.

For a node, let g be the sum of the gradients of its examples, moved by l1 towards 0, and h the sum
of their hessians. The optimal weight of the node is -g / (h + l2), and its gain is g^2 / (h + l2).
The gain of a split is the sum of the children's gains minus the parent's gain (Chen and Guestrin,
"XGBoost", 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.queues.handle_ops import HOST, Run

_SMALL = np.float32(1e-15)
"""A sum of hessians below which a weight is 0."""

DIRECTIONS = (b"INEQUALITY_DEFAULT_LEFT", b"INEQUALITY_DEFAULT_RIGHT")
EQUALITY = b"EQUALITY_DEFAULT_RIGHT"


class Penalties(NamedTuple):
    """The regularization parameters of trees, as float32 scalars."""

    l1: Any
    l2: Any
    tree_complexity: Any
    min_node_weight: Any


def weights_and_gains(gradients: Any, hessians: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """Return the optimal weights, [..., d], and the gains, [...], of nodes.

    Args:
      gradients: the sums of gradients, [..., d].
      hessians: the sums of hessians, [..., d] if they are diagonal, [..., d * d] otherwise.
      l1, l2: the regularization parameters.
    """
    size = gradients.shape[-1]
    if l1 > 0 and size == 1:  # as in TensorFlow, which ignores it for several logits
        moved = np.maximum(np.abs(gradients) - l1, np.float32(0))
        gradients = np.copysign(moved, gradients)
    if hessians.shape[-1] == size:
        divisors = hessians + l2
        usable = divisors > _SMALL
        weights = np.where(usable, -gradients / np.where(usable, divisors, np.float32(1)), 0)
        weights = weights.astype(np.float32)
    else:
        matrices = hessians.reshape(*hessians.shape[:-1], size, size) + l2 * np.eye(
            size, dtype=np.float32
        )
        weights = _solved(matrices, -gradients)
    gains = -(gradients * weights).sum(-1, dtype=np.float32)
    return weights, gains


def _solved(matrices: Any, vectors: Any) -> Any:
    """Return the solutions of systems of linear equations. The solution is 0 if the matrix is
    singular.
    """
    singular = np.abs(np.linalg.det(matrices)) <= _SMALL
    matrices = np.where(singular[..., None, None], np.eye(vectors.shape[-1]), matrices)
    solutions = np.linalg.solve(matrices.astype(np.float64), vectors[..., None])[..., 0]
    return np.where(singular[..., None], 0, solutions).astype(np.float32)


class Splits(NamedTuple):
    """Candidates for the split of one node. If gains are equal, the first candidate is preferred.

    `left` and `right` are sums of statistics, [candidates, statistics].
    """

    left: Any
    right: Any
    dimensions: Any
    thresholds: Any
    kinds: Sequence[bytes]


class BestSplit(NamedTuple):
    """The best split of a node."""

    node_id: int
    gain: Any
    dimension: int
    threshold: int
    left: Any
    right: Any
    kind: bytes


def _best(node_id: int, splits: Splits, size: int, parent: Any, penalties: Penalties) -> BestSplit:
    """Return the candidate with the maximum gain.

    Args:
      size: the number of logits, which is the number of gradients among the statistics.
      parent: the gain of the node itself.
    """
    sides = [
        weights_and_gains(side[:, :size], side[:, size:], penalties.l1, penalties.l2)
        for side in (splits.left, splits.right)
    ]
    gains = sides[0][1] + sides[1][1]
    best = int(np.argmax(gains))
    return BestSplit(
        node_id,
        gains[best] - parent - penalties.tree_complexity,
        int(splits.dimensions[best]),
        int(splits.thresholds[best]),
        sides[0][0][best],
        sides[1][0][best],
        splits.kinds[best],
    )


def _penalties(arrays: Sequence[Any]) -> Penalties:
    return Penalties(*(np.float32(array[()]) for array in arrays))


def _node_range(node_id_range: Any, count: int) -> range:
    first, last = (int(bound) for bound in node_id_range)
    if not 0 <= first <= last <= count:
        raise invalid_argument(
            f"node_id_range must be a range of nodes in [0, {count}], got [{first}, {last})"
        )
    return range(first, last)


# -- the best split of each of several features


def _by_thresholds(sums: Any) -> Splits:
    """Return a candidate for each bucket. In a candidate, examples of this bucket and of all
    earlier buckets go to the left child.

    Args:
      sums: the sums of statistics, [buckets, statistics].
    """
    left = np.cumsum(sums, axis=0, dtype=np.float32)
    count = len(left)
    return Splits(left, left[-1] - left, np.zeros(count), np.arange(count), [b""] * count)


def _best_of_feature(nodes: range, summary: Any, penalties: Penalties) -> list[BestSplit]:
    result = []
    for node_id in nodes:
        splits = _by_thresholds(summary[node_id])
        total = splits.left[-1]
        if total[1] < penalties.min_node_weight:
            continue
        _, parent = weights_and_gains(total[:1], total[1:], penalties.l1, penalties.l2)
        result.append(_best(node_id, splits, 1, parent, penalties))
    return result


def _columns(splits: Sequence[BestSplit], size: int) -> dict[str, Any]:
    """Return the fields of splits as arrays with a row for each split."""
    count = len(splits)
    return {
        "node_id": np.array([split.node_id for split in splits], np.int32),
        "gain": np.array([split.gain for split in splits], np.float32),
        "dimension": np.array([split.dimension for split in splits], np.int32),
        "threshold": np.array([split.threshold for split in splits], np.int32),
        "left": np.array([split.left for split in splits], np.float32).reshape(count, size),
        "right": np.array([split.right for split in splits], np.float32).reshape(count, size),
        "kind": np.array([split.kind for split in splits], object),
    }


def _bind_gains(_: KernelContext, *arrays: Any) -> Run:
    node_id_range, *summaries, l1, l2, complexity, weight = arrays

    def run() -> list[Any]:
        penalties = _penalties((l1, l2, complexity, weight))
        tables = [
            _columns(_best_of_feature(_node_range(node_id_range, len(s)), s, penalties), 1)
            for s in summaries
        ]
        names = ("node_id", "gain", "threshold", "left", "right")
        return [table[name] for name in names for table in tables]

    return run


def _infer_gains(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 1, "node_id_range")
    for shape in context.shapes[1:-4]:
        of_rank(shape, 3, "stats_summary_list")
    count = context.attrs["num_features"]
    return [TensorShape.of((None,))] * (3 * count) + [TensorShape.of((None, 1))] * (2 * count)


_PENALTIES = (
    "l1: scalar float32, l2: scalar float32, tree_complexity: scalar float32, "
    "min_node_weight: scalar float32"
)

op(
    "BoostedTreesCalculateBestGainsPerFeature",
    inputs="node_id_range: int32, stats_summary_list: num_features * float32, " + _PENALTIES,
    outputs="node_ids_list: num_features * int32, gains_list: num_features * float32, "
    "thresholds_list: num_features * int32, left_node_contribs_list: num_features * float32, "
    "right_node_contribs_list: num_features * float32",
    attrs={
        "max_splits": Attr("int", required=True, minimum=1),
        "num_features": Attr("int", required=True, minimum=1),
    },
    infer=_infer_gains, cpu=Call(make=_bind_gains, dynamic=True), gpu=HOST, grad=NO_GRADIENT,
    doc="For each feature, the best split of each node in a range.",
)  # fmt: skip


# -- the best split of a feature of several dimensions


def _inequalities(sums: Any, dimension: int, buckets: Any, total: Any) -> Splits:
    """Return two candidates for each bucket. In the first, examples without the feature go to the
    left child. In the second, they go to the right child.

    Args:
      sums: the sums of the buckets, [buckets, statistics], then of examples without the feature.
      buckets: the buckets' numbers.
      total: the sum of the statistics of the node.
    """
    below = np.cumsum(sums[:-1], axis=0, dtype=np.float32)
    left = np.stack([below + sums[-1], below], axis=1).reshape(-1, sums.shape[1])
    return Splits(
        left,
        total - left,
        np.full(len(left), dimension),
        np.repeat(buckets, 2),
        list(DIRECTIONS) * len(below),
    )


def _sparse_inequalities(sums: Any, dimension: int, buckets: Any, total: Any) -> Splits:
    """Return the candidates of `_inequalities` in the order in which the op for sparse sums prefers
    them. It prefers to send examples without the feature to the right child.
    """
    below = np.cumsum(sums[:-1], axis=0, dtype=np.float32)
    left = np.stack([below, below + sums[-1]], axis=1).reshape(-1, sums.shape[1])
    right = np.stack([total - below, below[-1:] - below], axis=1).reshape(left.shape)
    return Splits(
        left,
        right,
        np.full(len(left), dimension),
        np.repeat(buckets, 2),
        list(reversed(DIRECTIONS)) * len(below),
    )


def _equalities(sums: Any, dimension: int, buckets: Any, total: Any) -> Splits:
    """Return a candidate for each bucket. In a candidate, only the examples of the bucket go to the
    left child.
    """
    left = sums[:-1]
    count = len(left)
    return Splits(left, total - left, np.full(count, dimension), buckets, [EQUALITY] * count)


_CANDIDATES = {
    "inequality": _inequalities, "equality": _equalities, "sparse": _sparse_inequalities,
}  # fmt: skip

Dimensions = Sequence[tuple[int, Any, Any]]
"""For dimensions of a feature: the number, the sums as `_inequalities` takes them, the buckets."""


def _total(sums: Any) -> Any:
    """Return the sum of the rows. As in TensorFlow, they are added one after the other in
    float32.
    """
    return np.cumsum(sums, axis=0, dtype=np.float32)[-1]


def _best_of_node(
    node_id: int,
    dimensions: Dimensions,
    size: int,
    kind: str,
    penalties: Penalties,
    by_dimension: bool = False,
) -> BestSplit | None:
    """Return the best split of a node among several dimensions, or None if it must not be split.

    Args:
      by_dimension: whether the total for a dimension is the sum over the buckets of this dimension.
        Otherwise the sum over the first dimension's buckets is the total for all dimensions. These
        sums differ only by rounding.
    """
    if not dimensions:
        return None
    total = _total(dimensions[0][1])
    if np.linalg.norm(total[size:]) < penalties.min_node_weight:
        return None
    _, parent = weights_and_gains(total[:size], total[size:], penalties.l1, penalties.l2)
    candidates = _CANDIDATES[kind]
    parts = [
        candidates(sums, number, buckets, _total(sums) if by_dimension else total)
        for number, sums, buckets in dimensions
    ]
    whole = Splits(
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.dimensions for part in parts]),
        np.concatenate([part.thresholds for part in parts]),
        [name for part in parts for name in part.kinds],
    )
    return _best(node_id, whole, size, parent, penalties) if len(whole.left) else None


def _split_outputs(splits: Sequence[BestSplit | None], size: int) -> list[Any]:
    columns = _columns([split for split in splits if split is not None], size)
    names = ("node_id", "gain", "dimension", "threshold", "left", "right", "kind")
    return [columns[name] for name in names]


def _check_statistics(count: int, size: int) -> None:
    if count not in (2 * size, size + size * size):
        raise invalid_argument(
            f"stats_summary must have {2 * size} or {size + size * size} statistics for "
            f"logits_dimension {size}, got {count}"
        )


def _bind_dense(context: KernelContext, node_id_range: Any, summary: Any, *scalars: Any) -> Run:
    size, kind = context.attrs["logits_dimension"], context.attrs["split_type"]

    def run() -> list[Any]:
        _check_statistics(summary.shape[3], size)
        penalties, buckets = _penalties(scalars), np.arange(summary.shape[2] - 1)
        splits = [
            _best_of_node(
                node_id,
                [(number, sums, buckets) for number, sums in enumerate(summary[node_id])],
                size,
                kind,
                penalties,
                by_dimension=kind == "inequality",
            )
            for node_id in _node_range(node_id_range, len(summary))
        ]
        return _split_outputs(splits, size)

    return run


def _infer_splits(context: InferContext) -> Sequence[TensorShape]:
    size = context.attrs["logits_dimension"]
    vector, matrix = TensorShape.of((None,)), TensorShape.of((None, size))
    return [vector, vector, vector, vector, matrix, matrix, vector]


_SPLIT = (
    "node_ids: int32, gains: float32, feature_dimensions: int32, thresholds: int32, "
    "left_node_contribs: float32, right_node_contribs: float32, "
    "split_with_default_directions: string"
)
_LOGITS = {"logits_dimension": Attr("int", required=True, minimum=1)}


def _infer_dense(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 4, "stats_summary")
    return _infer_splits(context)


op(
    "BoostedTreesCalculateBestFeatureSplit",
    inputs="node_id_range: vector int32, stats_summary: float32, " + _PENALTIES,
    outputs=_SPLIT,
    attrs={
        **_LOGITS, "split_type": Attr("string", "inequality", allowed=("inequality", "equality")),
    },
    infer=_infer_dense, cpu=Call(make=_bind_dense, dynamic=True), gpu=HOST, grad=NO_GRADIENT,
    doc="The best split of each node in a range, among the dimensions of a feature.",
)  # fmt: skip


def _dimensions_of(places: Any, sums: Any, count: int) -> list[tuple[int, Any, Any]]:
    """Return the dimensions of one node, each with its buckets and sums.

    Args:
      places: the dimension and bucket of each row of `sums`, in ascending order.
      count: the number of buckets, including the last bucket, which has the examples without the
        feature.
    """
    result = []
    for number in np.unique(places[:, 0]):
        rows = places[:, 0] == number
        buckets, values = places[rows, 1], sums[rows]
        if buckets[-1] == count - 1:
            buckets = buckets[:-1]
        else:
            values = np.concatenate([values, np.zeros_like(values[:1])])
        result.append((int(number), values, buckets))
    return result


def _bind_sparse(context: KernelContext, *arrays: Any) -> Run:
    node_id_range, indices, values, shape, *scalars = arrays
    size = context.attrs["logits_dimension"]

    def run() -> list[Any]:
        penalties, sizes = _penalties(scalars), [int(n) for n in shape]
        _check_statistics(sizes[3], size)
        places, rows = np.unique(indices[:, :3], axis=0, return_inverse=True)
        sums = np.zeros((len(places), sizes[3]), np.float32)
        sums[rows.reshape(-1), indices[:, 3]] = values
        splits = []
        for node_id in _node_range(node_id_range, sizes[0]):
            mine = places[:, 0] == node_id
            dimensions = _dimensions_of(places[mine, 1:], sums[mine], sizes[2])
            splits.append(_best_of_node(node_id, dimensions, size, "sparse", penalties))
        return _split_outputs(splits, size)

    return run


op(
    "BoostedTreesSparseCalculateBestFeatureSplit",
    inputs="node_id_range: vector int32, stats_summary_indices: matrix int32, "
    "stats_summary_values: vector float32, stats_summary_shape: vector int32, " + _PENALTIES,
    outputs=_SPLIT,
    attrs={**_LOGITS, "split_type": Attr("string", "inequality", allowed=("inequality",))},
    infer=_infer_splits, cpu=Call(make=_bind_sparse, dynamic=True), gpu=HOST, grad=NO_GRADIENT,
    doc="The best split of each node in a range, from a sparse tensor of sums.",
)  # fmt: skip
