"""The ensemble of decision trees to which a handle refers: its message, its nodes, and its
growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.formats import boosted_trees_pb2, messages_pb2
from gpugraph.ops.boosted_trees.created_resources import Resource


class Growth(NamedTuple):
    """A split of a leaf: the condition that divides its examples, the gain, and the changes of the
    logits.
    """

    feature_id: int
    dimension: int
    threshold: int
    gain: float
    left: Any
    right: Any
    kind: bytes = b"INEQUALITY_DEFAULT_LEFT"


class TreeEnsemble(Resource):
    """A weighted sum of trees.

    The last tree grows by one layer at a time. The nodes of a layer have consecutive numbers.

    Attributes:
      stamp: a number that changes with the ensemble.
      message: the TreeEnsemble message.
      lock: a lock that readers and writers hold.
    """

    kind_name = "BoostedTreesEnsembleResource"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.stamp, self.lock = -1, new_rlock()

    def create(self, stamp: int, serialized: bytes) -> None:
        """Create the ensemble from a serialized message, unless it is created already."""
        with self.lock:
            if not self.is_initialized:
                self.restore(stamp, serialized)
                self.is_initialized = True

    def restore(self, stamp: int, serialized: bytes) -> None:
        """Replace the ensemble. Raises InvalidArgumentError if the message is malformed."""
        try:
            message = messages_pb2.parse_bytes(boosted_trees_pb2.TreeEnsemble, serialized)
        except ValueError as error:
            raise invalid_argument(f"Unable to parse tree ensemble proto: {error}") from error
        with self.lock:
            self.message, self.stamp = message, stamp

    def serialize(self) -> bytes:
        """Return the serialized message."""
        with self.lock:
            result: bytes = self.message.SerializeToString(deterministic=True)
        return result

    @property
    def num_trees(self) -> int:
        """The number of trees, including an empty last tree."""
        return len(self.message.trees)

    def states(self) -> tuple[int, int, int, tuple[int, int]]:
        """Return the number of trees, of finished trees and of attempts to grow a layer, and the
        range of the nodes of the last layer.
        """
        growing, metadata = self.message.growing_metadata, self.message.tree_metadata
        finished = sum(tree.is_finalized for tree in metadata)
        nodes = (growing.last_layer_node_start, growing.last_layer_node_end)
        return self.num_trees, finished, growing.num_layers_attempted, self._known(nodes)

    def _known(self, nodes: tuple[int, int]) -> tuple[int, int]:
        """Return the range of the nodes of the last layer. If no layer is recorded, it contains
        only the root.
        """
        return nodes if self.message.HasField("growing_metadata") and any(nodes) else (0, 1)

    def value(self, tree: int, node: int) -> Any:
        """Return the logits of a leaf as a vector. For a split node, return the logits that it had
        as a leaf.
        """
        return leaf_value(_leaf_of(self.message.trees[tree].nodes[node]))

    def add_tree(self, weight: float, logits: Any) -> int:
        """Add a tree of a single leaf, and return its number."""
        message = self.message
        set_leaf(message.trees.add().nodes.add().leaf, logits)
        message.tree_weights.append(weight)
        message.tree_metadata.add()
        return self.num_trees - 1

    def set_last_layer(self, first: int, last: int) -> None:
        """Set the range of the nodes of the last layer. These nodes are split next."""
        growing = self.message.growing_metadata
        growing.last_layer_node_start, growing.last_layer_node_end = first, last

    def count_attempt(self) -> None:
        """Count an attempt to grow a layer. If it is the first layer of a tree, also count the
        tree.
        """
        growing, metadata = self.message.growing_metadata, self.message.tree_metadata
        growing.num_layers_attempted += 1
        if not metadata or metadata[-1].is_finalized or not metadata[-1].num_layers_grown:
            growing.num_trees_attempted += 1

    def split(self, tree: int, node_id: int, growth: Growth) -> None:
        """Replace a leaf by a split with two new leaves."""
        nodes = self.message.trees[tree].nodes
        if not 0 <= node_id < len(nodes) or nodes[node_id].WhichOneof("node") != "leaf":
            raise invalid_argument(f"node {node_id} of tree {tree} is not a leaf")
        before = leaf_value(nodes[node_id].leaf)
        left_id = len(nodes)
        for change in (growth.left, growth.right):
            set_leaf(nodes.add().leaf, before + change)
        node = nodes[node_id]
        node.metadata.gain = growth.gain
        if before.any():
            node.metadata.original_leaf.CopyFrom(node.leaf)
        set_split(node, growth)
        split = split_of(node)
        split.left_id, split.right_id = left_id, left_id + 1


def set_split(node: Any, growth: Growth) -> None:
    """Replace the leaf of a node by the condition of a split, without children."""
    if growth.kind.startswith(b"EQUALITY"):
        split = node.categorical_split
        split.value = growth.threshold
    else:
        split = node.bucketized_split
        split.threshold = growth.threshold
        split.default_direction = int(growth.kind.endswith(b"RIGHT"))
    split.feature_id, split.dimension_id = growth.feature_id, growth.dimension
    split.SetInParent()


def split_of(node: Any) -> Any:
    """Return the message with the condition of a split node."""
    return getattr(node, node.WhichOneof("node"))


def _leaf_of(node: Any) -> Any:
    return node.leaf if node.WhichOneof("node") == "leaf" else node.metadata.original_leaf


def leaf_value(leaf: Any) -> Any:
    """Return the logits of a leaf as a vector of float32."""
    values = leaf.vector.value if leaf.HasField("vector") else [leaf.scalar]
    return np.array(values, np.float32)


def set_leaf(leaf: Any, logits: Sequence[Any]) -> None:
    """Set the logits of a leaf, as a scalar if there is a single logit, otherwise as a vector."""
    leaf.SetInParent()
    if len(logits) == 1:
        leaf.scalar = float(logits[0])
    else:
        del leaf.vector.value[:]
        leaf.vector.value.extend(map(float, logits))
