"""Partition: inserts a Send and a Recv wherever an op reads a tensor from the memory of another
device.

One pair serves all readers of a tensor on a device. If a kernel needs an input in host memory, the
input is read from the first CPU's memory, regardless of the op's device. Host outputs are written
to this memory. Constants are not sent, because each device that reads a constant has a separate
copy. If a kernel reads a constant as a host input, the value is known at compile time. Control
edges between devices need no pair, because one thread runs the ops of all devices in one order.

If several ops read a variable directly through its reference, they share a transfer only if they
have the same control inputs. Otherwise one might read before an assignment and another after it.
The Send gets the control inputs of the reading ops.
"""

from __future__ import annotations

from gpugraph.base.dtypes import HANDLES
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.graph.op_def import host_slots
from gpugraph.plan import Transfer

SWAPPED = "_swapped"
"""The attr of the Recv of a swapped tensor: the copy starts at the Send, not at the Recv."""


def memory_of_output(unit: Unit, node: Node, slot: int) -> str:
    """Return the name of the device whose memory holds output `slot`. Host outputs and handles are
    in the memory of the host.
    """
    host = host_slots(node.op_def.outputs, node.op_def.host_outputs, node.attrs)
    is_handle = node.output_types[slot].base_dtype in HANDLES
    return unit.host if is_handle or slot in host else node.assigned_device


def memory_of_input(unit: Unit, node: Node, slot: int) -> str:
    """Return the name of the device from whose memory input `slot` is read. Host inputs and handles
    are read from the memory of the host.
    """
    host = host_slots(node.op_def.inputs, node.op_def.host_inputs, node.attrs)
    is_handle = node.input_types[slot].base_dtype in HANDLES
    return unit.host if is_handle or slot in host else node.assigned_device


def is_crossing(unit: Unit, edge: Edge) -> bool:
    """Return whether a data edge leads from the memory of one device to the memory of another."""
    target = memory_of_input(unit, edge.dst, edge.dst_input)
    if edge.src.is_constant and target != edge.dst.assigned_device:
        return False  # the value of a constant host input is known at compile time
    return memory_of_output(unit, edge.src, edge.src_output) != target


@compile_pass()
def partition(unit: Unit) -> Outcome:
    """Insert the pairs, and set `unit.send_recv_pairs` and `unit.transfers`."""
    copies: dict[_Transfer, Node] = {}
    if len(unit.target.devices) > 1:
        for node in unit.graph.op_nodes():
            crossing = [edge for edge in node.input_edges() if is_crossing(unit, edge)]
            waits = [waits_of_read(edge) for edge in crossing]
            for edge, control_inputs in zip(crossing, waits):
                _cross(unit, edge, control_inputs, copies)
    lines = [f"{copy.tensor}: {copy.source} -> {copy.target}" for copy in unit.transfers]
    return f"{len(unit.transfers)} tensors are sent to another device", lines


_Transfer = tuple[int, int, str, frozenset[Node]]
"""The key of a transfer: a tensor (node id and slot), the name of the destination, and the nodes
that must run before the tensor is read.
"""


def waits_of_read(edge: Edge) -> frozenset[Node]:
    """Return the nodes that may write the variable that `edge` reads, and that must run before this
    read. If the edge carries a value instead of a reference, the result is empty.
    """
    if not edge.src.output_types[edge.src_output].is_ref_dtype:
        return frozenset()
    control_inputs = [other.src for other in edge.dst._in if other.src is not edge.src]
    return frozenset([node for node in control_inputs if node._in])


def _cross(
    unit: Unit, edge: Edge, control_inputs: frozenset[Node], copies: dict[_Transfer, Node]
) -> None:
    """Replace the edge by an edge from a copy of the tensor in the memory of the reading device."""
    source = memory_of_output(unit, edge.src, edge.src_output)
    target = memory_of_input(unit, edge.dst, edge.dst_input)
    key = (edge.src.id, edge.src_output, target, control_inputs)
    if key not in copies:
        if edge.src.is_constant:
            copies[key] = _copy_constant(unit, edge.src, target)
        else:
            send, copies[key] = send_to(unit, edge.src, edge.src_output, source, target)
            unit.add_control_inputs(send, sorted(control_inputs, key=lambda node: node.id))
    unit.graph.update_edge(copies[key], 0, edge.dst, edge.dst_input)


def _copy_constant(unit: Unit, constant: Node, target: str) -> Node:
    copy = unit.graph.copy_node(constant)
    copy.assigned_device = target
    unit.shapes[copy.id] = unit.shapes[constant.id]
    unit.values[copy.id, 0] = constant.attrs["value"]
    unit.reasons[copy.id] = "a constant is copied to each device that reads it"
    unit.add_control_inputs(copy, constant.control_inputs)
    return copy


def send_to(
    unit: Unit, node: Node, slot: int, source: str, target: str, suffix: str = "recv"
) -> tuple[Node, Node]:
    """Add a Send of an output to the device `target`, and its Recv. Return both. The name of the
    Recv has the suffix `suffix`.
    """
    dtype = node.output_types[slot].base_dtype
    shape = unit.shapes[node.id][slot]
    tensor = node.name if slot == 0 else f"{node.name}:{slot}"
    attrs = {
        "T": dtype,
        "tensor_name": f"edge_{len(unit.send_recv_pairs)}_{tensor}",
        "send_device": source,
        "recv_device": target,
    }
    send = unit.add_op(
        "_Send", node, [(node, slot)], attrs=attrs, suffix="send", device=source, shapes=[]
    )
    recv = unit.add_op(
        "_Recv",
        node,
        attrs={**attrs, "shape": shape},
        output_types=[dtype],
        suffix=suffix,
        device=target,
        shapes=[shape],
    )
    unit.reasons[send.id] = f"{tensor} goes to {target}"
    unit.reasons[recv.id] = f"{tensor} comes from {source}"
    unit.send_recv_pairs.append((send, recv))
    count = shape.num_elements()
    size = None if count is None else count * dtype.itemsize
    unit.transfers.append(Transfer(tensor, source, target, size))
    return send, recv
