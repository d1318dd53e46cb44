"""The layout of a graph whose nodes have ranks: a row of boxes for each rank, and paths between
boxes.

The boxes of a row are sorted by the mean position of their neighbors in adjacent rows (Sugiyama's
method). In this order, each box is placed as near to the mean center of its neighbors as the widths
allow. This placement is a least-squares fit with a minimum distance between boxes, computed by
pooling adjacent violators. An edge over several ranks passes through a narrow gap in each row in
between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_GAP = 24.0
"""The distance between two boxes of a row, in pixels."""

_ROW_GAP = 36.0
"""The distance between two rows, where the edges bend, in pixels."""

_BEND_WIDTH = 4.0
"""The width of the gap for an edge that passes a row, in pixels."""

_SWEEPS = 6


@dataclass(eq=False)
class Box:
    """A box. It has a size and, after the layout, the position of its center, in pixels.

    Args:
      rank: the number of its row, counted from the top.
      is_bend: whether the box is only a gap through which an edge passes the row.
    """

    width: float
    height: float
    rank: int
    is_bend: bool = False
    x: float = 0.0
    y: float = 0.0
    above: list[Box] = field(default_factory=list, repr=False)
    below: list[Box] = field(default_factory=list, repr=False)


@dataclass
class PictureLayout:
    """A finished layout: the picture's size, and for each edge the boxes on its path, the top one
    first.
    """

    width: float
    height: float
    routes: list[list[Box]]


def lay_out(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> PictureLayout:
    """Set the position of every box, and return the layout.

    Args:
      edges: pairs of indices of boxes. The first box of a pair must have the smaller rank.
    """
    rows: defaultdict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        rows[box.rank].append(box)
    routes = [_route(boxes[first], boxes[second], rows) for first, second in edges]
    ordered = [rows[rank] for rank in sorted(rows)]
    for sweep in range(_SWEEPS):
        _sort_rows(ordered, downwards=sweep % 2 == 0)
    for row in ordered:
        _place(row, [0.0] * len(row))
    for sweep in range(_SWEEPS):
        for row in ordered if sweep % 2 == 0 else reversed(ordered):
            _place(row, [_centre(box) for box in row])
    return _finish(ordered, routes)


def _route(first: Box, second: Box, rows: defaultdict[int, list[Box]]) -> list[Box]:
    """Create the path of an edge: its two boxes, and a bend in each row between them.

    Record each pair of adjacent boxes in their lists `below` and `above`.
    """
    route = [first]
    for rank in range(first.rank + 1, second.rank):
        bend = Box(_BEND_WIDTH, 0.0, rank, is_bend=True)
        rows[rank].append(bend)
        route.append(bend)
    route.append(second)
    for upper, lower in pairwise(route):
        upper.below.append(lower)
        lower.above.append(upper)
    return route


def _sort_rows(rows: Sequence[list[Box]], downwards: bool) -> None:
    """Sort each row by the mean position of the boxes' neighbors in the previous row.

    Args:
      downwards: whether to begin with the top row, so that the previous row is the row above.
        Otherwise begin with the bottom row.
    """
    for row in rows if downwards else reversed(rows):
        for place, box in enumerate(row):
            box.x = place
    for row in rows if downwards else reversed(rows):
        means = {}
        for box in row:
            neighbours = box.above if downwards else box.below
            places = [neighbour.x for neighbour in neighbours] or [box.x]
            means[box] = sum(places) / len(places)
        row.sort(key=means.__getitem__)
        for place, box in enumerate(row):
            box.x = place


def _centre(box: Box) -> float:
    """Return the preferred center of a box: the mean of its neighbors' centers."""
    neighbours = box.above + box.below
    if not neighbours:
        return box.x
    return sum(neighbour.x for neighbour in neighbours) / len(neighbours)


def _place(row: Sequence[Box], wanted: Sequence[float]) -> None:
    """Set the centers of a row's boxes, in order, as near to `wanted` as the widths of the boxes
    allow.
    """
    starts = [0.0]  # centres of the boxes if they are placed at minimum distance
    for left, right in pairwise(row):
        starts.append(starts[-1] + (left.width + right.width) / 2 + _GAP)
    blocks: list[tuple[float, int]] = []  # (sum of wanted offsets, number of boxes)
    for start, centre in zip(starts, wanted):
        block = (centre - start, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] >= block[0] / block[1]:
            total, count = blocks.pop()
            block = (block[0] + total, block[1] + count)
        blocks.append(block)
    offsets = [total / count for total, count in blocks for _ in range(count)]
    for box, start, offset in zip(row, starts, offsets):
        box.x = start + offset


def _finish(rows: Sequence[Sequence[Box]], routes: list[list[Box]]) -> PictureLayout:
    """Move all boxes so that the picture's corner is (0, 0), set the rows' heights, and return the
    layout.
    """
    left = min((box.x - box.width / 2 for row in rows for box in row), default=0.0)
    right = max((box.x + box.width / 2 for row in rows for box in row), default=0.0)
    top = 0.0
    for row in rows:
        height = max(box.height for box in row)
        for box in row:
            box.x -= left
            box.y = top + height / 2
            if box.is_bend:
                box.height = height
        top += height + _ROW_GAP
    return PictureLayout(right - left, max(0.0, top - _ROW_GAP), routes)
