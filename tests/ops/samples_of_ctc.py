"""Samples of connectionist temporal classification, with references that go through all paths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32

__all__ = ["SPOKEN"]

SPOKEN = {"CTCLoss"}
"""Ops whose first output alone has a gradient."""


def probabilities(logits: Any) -> Any:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum(axis=-1, keepdims=True)


def labels_of_path(path: Any, blank: int) -> tuple[int, ...]:
    """Return the labels of a path: equal classes in a row are one, blanks are none."""
    return tuple(key for key, _ in itertools.groupby(path) if key != blank)


def paths(chances: Any, labels: tuple[int, ...]) -> tuple[float, Any]:
    """Return the probability of all paths with these labels, and how often each class is on
    them.
    """
    steps, classes = chances.shape
    total, shares = 0.0, np.zeros(chances.shape)
    for path in itertools.product(range(classes), repeat=steps):
        if labels_of_path(path, classes - 1) == labels:
            chance = float(np.prod(chances[np.arange(steps), path]))
            total += chance
            shares[np.arange(steps), path] += chance
    return total, shares


def ctc(logits: Any, indices: Any, values: Any, times: Any, **_: Any) -> Any:
    loss = np.zeros(logits.shape[1], logits.dtype)
    gradient = np.zeros(logits.shape, logits.dtype)
    for number, steps in enumerate(times):
        chances = probabilities(logits[:steps, number])
        total, shares = paths(chances, tuple(values[indices[:, 0] == number]))
        loss[number] = -np.log(total)
        gradient[:steps, number] = chances - shares / total
    return loss, gradient


_INDICES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
_NONE = np.zeros((0, 2), np.int64)
add(
    "CTCLoss",
    lambda v: case(v(4, 2, 3), _INDICES, i32(0, 1, 1, 1), i32(4, 3), smooth=False),
    lambda v: case(v(3, 2, 3), _INDICES[[0, 2]], i32(1, 0), i32(1, 3), smooth=False),
    lambda v: case(v(3, 0, 3), _NONE, i32(), i32(), smooth=False),
    reference=ctc,
    types=[dtypes.float64, dtypes.float32],
    tolerance=8,
)


def _sparse(rows: list[Any]) -> Any:
    indices = [(number, place) for number, row in enumerate(rows) for place in range(len(row))]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array([label for row in rows for label in row], np.int64),
        np.array([len(rows), max(map(len, rows), default=0)]),
    )


def greedy(logits: Any, times: Any, merge_repeated: bool = False) -> Any:
    rows, totals = [], []
    for number, steps in enumerate(times):
        best = logits[:steps, number].argmax(axis=1)
        chosen = labels_of_path(best, logits.shape[2] - 1) if merge_repeated else best
        rows.append([label for label in chosen if label != logits.shape[2] - 1])
        totals.append(-logits[:steps, number].max(axis=1).sum())
    return *_sparse(rows), np.array(totals, logits.dtype).reshape(-1, 1)


add(
    "CTCGreedyDecoder",
    lambda v: case(v(6, 2, 3), i32(6, 4)),
    lambda v: case(v(6, 2, 3), i32(6, 4), merge_repeated=True),
    lambda v: case(v(6, 0, 3), i32()),
    reference=greedy,
    types=[dtypes.float64, dtypes.float32],
)


def likeliest(
    logits: Any, times: Any, beam_width: int, top_paths: int, merge_repeated: bool = True
) -> Any:
    """Of all sequences, where the beam is wide enough for all."""
    sequences = []
    for number, steps in enumerate(times):
        chances = probabilities(logits[:steps, number])
        classes = range(logits.shape[2])
        all_labels = {
            labels_of_path(path, classes[-1]) for path in itertools.product(classes, repeat=steps)
        }
        assert len(all_labels) <= beam_width
        ordered = sorted((-paths(chances, labels)[0], labels) for labels in all_labels)[:top_paths]
        sequences.append(ordered)
    sparse = []
    for path in range(top_paths):
        rows = [best[path][1] for best in sequences]
        merged = [[key for key, _ in itertools.groupby(row)] for row in rows]
        sparse.append(_sparse(merged if merge_repeated else rows))
    logs = [[np.log(-chance) for chance, _ in best] for best in sequences]
    return (
        *(part for kind in zip(*sparse, strict=True) for part in kind),
        np.array(logs, logits.dtype).reshape(-1, top_paths),
    )


add(
    "CTCBeamSearchDecoder",
    lambda v: case(v(4, 2, 3), i32(4, 3), beam_width=60, top_paths=2),
    lambda v: case(v(4, 1, 3), i32(4), beam_width=60, top_paths=1, merge_repeated=False),
    lambda v: case(v(4, 0, 3), i32(), beam_width=5, top_paths=1),
    reference=likeliest,
    types=[dtypes.float64, dtypes.float32],
)
