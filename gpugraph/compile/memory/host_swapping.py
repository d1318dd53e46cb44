"""Swapping: tensors of a GPU that are idle for a long time are copied to the host and back.

  x -> Send -> Recv 'x/swap_out' (host) -> Send -> Recv 'x/swap_in' (GPU) -> late uses of x

The run was first compiled without swaps, and the tensors to swap were chosen by the memory plan of
that unit (`swap_choice`). A copy begins at its Send and is complete at its Recv. Control edges
determine when these nodes run. The Recv on the host waits for the node during which the copy is
expected to end. The Send back to the GPU waits for the last node before its copy must begin. If a
late use reads a view of the tensor, the view is created again, from the copy.
"""

from __future__ import annotations

from gpugraph.compile.memory.idle_tensors import view_input
from gpugraph.compile.memory.swap_choice import swap_words
from gpugraph.compile.placement.graph_partition import SWAPPED, send_to
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Source, Swap, TensorId, Unit
from gpugraph.graph.nodes.runtime_graph import Edge, Node
from gpugraph.memory import human_readable_bytes


@compile_pass()
def swap(unit: Unit) -> Outcome:
    """Insert the Sends and Recvs of the swaps in `unit.swaps`."""
    if unit.swaps is None:
        return "not requested: memory_optimization", ()
    for choice in unit.swaps:
        _insert(unit, choice)
    total = human_readable_bytes(sum(choice.num_bytes for choice in unit.swaps))
    summary = f"{len(unit.swaps)} tensors, {total}, are on the host between two uses"
    return summary, [swap_words(choice) for choice in unit.swaps]


def _insert(unit: Unit, choice: Swap) -> None:
    source, slot = _node(unit, choice.source), choice.slot
    out = _sent(unit, source, slot)
    if out is None:
        out = send_to(unit, source, slot, source.assigned_device, unit.host, "swap_out")[1]
        unit.add_control_inputs(out, [_node(unit, choice.leaves)])
        out.attrs = {**out.attrs, SWAPPED: True}
    send, back = send_to(unit, out, 0, unit.host, source.assigned_device, "swap_in")
    back.attrs = {**back.attrs, SWAPPED: True}
    unit.add_control_inputs(send, [_node(unit, choice.begins)])
    unit.add_control_inputs(back, [_node(unit, choice.ends)])
    unit.reasons[back.id] = choice.why
    copies: dict[TensorId, Source] = {(source.id, slot): (back, 0)}
    for name, index in choice.uses:
        edge = _node(unit, name).input_edge(index)
        unit.graph.update_edge(*_copied(unit, edge, copies), edge.dst, index)


def _node(unit: Unit, name: str) -> Node:
    node = unit.graph.find(name)
    assert node is not None, name
    return node


def _sent(unit: Unit, source: Node, slot: int) -> Node | None:
    """If an op on the host reads the tensor, so that it is sent to the host anyway, return the Recv
    on the host. Otherwise return None.
    """
    for send, recv in unit.send_recv_pairs:
        edge = send.input_edge(0)
        if (edge.src, edge.src_output, recv.assigned_device) == (source, slot, unit.host):
            return recv
    return None


def _copied(unit: Unit, edge: Edge, copies: dict[TensorId, Source]) -> Source:
    """Return the new source of an edge that reads the tensor or a view of it. The new source is the
    copy that has returned from the host, or a view of this copy.
    """
    node, slot = edge.src, edge.src_output
    if (node.id, slot) not in copies:
        index = view_input(node, slot)
        assert index is not None, node.name
        sources = [(other.src, other.src_output) for other in node.input_edges()]
        sources[index] = _copied(unit, node.input_edge(index), copies)
        copies[node.id, slot] = unit.add_copy(node, sources, "swap_in"), slot
    return copies[node.id, slot]
