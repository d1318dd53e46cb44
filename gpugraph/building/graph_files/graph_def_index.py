"""The checked nodes of a GraphDef by name, and their topological order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*(?:>[A-Za-z0-9.][A-Za-z0-9_.\-/]*)*")
_BACK = ("NextIteration", "RefNextIteration")
_MERGES = ("Merge", "RefMerge")

Source = tuple[str, int]
"""The name of a node, and the index of its output; -1 for a control input."""


def source_of(text: str) -> Source | None:
    """Return the source that an input of a node names (`"a"`, `"a:1"` or `"^a"`). If the input is
    malformed, return None.
    """
    if text.startswith("^"):
        return text[1:], -1
    name, colon, index = text.rpartition(":")
    if not colon:
        return text, 0
    return (name, int(index)) if index.isascii() and index.isdigit() and len(index) < 10 else None


class GraphDefIndex:
    """The nodes of a GraphDef, with the sources of the inputs of each node.

    Raises ValueError if a name is malformed or duplicate, or if an input names no node.

    Args:
      mapped: sources that tensors and operations of the graph replace (`input_map`). These sources
        need not exist in the GraphDef.
    """

    def __init__(self, nodes: Any, mapped: Mapping[Source, Any]) -> None:
        self.nodes = list(nodes)
        self.names = [node.name for node in self.nodes]
        self.by_name = {name: index for index, name in enumerate(self.names)}
        if len(self.by_name) < len(self.nodes):
            raise ValueError(f"Node '{self._first_twin()}' is not unique")
        self.sources = [self._sources(node, mapped) for node in self.nodes]

    def _first_twin(self) -> str:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                return name
            seen.add(name)
        raise AssertionError

    def _sources(self, node: Any, mapped: Mapping[Source, Any]) -> list[Source]:
        if _NAME.fullmatch(node.name) is None:
            raise ValueError(f"Node '{node.name}': Node name contains invalid characters")
        if not node.op:
            raise ValueError(f"Node '{node.name}' does not specify an operation")
        sources: list[Source] = []
        in_controls = False
        for text in node.input:
            source = source_of(text)
            if source is None or (source[0] not in self.by_name and source not in mapped):
                raise ValueError(f"Node '{node.name}': Unknown input node '{text}'")
            if source[1] < 0:
                in_controls = True
            elif in_controls:
                raise ValueError(
                    f"Node '{node.name}': Control dependencies must come after regular dependencies"
                )
            sources.append(source)
        return sources

    def is_back_edge(self, user: int, source: Source) -> bool:
        """Return whether an input closes a loop. The input of the Merge `user` then comes from a
        NextIteration.
        """
        index = self.by_name.get(source[0])
        return (
            index is not None
            and source[1] >= 0
            and self.nodes[user].op in _MERGES
            and self.nodes[index].op in _BACK
        )

    def in_order(self, mapped: Mapping[Source, Any]) -> Iterator[int]:
        """Yield the indices of the nodes in topological order. If several nodes are ready, the
        lowest index comes first.

        Raises ValueError if a cycle is not a loop.
        """
        waiting, users = self._dependencies(mapped)
        ready = [index for index, count in enumerate(waiting) if count == 0]
        num_done = 0
        while ready:
            index = heapq.heappop(ready)
            num_done += 1
            yield index
            for user in users[index]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    heapq.heappush(ready, user)
        if num_done < len(self.nodes):
            raise ValueError(
                f"{len(self.nodes) - num_done} nodes in a cycle: {self._waiting_names(waiting)}"
            )

    def _dependencies(self, mapped: Mapping[Source, Any]) -> tuple[list[int], list[list[int]]]:
        """Return, for each node, the number of its pending inputs and the list of its consumers.

        A Merge does not wait for the NextIteration that closes its loop.
        """
        waiting = [0] * len(self.nodes)
        users: list[list[int]] = [[] for _ in self.nodes]
        for user, sources in enumerate(self.sources):
            for source in sources:
                if source in mapped or (
                    self.nodes[user].op in _MERGES and self.is_back_edge(user, source)
                ):
                    continue
                waiting[user] += 1
                users[self.by_name[source[0]]].append(user)
        return waiting, users

    def _waiting_names(self, waiting: list[int]) -> str:
        names = [name for name, count in zip(self.names, waiting) if count > 0]
        return ", ".join(f"'{name}'" for name in names[:5]) + (", ..." if len(names) > 5 else "")
