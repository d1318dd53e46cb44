"""The data of a report page, as JSON lists and numbers of bounded size.

Names come from the user's graph and are not trusted: the page's script inserts them as text only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpugraph.base.version import VERSION
from gpugraph.inspection.chrome_trace import Lanes
from gpugraph.inspection.report.memory_over_time import memory_over_time
from gpugraph.inspection.step_statistics import member_names, producer, step_words
from gpugraph.plan import GraphRecord, NodeRecord, PassReport, Plan, TensorRecord, step_codes
from gpugraph.runtime import StepTrace

MAX_NODES = 20_000
"""The maximum number of rows for nodes, for steps and for operations on a page. For all others,
only their number is shown.
"""

MAX_LINES = 300
MAX_MEMBERS = 100
MAX_CHARACTERS = 1_000

DATA, CONTROL, TRANSFER = range(3)
"""Kinds of edges between nodes; the page's script uses the same numbers."""


class Texts:
    """A table that stores each text once. Rows refer to a text by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: object) -> int:
        """Return the number of a text, and add the text to the table if the text is new. A long
        text is shortened.
        """
        return self._numbers.setdefault(cut(str(text)), len(self._numbers))

    def all(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return list(self._numbers)


def cut(text: str) -> str:
    """Return the text. If it exceeds `MAX_CHARACTERS`, return its start and end with " ... " in
    between.
    """
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]} ... {text[-half:]}"


def report_data(plan: Plan, trace: StepTrace, graph: GraphRecord) -> dict[str, Any]:
    """Return the data that the page's script displays: rows of numbers and texts, and the
    devices.
    """
    texts = Texts()
    devices = list(dict.fromkeys(node.device for node in graph.nodes))
    devices += [step.device for step in plan.steps if step.device not in devices]
    numbers = {device: number for number, device in enumerate(dict.fromkeys(devices))}
    wanted = [*plan.key.fetches, *plan.key.targets]
    return {
        "title": cut(", ".join(wanted[:6]) + (" ..." if len(wanted) > 6 else "")),
        "version": VERSION,
        "run_us": round(trace.end_ns / 1000, 3),
        "devices": list(numbers),
        "nodes": _nodes(graph, numbers, texts),
        "steps": _steps(trace, graph, numbers, texts),
        "memory": [memory_over_time(device, graph, trace) for device in numbers],
        "arena": dict(sorted(plan.arena_bytes.items())),
        "transfers": [
            [cut(copy.tensor), numbers.get(copy.source), numbers.get(copy.target), copy.num_bytes]
            for copy in plan.transfers[:MAX_NODES]
        ],
        "placements": _placements(plan, numbers, texts),
        "passes": [_pass_row(report) for report in plan.current_reports(step_codes(plan.steps))],
        "counts": {
            "nodes": len(graph.nodes),
            "steps": len(trace.times),
            "placements": len(plan.placements),
        },
        "texts": texts.all(),
    }


def _nodes(graph: GraphRecord, numbers: Mapping[str, int], texts: Texts) -> list[list[Any]]:
    """Return a row for each node.

    A row has the node's name, op type, device, depth, edges, outputs, bytes and fused members.
    """
    nodes = graph.nodes[:MAX_NODES]
    known = {node.name: place for place, node in enumerate(nodes)}
    senders: dict[str, int] = {}
    rows = []
    for place, node in enumerate(nodes):
        if node.node_def.op == "_Send" and node.inputs:
            senders[node.inputs[0]] = place
        rows.append(
            [
                cut(node.name),
                texts.number(node.node_def.op),
                numbers[node.device],
                node.depth,
                _edges(node, known, senders),
                texts.number(", ".join(map(_tensor_text, node.outputs))),
                sum(_bytes(tensor, graph) for tensor in node.outputs),
                [cut(name) for name in node.members[:MAX_MEMBERS]],
            ]
        )
    return rows


def _edges(
    node: NodeRecord, known: Mapping[str, int], senders: Mapping[str, int]
) -> list[list[int]]:
    """Return the incoming edges of a node, each as the source node's index and the kind of the
    edge.
    """
    edges: dict[int, int] = {}
    for name in node.inputs:
        source = known.get(producer(name))
        if source is not None:
            kind = CONTROL if name.startswith("^") else DATA
            edges[source] = min(kind, edges.get(source, kind))
    if node.received is not None:
        tensor = node.received[0]
        source = senders.get(tensor, known.get(producer(tensor)))
        if source is not None:
            edges[source] = TRANSFER
    return [[source, kind] for source, kind in edges.items()]


def _tensor_text(tensor: TensorRecord) -> str:
    if tensor.shape is None:
        return f"{tensor.dtype.name} (sized in the run)"
    return f"{tensor.dtype.name} [{', '.join(map(str, tensor.shape))}]"


def _bytes(tensor: TensorRecord, graph: GraphRecord) -> int:
    return graph.storages[tensor.storage].num_bytes if tensor.storage >= 0 else 0


def _steps(
    trace: StepTrace, graph: GraphRecord, numbers: Mapping[str, int], texts: Texts
) -> list[list[Any]]:
    """Return a row for each step.

    A row has the step's name, op type, device and lane, its start and duration in microseconds, a
    word for how it was executed, and the indices of the nodes that it computes.
    """
    known = graph.by_name()
    lanes = {device: Lanes() for device in numbers}
    rows = []
    for time in trace.times[:MAX_NODES]:
        step, start = time.step, time.begun / 1000
        duration = max(time.ended - time.begun, 1) / 1000
        lane, _ = lanes[step.device].lane(start, duration)
        places = [known[name][0] for name in member_names(step, graph, known) if name in known]
        rows.append(
            [
                cut(step.name),
                texts.number(step.op_type),
                numbers[step.device],
                lane,
                round(start, 3),
                round(duration, 3),
                texts.number(step_words(time)),
                [place for place in places if place < MAX_NODES],
            ]
        )
    return rows


def _placements(plan: Plan, numbers: Mapping[str, int], texts: Texts) -> list[list[Any]]:
    """Return a row for each operation.

    A row has the operation's name, op type and device, a word for how it is executed, the reason
    for its device, and the user's line that created it.
    """
    here = f"{os.getcwd()}{os.sep}"
    return [
        [
            cut(op.name),
            texts.number(op.op_type),
            numbers.get(op.device, -1),
            texts.number(op.mode),
            texts.number(op.reason),
            texts.number("" if op.origin is None else str(op.origin).removeprefix(here)),
        ]
        for op in plan.placements[:MAX_NODES]
    ]


def _pass_row(report: PassReport) -> list[Any]:
    """Return the row of a compiler pass.

    A row has the name of the pass, its summary, milliseconds and lines, and the number of lines
    that were omitted.
    """
    lines, num_left_out = bounded(report.lines, MAX_LINES)
    name, milliseconds = report.name, round(report.seconds * 1e3, 3)
    return [name, cut(report.summary), milliseconds, [cut(line) for line in lines], num_left_out]


def bounded(items: Iterable[str], max_count: int) -> tuple[Sequence[str], int]:
    """Return the first `max_count` items, and the number of remaining items."""
    listed = list(items)
    return listed[:max_count], max(len(listed) - max_count, 0)
