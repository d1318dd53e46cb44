"""StepStats, the cost graph and partition graphs of a run, from step times and graph records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.version import GRAPH_DEF_VERSION
from gpugraph.formats import messages_pb2
from gpugraph.inspection.chrome_trace import DATA_DEVICE
from gpugraph.inspection.plain_messages import PlainMessage, plain_message
from gpugraph.plan import NATIVE, GraphRecord, NodeRecord, Step, TensorRecord, all_steps
from gpugraph.plan.pipeline_spans import Span
from gpugraph.runtime import StepTime, StepTrace

_KINDS = """measure: its sizes; flag: whether a condition holds;
fetch: its copy to the host; joined: one launch; loop: a loop; region: under a condition;
concurrent: calls at the same time"""
_WORDS = dict(entry.strip().split(": ") for entry in _KINDS.split(";"))
"""By the kind of a step, the words for it in labels."""

_MAX_NAMES = 50


class _StepNode(NamedTuple):
    """A step's first node and its position in the order. If the node has no record, the node is
    None and the position is -1.
    """

    position: int
    node: NodeRecord | None


def step_statistics(
    trace: StepTrace, graph: GraphRecord, spans: Sequence[Span] = ()
) -> PlainMessage:
    """Return the steps of the run as a StepStats record.

    Args:
      spans: the times of calls in data pipelines, which are shown as a separate device.
    """
    known = graph.by_name()
    live = {device: graph.live_bytes(device) for device in {n.device for n in graph.nodes}}
    ends: dict[str, int] = {}
    threads = {
        ident: number for number, ident in enumerate(dict.fromkeys(t.thread for t in trace.times))
    }
    by_device: dict[str, list[PlainMessage]] = {device: [] for device in live}
    for time in trace.times:
        step_node, members = _step_node(time.step, known), member_names(time.step, graph, known)
        label = timeline_label(time, step_node.node, members[1:])
        stats = _node_stats(trace, time, step_node, graph, live, ends)
        stats.timeline_label, stats.thread_id = label, threads[time.thread]
        ends |= dict.fromkeys(members, time.ended)
        by_device.setdefault(time.step.device, []).append(stats)
    if not trace.times:
        for node in graph.nodes:
            by_device[node.device].append(_without_step(trace, node, graph))
    names = {number: f"thread {number}" for number in threads.values()}
    devices = [
        plain_message("DeviceStepStats", device=device, node_stats=stats, thread_names=names)
        for device, stats in by_device.items()
    ]
    if spans:
        devices.append(_pipeline_statistics(spans))
    return plain_message("StepStats", dev_stats=devices)


def _pipeline_statistics(spans: Sequence[Span]) -> PlainMessage:
    """Return the calls of pipelines as a DeviceStepStats record. Each thread and depth of nesting
    gets a lane.
    """
    rows = sorted({(span.thread, span.depth) for span in spans})
    lanes = {row: number for number, row in enumerate(rows)}
    stats = [
        plain_message(
            "NodeExecStats",
            node_name=span.name,
            timeline_label=f"{span.name} = {span.kind}()",
            thread_id=lanes[span.thread, span.depth],
            all_start_micros=span.begun // 1000,
            all_start_nanos=span.begun,
            all_end_rel_micros=(span.ended - span.begun) // 1000,
            all_end_rel_nanos=span.ended - span.begun,
        )
        for span in sorted(spans, key=lambda span: span.begun)
    ]
    names = {
        number: thread if depth == 0 else f"{thread}, inside {depth}"
        for (thread, depth), number in lanes.items()
    }
    return plain_message(
        "DeviceStepStats", device=DATA_DEVICE, node_stats=stats, thread_names=names
    )


def member_names(
    step: Step, graph: GraphRecord, known: Mapping[str, tuple[int, NodeRecord]]
) -> list[str]:
    """Return the names of the nodes that a step computes, including the members of fused nodes.

    Args:
      known: each node and its position, by name.
    """
    names = [step.name]
    if step.group is not None:
        names += [inner.name for inner in all_steps(step.group.steps) if inner.kind != "guard"]
    first, _, last = step.name.partition(" .. ")
    if last and first in known and last in known:
        nodes = graph.nodes[known[first][0] : known[last][0] + 1]
        names = [node.name for node in nodes if node.device == step.device]
    fused = [member for name in names if name in known for member in known[name][1].members]
    return list(dict.fromkeys([*names, *fused]))


def span_of(step: Step, known: Mapping[str, tuple[int, NodeRecord]]) -> tuple[int, int]:
    """Return the positions of a step's first and last node in the order. If the positions are
    unknown, return -1 for both.
    """
    first, _, last = step.name.partition(" .. ")
    position = known[first][0] if first in known else -1
    return position, known[last][0] if last in known else position


def step_words(time: StepTime) -> str:
    """Return "native" if native code ran the step. Otherwise return the words for the step's kind.

    The result is empty for a step that is a single kernel.
    """
    return "native" if time.code == NATIVE else _WORDS.get(time.step.kind, "")


def _step_node(step: Step, known: Mapping[str, tuple[int, NodeRecord]]) -> _StepNode:
    return _StepNode(*known.get(step.name.partition(" .. ")[0], (-1, None)))


def _node_stats(
    trace: StepTrace,
    time: StepTime,
    step_node: _StepNode,
    graph: GraphRecord,
    live: Mapping[str, Sequence[int]],
    ends: Mapping[str, int],
) -> PlainMessage:
    step, node = time.step, step_node.node
    inputs = () if node is None else node.inputs
    ready = max((ends.get(producer(name), 0) for name in inputs), default=0)
    start, scheduled = trace.started_ns + time.begun, trace.started_ns + min(ready, time.begun)
    in_use = time.sized + (live[step.device][step_node.position] if step_node.position >= 0 else 0)
    used = plain_message(
        "AllocatorMemoryUsed",
        allocator_name=allocator_name(step.device),
        total_bytes=step.output_bytes,
        peak_bytes=step.output_bytes,
        live_bytes=in_use,
        allocator_bytes_in_use=in_use,
    )
    outputs = [] if node is None or " .. " in step.name else _outputs(node, graph)
    moments = {
        "all_start": start,
        "op_start_rel": time.started - time.begun,
        "op_end_rel": time.returned - time.begun,
        "all_end_rel": time.ended - time.begun,
        "scheduled": scheduled,
    }
    return plain_message(
        "NodeExecStats",
        node_name=step.name,
        memory=[used] if step_node.position >= 0 else [],
        output=outputs,
        **{f"{name}_micros": nanos // 1000 for name, nanos in moments.items()},
        **{f"{name}_nanos": nanos for name, nanos in moments.items()},
    )


def _without_step(trace: StepTrace, node: NodeRecord, graph: GraphRecord) -> PlainMessage:
    """Return the statistics of a node in a run without steps.

    A run has no steps if all its values were computed at compile time.
    """
    return plain_message(
        "NodeExecStats",
        node_name=node.name,
        timeline_label=f"{node.name} = {node.node_def.op}({', '.join(node.inputs)})",
        all_start_micros=trace.started_ns // 1000,
        all_start_nanos=trace.started_ns,
        output=_outputs(node, graph),
    )


def _outputs(node: NodeRecord, graph: GraphRecord) -> list[PlainMessage]:
    return [
        plain_message("NodeOutput", slot=slot, tensor_description=_description(tensor, graph))
        for slot, tensor in enumerate(node.outputs)
    ]


def producer(name: str) -> str:
    """Return the node's name in an input of a NodeDef: `x` for the inputs `x:1` and `^x`."""
    return name.removeprefix("^").partition(":")[0]


