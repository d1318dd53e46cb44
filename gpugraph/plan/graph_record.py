"""The compiled graph of a plan as plain records, for statistics and report pages.

A plan does not hold these records. When a run of the plan is inspected for the first time, the
graph is compiled again to create them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.graph.op_def import NodeDef

LASTING = frozenset({"variable", "constant"})
"""Kinds of storage that exist before and after a run."""


class StorageRecord(NamedTuple):
    """Memory that one or more tensors use. It is live from position `span[0]` to position `span[1]`
    of the order.
    """

    kind: str
    device: str
    owner: str
    offset: int
    num_bytes: int
    span: tuple[int, int] = (0, 0)


class TensorRecord(NamedTuple):
    """One output of a node. Its shape is None if it is known only in a run. If the output has no
    storage, the index of the storage is -1.
    """

    dtype: DType
    shape: tuple[int, ...] | None
    storage: int


class NodeRecord(NamedTuple):
    """One node of a device's part of the graph.

    Args:
      members: the names of the operations that a fused node computes.
      received: for a `_Recv`, the name of the received tensor and the device that sends it.
      seconds: the estimated time of the node (`compile/analysis/step_time_model.py`).
    """

    node_def: NodeDef
    depth: int
    outputs: tuple[TensorRecord, ...]
    members: tuple[str, ...]
    received: tuple[str, str] | None
    seconds: float = 0.0

    def moved(self, depth: int, storage: int) -> NodeRecord:
        """Return the same node in a graph where depths and indices of storages begin at `depth` and
        `storage`.
        """
        outputs = tuple(
            each if each.storage < 0 else each._replace(storage=each.storage + storage)
            for each in self.outputs
        )
        return self._replace(depth=self.depth + depth, outputs=outputs)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node_def.name

    @property
    def device(self) -> str:
        """The full name of the node's device."""
        return self.node_def.device

    @property
    def inputs(self) -> list[str]:
        """The node's inputs in the notation of a NodeDef, such as `x:1` or `^x`."""
        return self.node_def.input


class GraphRecord(NamedTuple):
    """The nodes of all devices in the order of the plan, and their memory."""

    nodes: Sequence[NodeRecord]
    storages: Sequence[StorageRecord]

    def by_name(self) -> Mapping[str, tuple[int, NodeRecord]]:
        """Return a dict from the name of each node to its position and its record."""
        return {node.name: (place, node) for place, node in enumerate(self.nodes)}

    def after(self, first: GraphRecord) -> GraphRecord:
        """Return the record of a run that consists of `first` and then of this graph."""
        place, storage = len(first.nodes), len(first.storages)
        depth = 1 + max((node.depth for node in first.nodes), default=-1)
        nodes = [node.moved(depth, storage) for node in self.nodes]
        spans = [(begin + place, end + place) for begin, end in (s.span for s in self.storages)]
        storages = [each._replace(span=span) for each, span in zip(self.storages, spans)]
        return GraphRecord([*first.nodes, *nodes], [*first.storages, *storages])

    def live_bytes(self, device: str) -> list[int]:
        """Return the number of bytes that are live on a device, for each position of the order.

        The bytes include the live part of the plan's arena, and all variables and constants. They
        do not include tensors whose size is known only in a run.
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
        """Return the non-empty storages that are live on a device at a position of the order."""
        return [
            storage
            for storage in self.storages
            if storage.device == device and storage.num_bytes > 0 and self._holds(storage, place)
        ]

    def _holds(self, storage: StorageRecord, place: int) -> bool:
        first, last = self._life(storage)
        return first <= place <= last

    def _life(self, storage: StorageRecord) -> tuple[int, int]:
        """Return the first and the last position at which a storage is live."""
        end = len(self.nodes) - 1
        if storage.kind in LASTING:
            return 0, end
        return max(storage.span[0], 0), min(storage.span[1], end)
