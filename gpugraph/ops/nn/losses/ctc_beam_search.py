"""The search for the most likely sequences of labels in the tree of all sequences.

The algorithm is the prefix search of Graves, 2006. A node of the tree is a sequence, and its
parent is the sequence without the last label. The beam holds the most likely nodes. A path assigns
a label or the blank to each time step. Paths that end in a blank and paths that end in a label have
separate probabilities, because a repeated label is a new label only after a blank.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument

_NEVER = -math.inf


class Path(NamedTuple):
    """A sequence of labels and the logarithm of its probability."""

    labels: list[int]
    log_probability: float


def _either(one: float, other: float) -> float:
    """Return log(exp(one) + exp(other)), without overflow."""
    if one < other:
        one, other = other, one
    return one if other == _NEVER else one + math.log1p(math.exp(other - one))


class _Node:
    """A sequence of labels, with its log probabilities at the current time step and at the previous
    one.

    `blank`, `labelled` and `total` are the log probabilities of the paths that end in a blank, of
    the paths that end in a label, and of all paths. Attributes with the prefix `old_` have the
    values of the previous time step.
    """

    __slots__ = (
        "blank", "children", "label", "labelled", "old_blank", "old_total", "parent", "total",
    )  # fmt: skip

    def __init__(self, parent: _Node | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Node] = {}
        self.old_blank = self.old_total = _NEVER
        self.drop()

    def drop(self) -> None:
        """Mark the node as outside the beam, by setting its log probabilities of this step to
        -inf.
        """
        self.blank = self.labelled = self.total = _NEVER

    def before(self, label: int) -> float:
        """Return the log probability, in the previous step, of the paths of this sequence after
        which `label` is a new label.
        """
        return self.old_blank if label == self.label else self.old_total

    def sequence(self, merge: bool) -> list[int]:
        """Return the labels from first to last. If `merge` is true, equal adjacent labels become
        one.
        """
        labels: list[int] = []
        node, last = self, -1
        while node.parent is not None:
            if not merge or node.label != last:
                labels.append(node.label)
            last, node = node.label, node.parent
        return labels[::-1]


def _likelihood(entry: tuple[float, int, _Node]) -> tuple[float, int]:
    return entry[:2]


class _Beam:
    """The most likely nodes, at most `width`, as a heap with the least likely node first."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.heap: list[tuple[float, int, _Node]] = []
        self.entries = 0

    def accepts(self, total: float) -> bool:
        """Return whether a node with this log probability would enter the beam."""
        if total == _NEVER:
            return False
        return len(self.heap) < self.width or total > self.heap[0][0]

    @property
    def threshold(self) -> float:
        """The log probability that a node must exceed to enter the beam."""
        return self.heap[0][0] if len(self.heap) == self.width else _NEVER

    def add(self, node: _Node) -> None:
        """Add a node. If the beam then has more than `width` nodes, drop the least likely node."""
        self.entries += 1
        entry = (node.total, -self.entries, node)  # among ties, the node that was added first stays
        if len(self.heap) < self.width:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heapreplace(self.heap, entry)[2].drop()

    def empty(self) -> list[_Node]:
        """Remove and return all nodes, the most likely first."""
        nodes = [entry[2] for entry in sorted(self.heap, key=_likelihood, reverse=True)]
        self.heap = []
        return nodes


def _continue(node: _Node, known: list[float], blank: int) -> None:
    """Update the log probabilities of a sequence for a step in which no label is added.

    Args:
      known: the log probability of each class at this step.
    """
    parent = node.parent
    if parent is not None:
        if parent.total != _NEVER:
            node.labelled = _either(node.labelled, parent.before(node.label))
        node.labelled += known[node.label]
    node.blank = node.old_total + known[blank]
    node.total = _either(node.blank, node.labelled)


def _grow(node: _Node, known: Any, beam: _Beam) -> None:
    """Add to the beam the sequences that extend the sequence of `node` by one label, in ascending
    order of the added label.

    Args:
      known: the log probability of each label at this step.
    """
    likely = known + node.old_total
    if node.label >= 0:
        likely[node.label] = known[node.label] + node.old_blank
    promising = np.flatnonzero(likely > beam.threshold).tolist()
    for label in sorted({*promising, *node.children}):
        child, total = node.children.get(label), float(likely[label])
        if child is not None and child.total != _NEVER:
            continue
        if beam.accepts(total):
            if child is None:
                child = node.children[label] = _Node(node, label)
            child.labelled = child.total = total
            beam.add(child)
        elif (
            child is not None
        ):  # the child left the beam in this step, so it has no past to continue
            child.old_blank = child.old_total = _NEVER


def search(logits: Any, width: int, paths: int, merge: bool) -> list[Path]:
    """Return the `paths` most likely label sequences for logits [time, classes].

    Raises InvalidArgumentError if the search has found fewer than `paths` sequences.

    Args:
      width: the number of sequences that are kept at each step.
      merge: whether to merge equal adjacent labels in the results.
    """
    blank = logits.shape[1] - 1
    beam, root = _Beam(width), _Node(None, -1)
    root.blank = root.total = 0.0
    beam.add(root)
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True, initial=_NEVER)
    wide -= np.log(np.exp(wide).sum(axis=1, keepdims=True))
    for known in wide:
        nodes, listed = beam.empty(), known.tolist()
        for node in nodes:
            node.old_blank, node.old_total = node.blank, node.total
        for node in nodes:
            _continue(node, listed, blank)
            beam.add(node)
        for node in nodes:
            if beam.accepts(node.old_total):
                _grow(node, known[:blank], beam)
    nodes = beam.empty()
    if len(nodes) < paths:
        raise invalid_argument("Less leaves in the beam search than requested.")
    return [Path(node.sequence(merge), node.total) for node in nodes[:paths]]