def allocator_name(device: str) -> str:
    """Return the name of a device's allocator, such as `cpu` or `gpu_0`."""
    kind, _, index = device.rpartition("device:")[2].lower().partition(":")
    return kind if kind == "cpu" and index in ("", "0") else f"{kind}_{index}"


def timeline_label(time: StepTime, node: NodeRecord | None, members: Sequence[str]) -> str:
    """Return the label `name = Op(inputs)`. If the step combines several nodes, their names
    follow.
    """
    step = time.step
    inputs = [] if node is None or " .. " in step.name else list(node.inputs)
    if node is not None and node.received is not None:
        inputs = [f"{node.received[0]} @{node.received[1]}"]
    label = f"{step.name} = {step.op_type}({', '.join(inputs)})"
    word = step_words(time)
    if word:
        label += f", {word}"
    if members:
        rest = f" and {len(members) - _MAX_NAMES} more" if len(members) > _MAX_NAMES else ""
        label += f" of {', '.join(members[:_MAX_NAMES])}{rest}"
    return label


def _shape(tensor: TensorRecord) -> PlainMessage:
    if tensor.shape is None:
        return plain_message("TensorShapeProto", unknown_rank=True)
    sizes = [plain_message("TensorShapeProto.Dim", size=size) for size in tensor.shape]
    return plain_message("TensorShapeProto", dim=sizes)


