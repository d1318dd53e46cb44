"""The time that a device needs for a node or a copy, estimated from rates and sizes, not measured.

A node takes the time of its arithmetic or of its bytes, whichever is longer, plus a launch. The
rates are those of a mid-range GPU on PCI Express 3 x16, and of a processor with two cores,
rounded: only times of the same device are compared, and only their ratio matters.
"""

from __future__ import annotations

from math import prod

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

OPERATIONS = 10e12
"""Additions and multiplications per second."""

MEMORY_BYTES = 500e9
"""Bytes per second between the GPU and its memory."""

COPIED_BYTES = 12e9
"""Bytes per second between the GPU's memory and the host's, in each direction."""

LAUNCH = 5e-6
"""Seconds per launch."""

HOST_RATES = (50e9, 10e9, 1e-6)
"""The same for the host: operations and bytes per second, seconds per call."""

RECOMPUTED = "/recomputed"
"""The suffix of the names of recomputed copies; a number may follow."""

_NO_WORK = {
    *(NodeClass.CONSTANT, NodeClass.VARIABLE, NodeClass.ARG, NodeClass.RETVAL),
    *(NodeClass.SEND, NodeClass.RECV),
}
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "_FusedMatMul")
_FILTER_AND_PLACES = {
    "Conv2D": (1, None),
    "_FusedConv2D": (1, None),
    "Conv3D": (1, None),
    "Conv2DBackpropInput": (1, 2),
    "Conv3DBackpropInputV2": (1, 2),
    "Conv2DBackpropFilter": (None, 2),
    "Conv3DBackpropFilterV2": (None, 2),
}
"""For convolutions, the indices of the filter and of the forward output; None: the op's own output.
"""

_Sizes = tuple[int, ...]


def copy_seconds(num_bytes: int) -> float:
    """Return the time of a copy between the GPU and the host."""
    return LAUNCH + num_bytes / COPIED_BYTES


def node_seconds(unit: Unit, node: Node) -> float:
    """Return the time of a node's kernel; 0 for a node without one. Unknown sizes count as 1."""
    if node.node_class in _NO_WORK or unit.modes.get(node.id, "").startswith("view"):
        return 0.0
    inputs = [_sizes(unit, edge.src, edge.src_output) for edge in node.input_edges()]
    outputs = [_sizes(unit, node, slot) for slot in range(len(node.output_types))]
    dtypes = (*node.input_types, *node.output_types)
    num_bytes = sum(
        prod(sizes) * dtype.base_dtype.itemsize
        for sizes, dtype in zip((*inputs, *outputs), dtypes)
        if not dtype.is_ref_dtype
    )
    is_on_gpu = unit.device_types[node.assigned_device] == "GPU"
    rates = (OPERATIONS, MEMORY_BYTES, LAUNCH) if is_on_gpu else HOST_RATES
    operations, memory_bytes, launch = rates
    return launch + max(num_bytes / memory_bytes, _operations(node, inputs, outputs) / operations)


def recomputed_part(unit: Unit) -> float:
    """Return the time of recomputation as a part of the time of a step without it.

    Copies that are fused with the gradients that need them count as free.
    """
    again = whole = 0.0
    for node in unit.order:
        seconds = node_seconds(unit, node)
        names = [name for name, _, _ in unit.fused.get(node.id, ())] or [node.name]
        if all(RECOMPUTED in name for name in names):
            again += seconds
        else:
            whole += seconds
    return again / whole if whole else 0.0


def _operations(node: Node, inputs: list[_Sizes], outputs: list[_Sizes]) -> float:
    if node.type in _PRODUCTS and len(outputs[0]) > 1:
        batch = prod(outputs[0][:-2])
        sides = prod(inputs[0]) * prod(inputs[1]) * prod(outputs[0])
        return 2.0 * (sides / max(batch, 1)) ** 0.5
    if node.type in _FILTER_AND_PLACES:
        weights, places = (
            outputs[0] if index is None else inputs[index]
            for index in _FILTER_AND_PLACES[node.type]
        )
        return 2.0 * prod(places) * prod(weights[:-1])
    return 0.0


def _sizes(unit: Unit, node: Node, slot: int) -> _Sizes:
    sizes = unit.shapes[node.id][slot].sizes
    return () if sizes is None else tuple(1 if size is None else size for size in sizes)
