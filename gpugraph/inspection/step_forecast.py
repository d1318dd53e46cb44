"""The forecast of a step from its compiled graph alone: memory by device, transfers, and time.

The forecast assumes that each device runs one node at a time, in the order of the plan, as soon as
the node's inputs are available. Devices run in parallel. In parallel to its nodes, each device can
send one tensor and receive one tensor at a time. The times of nodes and transfers are estimates
(`NodeRecord.seconds`). The critical path is a chain of nodes. Each node in it waits for the
previous node, because of its inputs or its device. The chain ends with the node that ends last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from gpugraph.memory import human_readable_bytes
from gpugraph.plan import LASTING, GraphRecord, NodeRecord, TensorRecord

_MAX_NAMES = 6


class DeviceForecast(NamedTuple):
    """The memory and time of a step on one device.

    Args:
      busy: the seconds during which the device computes.
      node: the name of the node at which the memory reaches its peak.
      lasting: the bytes of variables and constants.
      nodes: the number of nodes that the device runs.
      peak: the maximum number of live bytes.
    """

    busy: float
    node: str
    lasting: int
    nodes: int
    peak: int


class TransferForecast(NamedTuple):
    """All transfers of a step from one device to another."""

    source: str
    target: str
    tensors: int
    num_bytes: int


class StepForecast:
    """The forecast of one step.

    Attributes:
      devices: the forecast of each device, by the full name of the device.
      transfers: the transfers between each pair of devices.
      seconds: the duration of the step.
      critical_path: the names of the nodes on the critical path, with their seconds.
      variables: the bytes of each variable, by device and name.
    """

    def __init__(self, record: GraphRecord) -> None:
        names = sorted({node.device for node in record.nodes})
        self.devices = {name: _device_forecast(record, name) for name in names}
        self.transfers = _transfers(record)
        self.seconds, self.critical_path = _schedule(record)
        self.variables = {
            (storage.device, storage.owner): storage.num_bytes
            for storage in record.storages
            if storage.kind == "variable"
        }

    def text(self, limits: dict[str, int] | None = None) -> str:
        """Return the forecast as text.

        Args:
          limits: the available memory of devices in bytes, by full name.
        """
        lines = [f"time: {_milliseconds(self.seconds)}"]
        for name, device in self.devices.items():
            limit = (limits or {}).get(name)
            room = "" if limit is None else f" of {human_readable_bytes(limit)}"
            lines.append(
                f"{short_device(name)}: {human_readable_bytes(device.peak)}{room} at "
                f"'{device.node}', {human_readable_bytes(device.lasting)} of it variables and "
                f"constants; {device.nodes} nodes, busy {_milliseconds(device.busy)}"
            )
            if limit is not None and device.peak > limit:
                missing = human_readable_bytes(device.peak - limit)
                lines.append(f"  does not fit: {missing} are missing")
        total = sum(transfer.num_bytes for transfer in self.transfers)
        count = sum(transfer.tensors for transfer in self.transfers)
        lines.append(f"transfers: {count}, {human_readable_bytes(total)}")
        lines += [
            f"  {short_device(source)} -> {short_device(target)}: {number}, "
            f"{human_readable_bytes(num_bytes)}"
            for source, target, number, num_bytes in self.transfers
        ]
        lines.append(f"critical path: {_path_text(self.critical_path)}")
        return "\n".join(lines)


def _device_forecast(record: GraphRecord, device: str) -> DeviceForecast:
    live = record.live_bytes(device)
    peak = max(live, default=0)
    lasting = sum(
        storage.num_bytes
        for storage in record.storages
        if storage.device == device and storage.kind in LASTING
    )
    nodes = [node for node in record.nodes if node.device == device]
    peak_node = record.nodes[live.index(peak)].name if live else ""
    busy = sum(node.seconds for node in nodes if node.received is None)
    return DeviceForecast(busy, peak_node, lasting, len(nodes), peak)


def _transfers(record: GraphRecord) -> list[TransferForecast]:
    counts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for node in record.nodes:
        if node.received is not None:
            num_bytes = sum(map(_bytes, node.outputs))
            counts[node.received[1], node.device].append(num_bytes)
    return [
        TransferForecast(*pair, len(sizes), sum(sizes)) for pair, sizes in sorted(counts.items())
    ]


def _bytes(tensor: TensorRecord) -> int:
    return 0 if tensor.shape is None else prod(tensor.shape) * tensor.dtype.size


def _schedule(record: GraphRecord) -> tuple[float, list[tuple[str, float]]]:
    """Return the duration of the step, and its critical path."""
    ends: dict[str, float] = {}
    before: dict[str, str | None] = {}
    free: dict[str, tuple[float, str]] = {}
    senders = {
        node.inputs[0]: node.name for node in record.nodes if node.node_def.op == "_Send"
    }  # fmt: skip
    for node in record.nodes:
        waits = [(ends[name], name) for name in _sources(node, senders) if name in ends]
        waits += [free[user] for user in _used(node) if user in free]
        start, cause = max(waits, default=(0.0, ""))
        ends[node.name] = start + node.seconds
        before[node.name] = cause or None
        free |= dict.fromkeys(_used(node), (ends[node.name], node.name))
    if not ends:
        return 0.0, []
    last = max(ends, key=lambda name: ends[name])
    seconds = {node.name: node.seconds for node in record.nodes}
    path: list[tuple[str, float]] = []
    name: str | None = last
    while name is not None:
        path.append((name, seconds[name]))
        name = before[name]
    return ends[last], path[::-1]


def _used(node: NodeRecord) -> Sequence[str]:
    """Return the resources that a node occupies while it runs: a device, or the links of two
    devices.
    """
    if node.received is None:
        return (node.device,)
    return (f"from {node.received[1]}", f"to {node.device}")


def _sources(node: NodeRecord, senders: dict[str, str]) -> Iterator[str]:
    for name in node.inputs:
        yield name.lstrip("^").partition(":")[0]
    if node.received is not None:
        tensor = node.received[0]
        yield senders.get(tensor, tensor.partition(":")[0])


def _path_text(path: Sequence[tuple[str, float]]) -> str:
    working = [(name, seconds) for name, seconds in path if seconds > 0]
    longest = sorted(working, key=lambda item: -item[1])[:_MAX_NAMES]
    names = ", ".join(f"{name} ({_milliseconds(seconds)})" for name, seconds in longest)
    return f"{len(working)} nodes, the longest: {names}" if working else "no node takes time"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def short_device(name: str) -> str:
    """Return a device's type and number. If the device belongs to another process, the device's
    task precedes the type and number.
    """
    task, _, device = name.partition("/device:")
    return device if "localhost" in task or not device else f"{task.lstrip('/')} {device}"
