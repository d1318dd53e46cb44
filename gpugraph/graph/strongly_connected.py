"""Strongly connected components of a directed graph: items that need each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


def strongly_connected(items: Iterable[_T], needs: Callable[[_T], Iterable[_T]]) -> list[list[_T]]:
    """Return the strongly connected components (Tarjan's algorithm). A component comes after all
    components that it needs.

    Two items are in one component if each of them needs the other, directly or through other items.
    The walk is iterative, so chains may have any length, and takes time linear in items and needs.

    Args:
      items: the items, which are hashable.
      needs: a function that returns the items on which an item depends.
    """
    numbers: dict[_T, int] = {}
    lowest: dict[_T, int] = {}
    open_items: dict[_T, None] = {}  # visited, and not in a component yet, in order
    components: list[list[_T]] = []
    path: list[tuple[_T, Iterator[_T]]] = []

    def visit(item: _T) -> None:
        numbers[item] = lowest[item] = len(numbers)
        open_items[item] = None
        path.append((item, iter(needs(item))))

    for root in items:
        if root not in numbers:
            visit(root)
        while path:
            item, rest = path[-1]
            for other in rest:
                if other not in numbers:
                    visit(other)
                    break
                if other in open_items:
                    lowest[item] = min(lowest[item], numbers[other])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[item])
                if lowest[item] == numbers[item]:
                    components.append(_closed(open_items, item))
    return components


def _closed(open_items: dict[_T, None], first: _T) -> list[_T]:
    """Remove `first`, and the items after it, and return them in their order."""
    component: list[_T] = []
    while first in open_items:
        component.append(open_items.popitem()[0])
    return component[::-1]
