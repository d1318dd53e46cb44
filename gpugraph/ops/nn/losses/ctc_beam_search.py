"""The most likely sequences of labels, by a search in the tree of all sequences.

A. Graves 2006, prefix search. A node of the tree is a sequence, its parent the same without the
last label; the beam holds the most likely nodes. The probabilities that a path ends in a blank and
that it ends in a label are kept separately, since a repeated label counts only after a blank.
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
    """Return log(exp(one) + exp(other))."""
    if one < other:
        one, other = other, one
    return one if other == _NEVER else one + math.log1p(math.exp(other - one))


class _Node:
    """A sequence of labels, with its log probabilities at this step and the one before."""

    __slots__ = (
        "blank", "children", "label", "labelled", "old_blank", "old_total", "parent", "total",
    )  # fmt: skip

    def __init__(self, parent: _Node | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Node] = {}
        self.old_blank = self.old_total = _NEVER
        self.drop()

    def drop(self) -> None:
        """Remove the node from the beam."""
        self.blank = self.labelled = self.total = _NEVER

    def before(self, label: int) -> float:
        """Return the log probability, one step before, of the paths that `label` can extend."""
        return self.old_blank if label == self.label else self.old_total

    def sequence(self, merge: bool) -> list[int]:
        """Return the labels; with `merge`, equal ones in a row only once."""
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
    """The most likely nodes, at most `width`; the heap has the least likely one first."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.heap: list[tuple[float, int, _Node]] = []
        self.entries = 0

    def accepts(self, total: float) -> bool:
        """Return whether a node of this log probability enters."""
        if total == _NEVER:
            return False
        return len(self.heap) < self.width or total > self.heap[0][0]

    @property
    def threshold(self) -> float:
        """The log probability that a node must exceed to enter."""
        return self.heap[0][0] if len(self.heap) == self.width else _NEVER

    def add(self, node: _Node) -> None:
        """Add a node, and drop the least likely one if there are too many."""
        self.entries += 1
        entry = (node.total, -self.entries, node)  # of equal ones the first stays
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
    """Update a sequence that stays the same for one step."""
    parent = node.parent
    if parent is not None:
        if parent.total != _NEVER:
            node.labelled = _either(node.labelled, parent.before(node.label))
        node.labelled += known[node.label]
    node.blank = node.old_total + known[blank]
    node.total = _either(node.blank, node.labelled)


def _grow(node: _Node, known: Any, beam: _Beam) -> None:
    """Add the sequences that extend the node's by one label, label by label."""
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
        elif child is not None:  # it left the beam in this step, and does not continue
            child.old_blank = child.old_total = _NEVER


def search(logits: Any, width: int, paths: int, merge: bool) -> list[Path]:
    """Return the `paths` most likely label sequences for logits [time, classes].

    merge: whether equal labels in a row are merged. Raises InvalidArgumentError if the search
    has found fewer than `paths` sequences.
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
