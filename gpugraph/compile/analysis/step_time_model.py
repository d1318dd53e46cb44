"""Estimates of the time that a node or a copy takes on a device. They come from a model with
constant rates, without measurements.

A node takes the time of a launch, plus the time of its arithmetic or of its memory accesses,
whichever is longer. The rates are rounded figures of a mid-range GPU on PCI Express 3 x16, and of a
processor with two cores. Only the ratios between times on the same device matter.
"""

from __future__ import annotations

from math import prod

from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass

OPERATIONS = 10e12
"""Additions and multiplications per second of a GPU."""

MEMORY_BYTES = 500e9
"""Bytes per second between the GPU and its memory."""

COPIED_BYTES = 12e9
"""Bytes per second between the GPU's memory and host memory, in each direction."""

LAUNCH = 5e-6
"""Seconds per launch of a kernel or start of a copy on a GPU."""

HOST_RATES = (50e9, 10e9, 1e-6)
"""The rates of the host: arithmetic operations per second, bytes of memory per second, seconds per
call.
"""

RECOMPUTED = "/recomputed"
"""The suffix in the names of nodes that recompute a value; a number may follow it."""

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
"""By op type of a convolution: the index of the filter among its inputs, and the index of the input
that has the shape of the forward output. None means the op's own output.
"""

_Sizes = tuple[int, ...]


def copy_seconds(num_bytes: int) -> float:
    """Return the number of seconds that a copy between the memories of a GPU and the host takes."""
    return LAUNCH + num_bytes / COPIED_BYTES


def node_seconds(unit: Unit, node: Node) -> float:
    """Return the number of seconds that a node's kernel takes, or 0 if the node has no kernel. An
    unknown size is treated as 1.
    """
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
    """Return the total time of nodes that recompute values, divided by the time of all other nodes.

    If a recomputing node is fused with the gradient that reads it, its time is 0.
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