def _description(tensor: TensorRecord, graph: GraphRecord) -> PlainMessage:
    allocation = None
    if tensor.storage >= 0:
        storage = graph.storages[tensor.storage]
        allocation = plain_message(
            "AllocationDescription",
            requested_bytes=storage.num_bytes,
            allocated_bytes=storage.num_bytes,
            allocator_name=allocator_name(storage.device),
            allocation_id=tensor.storage + 1,
            ptr=storage.offset,
        )
    return plain_message(
        "TensorDescription",
        dtype=tensor.dtype.as_datatype_enum,
        shape=_shape(tensor),
        allocation_description=allocation,
    )


def cost_graph(trace: StepTrace, graph: GraphRecord) -> PlainMessage:
    """Return a CostGraphDef record with the bytes of each node's outputs and the microseconds of
    its step.
    """
    costs: dict[str, int] = {}
    for time in trace.times:
        spent = (time.ended - time.started) // 1000
        costs[time.step.name.partition(" .. ")[0]] = spent
    known = graph.by_name()
    consumed = {producer(name) for node in graph.nodes for name in node.inputs}
    nodes = [
        plain_message(
            "CostGraphDef.Node",
            name=node.name,
            device=node.device,
            id=position,
            input_info=list(_input_info(node, known)),
            output_info=[_output_info(node, tensor, graph, known) for tensor in node.outputs],
            compute_cost=costs.get(node.name, 0),
            is_final=node.name not in consumed,
            control_input=[
                known[name[1:]][0]
                for name in node.inputs
                if name.startswith("^") and name[1:] in known
            ],
        )
        for position, node in enumerate(graph.nodes)
    ]
    return plain_message("CostGraphDef", node=nodes)


def _input_info(
    node: NodeRecord, known: Mapping[str, tuple[int, NodeRecord]]
) -> Iterator[PlainMessage]:
    for name in node.inputs:
        source, _, slot = name.partition(":")
        if source in known:
            yield plain_message(
                "CostGraphDef.Node.InputInfo",
                preceding_node=known[source][0],
                preceding_port=int(slot or 0),
            )


def _output_info(
    node: NodeRecord,
    tensor: TensorRecord,
    graph: GraphRecord,
    known: Mapping[str, tuple[int, NodeRecord]],
) -> PlainMessage:
    size = graph.storages[tensor.storage].num_bytes if tensor.storage >= 0 else 0
    alias = -1
    for port, name in enumerate(node.inputs):
        source, _, slot = name.partition(":")
        if source in known and tensor.storage >= 0:
            outputs = known[source][1].outputs
            if int(slot or 0) < len(outputs) and outputs[int(slot or 0)].storage == tensor.storage:
                alias = port
                break
    return plain_message(
        "CostGraphDef.Node.OutputInfo",
        size=size,
        alias_input_port=alias,
        shape=_shape(tensor),
        dtype=tensor.dtype.as_datatype_enum,
    )


def partition_graphs(graph: GraphRecord) -> list[Any]:
    """Return one GraphDef for each device: the nodes of the compiled graph on that device."""
    parts: dict[str, Any] = {}
    for node in graph.nodes:
        if node.device not in parts:
            parts[node.device] = messages_pb2.GraphDef()
            parts[node.device].versions.producer = GRAPH_DEF_VERSION
        parts[node.device].node.append(node.node_def.as_message())
    return list(parts.values())
