"""Ops on ensembles of trees: creation, serialization, states, and growth by layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.boosted_trees.best_splits import weights_and_gains
from gpugraph.ops.boosted_trees.created_resources import declare_resource, resource_of
from gpugraph.ops.boosted_trees.tree_ensemble import Growth, TreeEnsemble, set_leaf
from gpugraph.ops.boosted_trees.tree_pruning import prune_tree
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank
from gpugraph.ops.queues.handle_ops import Run, handle_op, infer_scalars

NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)

_HANDLE = "tree_ensemble_handle: resource"
_SERIALIZED = f"{_HANDLE}, stamp_token: scalar int64, tree_ensemble_serialized: scalar string"
_TREE_WEIGHT = 1.0
"""The weight of trees that grow by layers. The learning rate is in their leaves."""
_MIN_CHANGE = 0.01
"""The relative change of the bias below which centering ends."""

declare_resource(
    "BoostedTreesEnsembleResourceHandleOp",
    "IsBoostedTreesEnsembleInitialized",
    "tree_ensemble_handle",
    TreeEnsemble,
    "A handle of an ensemble of trees.",
)


def _bind_create(_: KernelContext, handle: Any, stamp: Any, serialized: Any) -> Run:
    return lambda: resource_of(handle, TreeEnsemble, is_created=False).create(
        int(stamp), serialized.item()
    )


handle_op(
    "BoostedTreesCreateEnsemble", _bind_create,
    "Create an ensemble from a serialized message, unless it exists.", inputs=_SERIALIZED,
)  # fmt: skip


def _bind_restore(_: KernelContext, handle: Any, stamp: Any, serialized: Any) -> Run:
    return lambda: resource_of(handle, TreeEnsemble).restore(int(stamp), serialized.item())


handle_op(
    "BoostedTreesDeserializeEnsemble", _bind_restore,
    "Replace an ensemble by a serialized message.", inputs=_SERIALIZED,
)  # fmt: skip


def _bind_serialize(_: KernelContext, handle: Any, stamp: Any, serialized: Any) -> Run:
    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        with ensemble.lock:
            stamp[()], serialized[()] = ensemble.stamp, ensemble.serialize()

    return run


handle_op(
    "BoostedTreesSerializeEnsemble", _bind_serialize, "The ensemble as a serialized message.",
    inputs=_HANDLE, outputs="stamp_token: int64, tree_ensemble_serialized: string",
    infer=infer_scalars,
)  # fmt: skip


def _bind_states(_: KernelContext, handle: Any, stamp: Any, *outputs: Any) -> Run:
    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        with ensemble.lock:
            stamp[()] = ensemble.stamp
            for out, value in zip(outputs, ensemble.states()):
                out[...] = value

    return run


def _infer_states(_: InferContext) -> Sequence[TensorShape]:
    return [SCALAR] * 4 + [TensorShape.of((2,))]


handle_op(
    "BoostedTreesGetEnsembleStates", _bind_states,
    "Numbers of trees and layers, and the range of the nodes of the last layer.",
    inputs=_HANDLE, infer=_infer_states,
    outputs="stamp_token: int64, num_trees: int32, num_finalized_trees: int32, "
    "num_attempted_layers: int32, last_layer_nodes_range: int32",
)  # fmt: skip


# -- centering the bias


def _bind_center(
    _: KernelContext, handle: Any, gradients: Any, hessians: Any, l1: Any, l2: Any, out: Any
) -> Run:
    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        rates = (np.float32(l1[()]), np.float32(l2[()]))
        change, _ = weights_and_gains(gradients[0], hessians[0], *rates)
        with ensemble.lock:
            ensemble.stamp += 1
            if ensemble.num_trees:
                bias = ensemble.value(0, 0) + change
                set_leaf(ensemble.message.trees[0].nodes[0].leaf, bias)
            else:
                bias = change
                ensemble.add_tree(_TREE_WEIGHT, bias)
        with np.errstate(divide="ignore", invalid="ignore"):
            out[()] = bool(np.any(np.abs(change / bias) > _MIN_CHANGE))

    return run


def _infer_center(context: InferContext) -> Sequence[TensorShape]:
    for index in (1, 2):
        of_rank(context.shapes[index], 2, "mean_gradients and mean_hessians")
    return [SCALAR]


handle_op(
    "BoostedTreesCenterBias", _bind_center,
    "Move the root of the first tree towards the prior, and return whether to continue.",
    inputs=f"{_HANDLE}, mean_gradients: float32, mean_hessians: float32, l1: scalar float32, "
    "l2: scalar float32",
    outputs="continue_centering: bool", infer=_infer_center,
)  # fmt: skip


# -- growth


def _grow(
    ensemble: TreeEnsemble, splits: dict[int, Growth], max_depth: int, pruning_mode: int
) -> None:
    """Grow the last tree by a layer. `splits` has the split of each node."""
    ensemble.stamp += 1
    ensemble.count_attempt()
    metadata = ensemble.message.tree_metadata
    if metadata and not metadata[-1].is_finalized:
        tree = ensemble.num_trees - 1
    else:
        tree = ensemble.add_tree(_TREE_WEIGHT, _zeros(splits))
    first = len(ensemble.message.trees[tree].nodes)
    for node_id in sorted(splits):
        if pruning_mode != PRE_PRUNING or splits[node_id].gain >= 0:
            ensemble.split(tree, node_id, splits[node_id])
    last = len(ensemble.message.trees[tree].nodes)
    if first == last:
        return
    metadata[tree].num_layers_grown += 1
    if metadata[tree].num_layers_grown >= max_depth:
        first, last = 0, 1
        metadata[tree].is_finalized = True
        if pruning_mode == POST_PRUNING:
            prune_tree(ensemble.message.trees[tree], metadata[tree])
        ensemble.add_tree(_TREE_WEIGHT, _zeros(splits))
    ensemble.set_last_layer(first, last)


def _zeros(splits: dict[int, Growth]) -> Any:
    size = max((len(growth.left) for growth in splits.values()), default=1)
    return np.zeros(size, np.float32)


def _best_by_node(candidates: Iterator[tuple[int, Growth]]) -> dict[int, Growth]:
    """Return the candidate with the maximum gain for each node. If gains are equal, the feature
    with the lowest number is preferred.
    """
    best: dict[int, Growth] = {}
    for node_id, growth in candidates:
        known = best.get(node_id)
        if (
            known is None
            or growth.gain > known.gain
            or (growth.gain == known.gain and growth.feature_id < known.feature_id)
        ):
            best[node_id] = growth
    return best


def _candidates(feature_ids: Any, columns: Sequence[Sequence[Any]], rate: Any) -> Any:
    """Yield (node, candidate) for each row of the columns of each feature.

    Args:
      columns: for each feature, the node ids, the gains, the thresholds, and the changes of the
        left and the right child. The second version of the op also has the dimensions and kinds.
    """
    if len(feature_ids) != len(columns):
        raise invalid_argument(
            f"feature_ids has {len(feature_ids)} elements for {len(columns)} features"
        )
    for feature_id, (node_ids, gains, thresholds, left, right, *others) in zip(
        feature_ids.tolist(), columns
    ):
        dimensions, kinds = others or (np.zeros_like(node_ids), None)
        for row, node_id in enumerate(node_ids.tolist()):
            kind = kinds[row] if kinds is not None else b"INEQUALITY_DEFAULT_LEFT"
            yield (
                node_id,
                Growth(
                    feature_id,
                    int(dimensions[row]),
                    int(thresholds[row]),
                    float(gains[row]),
                    rate * left[row],
                    rate * right[row],
                    kind,
                ),
            )


def _lists(arrays: Sequence[Any], count: int) -> list[Sequence[Any]]:
    """Divide arrays into lists of `count` arrays, in order."""
    return [arrays[start : start + count] for start in range(0, len(arrays), count or 1)]


def _bind_update(context: KernelContext, handle: Any, feature_ids: Any, *arrays: Any) -> Run:
    *lists, max_depth, learning_rate = arrays
    count = context.attrs["num_features"]

    def run() -> None:
        columns = list(zip(*_lists(lists, count)))
        splits = _best_by_node(_candidates(feature_ids, columns, learning_rate[()]))
        ensemble = resource_of(handle, TreeEnsemble)
        with ensemble.lock:
            _grow(ensemble, splits, int(max_depth), context.attrs["pruning_mode"])

    return run


handle_op(
    "BoostedTreesUpdateEnsemble", _bind_update,
    "Grow the last tree by the best splits, or add a tree.",
    inputs=f"{_HANDLE}, feature_ids: vector int32, node_ids: num_features * int32, "
    "gains: num_features * float32, thresholds: num_features * int32, "
    "left_node_contribs: num_features * float32, right_node_contribs: num_features * float32, "
    "max_depth: scalar int32, learning_rate: scalar float32",
    attrs={
        "pruning_mode": Attr("int", required=True, minimum=0),
        "num_features": Attr("int", required=True, minimum=0),
    },
)  # fmt: skip


def _bind_update_v2(context: KernelContext, handle: Any, feature_ids: Any, *arrays: Any) -> Run:
    *lists, max_depth, learning_rate, pruning_mode = arrays
    count = context.attrs["num_features"]

    def run() -> None:
        dimensions, *others, kinds = _lists(lists, count)
        columns = list(zip(*others, dimensions, kinds))
        splits = _best_by_node(_candidates(feature_ids, columns, learning_rate[()]))
        ensemble = resource_of(handle, TreeEnsemble)
        with ensemble.lock:
            _grow(ensemble, splits, int(max_depth), int(pruning_mode))

    return run


handle_op(
    "BoostedTreesUpdateEnsembleV2", _bind_update_v2,
    "Grow the last tree by splits of features of several dimensions, or add a tree.",
    inputs=f"{_HANDLE}, feature_ids: vector int32, dimension_ids: num_features * int32, "
    "node_ids: num_features * int32, gains: num_features * float32, "
    "thresholds: num_features * int32, left_node_contribs: num_features * float32, "
    "right_node_contribs: num_features * float32, split_types: num_features * string, "
    "max_depth: scalar int32, learning_rate: scalar float32, pruning_mode: scalar int32",
    attrs={"num_features": Attr("int", required=True, minimum=0)},
)  # fmt: skip
