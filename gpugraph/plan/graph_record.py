"""The compiled graph of a plan as plain records: for statistics and for pages about a step.

A plan does not hold them: a run that is to be looked into compiles them, once a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.graph.op_def import NodeDef

LASTING = frozenset({"variable", "constant"})
"""Kinds of storage that are there before a run and after it."""


class StorageRecord(NamedTuple):
    """Memory that tensors share: live in the places of `span`, both included."""

    kind: str
    device: str
    owner: str
    offset: int
    num_bytes: int
    span: tuple[int, int] = (0, 0)


class TensorRecord(NamedTuple):
    """One output: dtype, shape (None: known in a run) and the place of its storage, or -1."""

    dtype: DType
    shape: tuple[int, ...] | None
    storage: int


class NodeRecord(NamedTuple):
    """One node of a device's part of the graph.

    `members` are the operations that a fused node computes.
    `received` is, of a `_Recv`, the tensor and the device from which it comes.
    """

    node_def: NodeDef
    depth: int
    outputs: tuple[TensorRecord, ...]
    members: tuple[str, ...]
    received: tuple[str, str] | None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node_def.name

    @property
    def device(self) -> str:
        """The full name of its device."""
        return self.node_def.device

    @property
    def inputs(self) -> list[str]:
        """Its inputs as in a NodeDef."""
        return self.node_def.input


class GraphRecord(NamedTuple):
    """The nodes of all devices in the order of the plan, and their memory."""

    nodes: Sequence[NodeRecord]
    storages: Sequence[StorageRecord]

    def by_name(self) -> Mapping[str, tuple[int, NodeRecord]]:
        """The nodes and their places, by name."""
        return {node.name: (place, node) for place, node in enumerate(self.nodes)}

    def live_bytes(self, device: str) -> list[int]:
        """The known bytes of a device that are live at each place of the order.

        What the plan's arena holds then, and variables and constants, which are there throughout.
        """
        changes = [0] * (len(self.nodes) + 1)
        for storage in self.storages:
            if storage.device == device:
                first, last = self._life(storage)
                if first <= last:
                    changes[first] += storage.num_bytes
                    changes[last + 1] -= storage.num_bytes
        live, total = [], 0
        for change in changes[:-1]:
            total += change
            live.append(total)
        return live

    def live(self, device: str, place: int) -> list[StorageRecord]:
        """What is live on a device at a place of the order, and has bytes."""
        return [
            storage
            for storage in self.storages
            if storage.device == device and storage.num_bytes > 0 and self._holds(storage, place)
        ]

    def _holds(self, storage: StorageRecord, place: int) -> bool:
        first, last = self._life(storage)
        return first <= place <= last

    def _life(self, storage: StorageRecord) -> tuple[int, int]:
        """The first and the last place where a storage is live."""
        end = len(self.nodes) - 1
        if storage.kind in LASTING:
            return 0, end
        return max(storage.span[0], 0), min(storage.span[1], end)
