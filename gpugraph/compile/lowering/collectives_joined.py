r"""Collectives: each member computes its result from the inputs of all members of its group.

All members of a group are in one run, on one device each, so they need no rendezvous. On the device
of each member, this pass adds an op that computes the sum (or product, maximum, minimum,
concatenation) of the inputs of all members. The result of this op becomes the input of the member.
The partition pass sends each input to each device once. All devices add in the same order, so that
their results are equal bit by bit.

    gpu:0   x --> reduce            x ---> AddN --> reduce
                            becomes    \ /
    gpu:1   y --> reduce            y --'--> AddN --> reduce
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Source, Unit, node_error
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.graph.nodes.loop_frames import loop_frames
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

_MERGES = {"Mul": "Mul", "Max": "Maximum", "Min": "Minimum"}
_RECEIVES = "CollectiveBcastRecv"
_SENDS = "CollectiveBcastSend"


@compile_pass()
def collectives(unit: Unit) -> Outcome:
    """Connect the members of each group of collectives.

    If members are in other processes, the cluster's workers connect them. Raises
    InvalidArgumentError if members are missing, if members of a group have different attrs, or if
    their inputs don't match.
    """
    groups: dict[tuple[int, int], list[Node]] = defaultdict(list)
    for node in unit.graph.op_nodes():
        if node.node_class is NodeClass.COLLECTIVE:
            groups[node.attrs["group_key"], node.attrs["instance_key"]].append(node)
    exchanged = []
    for keys, members in list(groups.items()):
        members.sort(key=lambda node: (node.requested_device, node.name))
        if unit.target.task and len(members) < members[0].attrs["group_size"]:
            _exchange(unit, members)
            exchanged.append(
                f"{members[0].type} over processes, {len(members)} devices of this one"
            )
            del groups[keys]
            continue
        _check(unit, members)
        if members[0].type in (_SENDS, _RECEIVES):
            _broadcast(unit, members)
        else:
            join = _reduced if members[0].type == "CollectiveReduce" else _gathered
            _join(unit, members, join)
    sizes = [f"{members[0].type} of {len(members)} devices" for members in groups.values()]
    note = f", {len(exchanged)} are completed across processes" if exchanged else ""
    return f"{len(groups)} groups of collectives were joined{note}", [*sizes, *exchanged]


def _exchange(unit: Unit, members: Sequence[Node]) -> None:
    """Replace each member by an op that passes its input to the worker of this process. The worker
    exchanges the inputs with the workers of the other members.

    The worker runs the readers of the results in a later stage of the run
    (`cluster/run_stages.py`). If a member is in a branch or a loop, its readers are in this graph.
    Such a member waits for the result, in the same way as a dequeue waits for an element.
    """
    for member in members:
        sources = [(edge.src, edge.src_output) for edge in member._in if not edge.is_control]
        before = member.control_inputs
        after = [edge.dst for edge in member._out if edge.is_control]
        readers = [(edge.dst, edge.dst_input) for edge in member._out if not edge.is_control]
        attrs = {"T": member.attrs["T"], "op": member.name}
        unit.remove(member)
        if readers:
            node = _exchanged(unit, member, sources, attrs)
            for reader, slot in readers:
                unit.graph.add_edge(node, 0, reader, slot)
        elif sources:
            node = unit.add_op("_CollectiveInput", member, sources, attrs=attrs)
        else:
            node = unit.add_op("NoOp", member, attrs={})
        unit.add_control_inputs(node, before)
        for follower in after:
            unit.add_control_inputs(follower, [node])
        unit.roots = [node if root is member else root for root in unit.roots]


def _exchanged(
    unit: Unit, member: Node, sources: Sequence[Source], attrs: Mapping[str, Any]
) -> Node:
    """Return an op that passes the member's input to the worker and waits for the result. If the
    member receives a broadcast, it passes an empty value.
    """
    dtype = attrs["T"]
    if not sources:
        value = np.zeros((), dtype.as_numpy_dtype)
        sources = [(unit.add_constant(member, "nothing", value, dtype), 0)]
    node = unit.add_op("_CollectiveExchange", member, sources, attrs=attrs, output_types=[dtype])
    if DeviceSpec.from_string(node.requested_device).device_type != "CPU":
        node.requested_device = "/device:CPU:0"  # a GPU can't wait for other processes
    return node


def _check(unit: Unit, members: Sequence[Node]) -> None:
    first = members[0]
    size = first.attrs["group_size"]
    kinds = {node.type.removesuffix("Send").removesuffix("Recv") for node in members}
    senders = sum(node.type == _SENDS for node in members)
    if len(members) != size or len(kinds) > 1:
        advice = "All members, of one kind, have to be in one run"
        if len(members) < size:
            advice += (
                ". If the others are in other processes, open the session on this process's "
                "server, as in `tf.Session(server.target)`: a session without a target can't "
                "reach them"
            )
        raise _refusal(
            first,
            f"{len(members)} of the {size} members are in this run: "
            f"{', '.join(node.name for node in members)}. {advice}",
        )
    if len({node.requested_device for node in members}) < size:
        raise _refusal(first, "two members request the same device")
    if kinds == {"CollectiveBcast"} and senders != 1:
        raise _refusal(first, f"{senders} members send")
    for key in ("T", "group_size", "merge_op", "final_op"):
        if any(node.attrs.get(key) != first.attrs.get(key) for node in members):
            raise _refusal(first, f"the members differ in {key}")
    if any(node.node_class is NodeClass.ENTER for node in unit.graph.op_nodes()):
        frames = loop_frames(unit.graph)
        if len({id(frames.at(node)) for node in members}) > 1:
            raise _refusal(first, "the members are in different loops")


def _refusal(node: Node, why: str) -> InvalidArgumentError:
    keys = f"group {node.attrs['group_key']}, instance {node.attrs['instance_key']}"
    return node_error(node, f"The collective '{node.name}' ({keys}) can't be done: {why}")


def _join(
    unit: Unit, members: Sequence[Node], join: Callable[[Unit, Node, Sequence[Source]], Source]
) -> None:
    edges = [member.input_edge(0) for member in members]
    sources = [(edge.src, edge.src_output) for edge in edges]
    for member in members:
        unit.graph.update_edge(*join(unit, member, sources), member, 0)


def _reduced(unit: Unit, member: Node, sources: Sequence[Source]) -> Source:
    merge_op = member.attrs["merge_op"]
    if merge_op == "Add":
        merged = _add(unit, member, "AddN", sources, "sum", N=len(sources))
    else:
        merged = sources[0]
        for other in sources[1:]:
            merged = _add(unit, member, _MERGES[merge_op], [merged, other], "merged")
    if member.attrs["final_op"] == "Div":
        size = np.array(len(sources), member.attrs["T"].as_numpy_dtype)
        count = unit.add_constant(member, "size", size, member.attrs["T"])
        merged = _add(unit, member, "Div", [merged, (count, 0)], "mean")
    return merged


def _gathered(unit: Unit, member: Node, sources: Sequence[Source]) -> Source:
    axis = unit.add_constant(member, "axis", np.array(0, np.int32), int32)
    return _add(unit, member, "ConcatV2", [*sources, (axis, 0)], "all", N=len(sources), Tidx=int32)


def _add(
    unit: Unit, member: Node, op_type: str, sources: Sequence[Source], suffix: str, **attrs: Any
) -> Source:
    """Add an op on the device of the member, with one output that has the member's dtype. Return
    this output.
    """
    dtype = member.attrs["T"]
    attrs = {"T": dtype, **attrs}
    node = unit.add_op(op_type, member, sources, attrs=attrs, output_types=[dtype], suffix=suffix)
    return node, 0


def _broadcast(unit: Unit, members: Sequence[Node]) -> None:
    """Redirect all readers of the receivers' outputs to the sender's output."""
    sender = next(node for node in members if node.type == _SENDS)
    for member in members:
        if member is sender:
            continue
        value, _ = _add(unit, member, "Identity", [(sender, 0)], "value")
        unit.add_control_inputs(value, [member])
        for edge in [edge for edge in member._out if edge.src_output == 0]:
            unit.graph.update_edge(value, 0, edge.dst, edge.dst_input)
