"""Ops that compute the logits of examples with the trees of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.formats import boosted_trees_pb2
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.boosted_trees.created_resources import resource_of
from gpugraph.ops.boosted_trees.tree_ensemble import TreeEnsemble, leaf_value, split_of
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import merge_sizes, of_rank
from gpugraph.ops.queues.handle_ops import Run, handle_op


class Nodes:
    """The nodes of a tree as arrays, for the descent of many examples at once.

    Args:
      tree: a Tree message.
      num_logits: the number of logits of a leaf.
    """

    def __init__(self, tree: Any, num_logits: int) -> None:
        count = len(tree.nodes)
        self.is_leaf = np.ones(count, bool)
        self.is_equality = np.zeros(count, bool)
        self.features = np.zeros(count, np.int64)
        self.thresholds = np.zeros(count, np.int64)
        self.children = np.zeros((count, 2), np.int64)
        self.values = np.zeros((count, num_logits), np.float32)
        for number, node in enumerate(tree.nodes):
            kind = node.WhichOneof("node")
            leaf = node.leaf if kind == "leaf" else node.metadata.original_leaf
            self._set_value(number, leaf_value(leaf))
            if kind not in ("leaf", None):
                self._set_split(number, kind, split_of(node))

    def _set_value(self, number: int, value: Any) -> None:
        if len(value) == self.values.shape[1] or not value.any():
            self.values[number] = value if len(value) == self.values.shape[1] else 0
        else:
            raise invalid_argument(
                f"logits_dimension is {self.values.shape[1]}, but leaves have {len(value)} logits"
            )

    def _set_split(self, number: int, kind: str, split: Any) -> None:
        self.is_leaf[number] = False
        self.is_equality[number] = kind == "categorical_split"
        self.features[number] = split.feature_id
        self.thresholds[number] = split.value if self.is_equality[number] else split.threshold
        self.children[number] = split.left_id, split.right_id

    def step(self, nodes: Any, features: Any, examples: Any) -> Any:
        """Return the children of split nodes, [n], for examples.

        Args:
          features: the buckets of all features, [features, examples].
        """
        used = self.features[nodes]
        if used.size and used.max() >= len(features):
            raise invalid_argument(
                f"the ensemble has feature {used.max()}, but {len(features)} features are given"
            )
        values, thresholds = features[used, examples], self.thresholds[nodes]
        goes_left = np.where(self.is_equality[nodes], values == thresholds, values <= thresholds)
        return self.children[nodes, np.where(goes_left, 0, 1)]

    def descend(self, nodes: Any, features: Any, examples: Any) -> Any:
        """Return the leaves, [n], that examples reach from nodes, [n]."""
        nodes = nodes.copy()
        pending = np.flatnonzero(~self.is_leaf[nodes])
        while len(pending):
            nodes[pending] = self.step(nodes[pending], features, examples[pending])
            pending = pending[~self.is_leaf[nodes[pending]]]
        return nodes


def _check_features(context: InferContext, first: int) -> int | None:
    """Return the number of examples. It must be the same in all inputs from `first` on."""
    size: int | None = None
    for shape in context.shapes[first:]:
        size = merge_sizes(size, of_rank(shape, 1, "bucketized_features")[0])
    return size


def _infer_logits(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((_check_features(context, 1), context.attrs["logits_dimension"]))]


def _bind_predict(context: KernelContext, handle: Any, *arrays: Any) -> Run:
    *features, out = arrays

    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        buckets, examples = np.stack(features), np.arange(len(out))
        roots = np.zeros(len(out), np.int64)
        out[...] = 0
        with ensemble.lock:
            for tree, weight in zip(ensemble.message.trees, ensemble.message.tree_weights):
                nodes = Nodes(tree, out.shape[1])
                out[...] += (
                    np.float32(weight) * nodes.values[nodes.descend(roots, buckets, examples)]
                )

    return run


_FEATURES = {
    "num_bucketized_features": Attr("int", required=True, minimum=1),
    "logits_dimension": Attr("int", required=True),
}
_BUCKETS = "bucketized_features: num_bucketized_features * int32"
_HANDLE = "tree_ensemble_handle: resource"

handle_op(
    "BoostedTreesPredict", _bind_predict, "The weighted sums of the trees' leaves of examples.",
    inputs=f"{_HANDLE}, {_BUCKETS}", outputs="logits: float32", attrs=_FEATURES,
    infer=_infer_logits,
)  # fmt: skip


# -- during training


def _corrected(metadata: Any, nodes: Any, logits: Any) -> Any:
    """Return, for each node, the node that has replaced it in the pruned tree, or the node itself.
    Add the change of the logit that each replacement causes to `logits`.
    """
    pruned = metadata.post_pruned_nodes_meta
    if not pruned:
        return nodes
    known = nodes < len(pruned)
    new_ids = np.array([entry.new_node_id for entry in pruned])
    changes = np.array([entry.logit_change for entry in pruned], np.float32)
    logits[known] += changes[nodes[known]]
    return np.where(known, new_ids[np.where(known, nodes, 0)], nodes)


def _check_cached(numbers: Any, count: int, name: str) -> None:
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise invalid_argument(f"a cached {name} id is not in the range [0, {count})")


class _Continuation:
    """The descent of examples from the nodes that they had reached before the ensemble grew."""

    def __init__(self, ensemble: TreeEnsemble, num_logits: int, buckets: Any) -> None:
        self._message, self._buckets, self._num_logits = ensemble.message, buckets, num_logits

    def run(self, tree_ids: Any, node_ids: Any, logits: Any) -> None:
        """Move examples to their leaves of the last tree, in place, and add to their logits."""
        message = self._message
        _check_cached(tree_ids, len(message.trees), "tree")
        for number in range(int(tree_ids.min(initial=len(message.trees))), len(message.trees)):
            examples = np.flatnonzero(tree_ids == number)
            nodes = Nodes(message.trees[number], self._num_logits)
            change = np.zeros((len(examples), self._num_logits), np.float32)
            starts = self._starts(number, nodes, node_ids[examples], change)
            leaves = nodes.descend(starts, self._buckets, examples)
            weight = np.float32(message.tree_weights[number])
            logits[examples] += weight * (change + nodes.values[leaves])
            if number + 1 < len(message.trees):
                tree_ids[examples], node_ids[examples] = number + 1, -1
            else:
                node_ids[examples] = leaves

    def _starts(self, tree: int, nodes: Nodes, node_ids: Any, change: Any) -> Any:
        """Return the nodes from which examples continue, and subtract the logits of the nodes that
        they had reached before.
        """
        cached = np.flatnonzero(node_ids >= 0)
        starts = np.zeros(len(node_ids), np.int64)
        corrections = np.zeros((len(cached), self._num_logits), np.float32)
        reached = _corrected(self._message.tree_metadata[tree], node_ids[cached], corrections)
        _check_cached(reached, len(nodes.is_leaf), "node")
        starts[cached] = reached
        change[cached] = corrections - nodes.values[reached]
        return starts


def _bind_training(context: KernelContext, handle: Any, *arrays: Any) -> Run:
    cached_trees, cached_nodes, *features, logits, tree_ids, node_ids = arrays

    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        logits[...] = 0
        tree_ids[...] = cached_trees
        with ensemble.lock:
            if not ensemble.num_trees:
                node_ids[...] = 0
                return
            node_ids[...] = cached_nodes
            descent = _Continuation(ensemble, logits.shape[1], np.stack(features))
            descent.run(tree_ids, node_ids, logits)

    return run


def _infer_training(context: InferContext) -> Sequence[TensorShape]:
    size = _check_features(context, 1)
    vector = TensorShape.of((size,))
    return [TensorShape.of((size, context.attrs["logits_dimension"])), vector, vector]


handle_op(
    "BoostedTreesTrainingPredict", _bind_training,
    "The changes of examples' logits since they reached cached nodes, and the nodes reached now.",
    inputs=f"{_HANDLE}, cached_tree_ids: int32, cached_node_ids: int32, {_BUCKETS}",
    outputs="partial_logits: float32, tree_ids: int32, node_ids: int32", attrs=_FEATURES,
    infer=_infer_training,
)  # fmt: skip


# -- explanations


def _paths(ensemble: TreeEnsemble, buckets: Any) -> list[bytes]:
    """Return a serialized DebugOutput for each example."""
    message, count = ensemble.message, buckets.shape[1]
    outputs = [boosted_trees_pb2.DebugOutput() for _ in range(count)]
    past = np.zeros(count, np.float32)
    for number, (tree, weight) in enumerate(zip(message.trees, message.tree_weights)):
        nodes = Nodes(tree, 1)
        values = np.float32(weight) * nodes.values[:, 0]
        reached = np.zeros(count, np.int64)
        if not number:
            for output in outputs:
                output.logits_path.append(float(values[0]))
        pending = np.arange(count) if not nodes.is_leaf[0] else np.zeros(0, np.int64)
        while len(pending):
            features = nodes.features[reached[pending]]
            reached[pending] = nodes.step(reached[pending], buckets, pending)
            for example, feature in zip(pending.tolist(), features.tolist()):
                outputs[example].feature_ids.append(feature)
                outputs[example].logits_path.append(float(values[reached[example]] + past[example]))
            pending = pending[~nodes.is_leaf[reached[pending]]]
        past += np.where((reached > 0) | (number == 0), values[reached], np.float32(0))
    return [output.SerializeToString() for output in outputs]


def _bind_explanation(_: KernelContext, handle: Any, *arrays: Any) -> Run:
    *features, out = arrays

    def run() -> None:
        ensemble = resource_of(handle, TreeEnsemble)
        with ensemble.lock:
            out[...] = _paths(ensemble, np.stack(features))

    return run


def _infer_explanation(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((_check_features(context, 1),))]


handle_op(
    "BoostedTreesExampleDebugOutputs", _bind_explanation,
    "The features by which the trees decide on each example, and its logits after each decision.",
    inputs=f"{_HANDLE}, {_BUCKETS}", outputs="examples_debug_outputs_serialized: string",
    attrs=_FEATURES, infer=_infer_explanation,
)  # fmt: skip
