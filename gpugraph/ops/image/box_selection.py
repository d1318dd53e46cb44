"""Non-maximum suppression, which selects the boxes with the best scores, but drops boxes that
overlap better boxes.

As in C++, each comparison with a score, corner or overlap that is NaN is false.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

Overlaps = Callable[[int, list[int]], Any]


def choose_boxes(
    scores: Any,
    max_boxes: int,
    min_score: float,
    threshold: float,
    overlaps: Overlaps,
    sigma: float = 0,
) -> list[tuple[int, float]]:
    """Return (index of a box, its score when it was chosen) for at most `max_boxes` boxes, best
    first.

    Args:
      min_score: a box is never chosen if its score is not above this number.
      threshold: a box is dropped if it overlaps a chosen box by more than this number.
      sigma: if it is above 0, overlaps reduce the score of a box instead (soft suppression).
      overlaps: a function that receives a box and a list of other boxes, and returns the overlaps
        of the box with each of them.
    """
    waiting = [(-float(score), box, 0) for box, score in enumerate(scores) if score > min_score]
    heapq.heapify(waiting)
    chosen: list[tuple[int, float]] = []
    while waiting and len(chosen) < max_boxes:
        minus, box, since = heapq.heappop(waiting)
        shared = overlaps(box, [other for other, _ in chosen[since:]])
        if sigma:
            weights = np.exp(-0.5 / sigma * shared * shared)
        elif (shared > threshold).any():
            continue
        else:
            weights = shared <= threshold  # a NaN overlap makes the score 0
        score = -minus * float(np.prod(weights))
        if score == -minus:
            chosen.append((box, score))
        elif score > min_score:
            heapq.heappush(waiting, (-score, box, len(chosen)))
    return chosen


def _corners(boxes: Any) -> Any:
    """Return y1, x1, y2, x2 of boxes [n, 4] with y1 <= y2 and x1 <= x2. A box consists of two
    opposite corners in any order.
    """
    low, high = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([_minimum(low, high), _maximum(low, high)], 1)


def _minimum(one: Any, other: Any) -> Any:
    """Return the elementwise minimum. Where either element is NaN, return the element of `one`."""
    return np.where(other < one, other, one)


def _maximum(one: Any, other: Any) -> Any:
    """Return the elementwise maximum. Where either element is NaN, return the element of `one`."""
    return np.where(one < other, other, one)


def _overlap(box: Any, others: Any) -> Any:
    """Return the intersection over union of a box with each of `others`. It is 0 if a box has no
    area.
    """
    low, high = _maximum(box[:2], others[:, :2]), _minimum(box[2:], others[:, 2:])
    shared = np.maximum(high - low, 0).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    area = (box[2:] - box[:2]).prod()
    whole = area + areas - shared
    return np.where((areas <= 0) | (area <= 0), 0, shared / np.where(whole == 0, 1, whole))


def overlaps_of_boxes(boxes: Any) -> Overlaps:
    """Return a function that computes the overlaps (`_overlap`) of one of these boxes [n, 4] with
    other boxes.

    A box consists of two opposite corners.
    """
    corners = _corners(boxes)
    return lambda box, others: _overlap(corners[box], corners[others])


def overlaps_without_nan(boxes: Any) -> Overlaps:
    """Return `overlaps_of_boxes(boxes)`, with each overlap of NaN replaced by 0, so that it does
    not change the score.
    """
    overlaps = overlaps_of_boxes(boxes)
    return lambda box, others: np.nan_to_num(overlaps(box, others))
