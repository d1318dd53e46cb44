"""Pruning of a finished tree: splits whose gain is not positive become leaves again.

The remaining nodes get new numbers. The tree's metadata records, for each node before pruning, its
new number and the change of its logits. So predictions that were stored with old numbers remain
valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.ops.boosted_trees.tree_ensemble import leaf_value, split_of

Changes = dict[int, tuple[int, Any]]
"""For each removed node, the node that replaces it, and the change of the logits."""


def prune_tree(tree: Any, metadata: Any) -> None:
    """Prune a tree in place, and record the changes in its metadata.

    Args:
      tree: a Tree message.
      metadata: the TreeMetadata message of the tree.
    """
    changes: Changes = {}
    size = len(leaf_value(_first_leaf(tree)))
    _collapse(tree.nodes, 0, changes)
    if not changes:
        return
    kept = [number for number in range(len(tree.nodes)) if number not in changes]
    new_ids = {old: new for new, old in enumerate(kept)}
    for number in range(len(tree.nodes)):
        node, change = _replacement(number, changes, size)
        metadata.post_pruned_nodes_meta.add(new_node_id=new_ids[node], logit_change=change)
    nodes = [type(tree.nodes[0]).FromString(tree.nodes[n].SerializeToString()) for n in kept]
    for node in nodes:
        if node.WhichOneof("node") != "leaf":
            split = split_of(node)
            split.left_id, split.right_id = new_ids[split.left_id], new_ids[split.right_id]
    del tree.nodes[:]
    tree.nodes.extend(nodes)


def _first_leaf(tree: Any) -> Any:
    return next(node.leaf for node in tree.nodes if node.WhichOneof("node") == "leaf")


def _collapse(nodes: Any, number: int, changes: Changes) -> None:
    """Replace splits without gain below a node by leaves, starting with the deepest splits."""
    node = nodes[number]
    if node.WhichOneof("node") == "leaf":
        return
    split = split_of(node)
    children = (split.left_id, split.right_id)
    for child in children:
        _collapse(nodes, child, changes)
    if node.metadata.gain > 0 or any(nodes[n].WhichOneof("node") != "leaf" for n in children):
        return
    node.leaf.CopyFrom(node.metadata.original_leaf)
    before = leaf_value(node.leaf)
    for child in children:
        changes[child] = number, before - leaf_value(nodes[child].leaf)
    node.ClearField("metadata")


def _replacement(number: int, changes: Changes, size: int) -> tuple[int, list[float]]:
    """Return the remaining node that replaces a node, and the sum of the changes of its logits."""
    total = np.zeros(size, np.float32)
    while number in changes:
        number, change = changes[number]
        total = total + change
    return number, total.tolist()
