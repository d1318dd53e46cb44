"""The generated programs of a unit with open sizes. All plans that are bound from the unit share
these programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gpugraph.base.sizes import literals_refused
from gpugraph.compile.analysis.fusibility import node_signature
from gpugraph.compile.steps.native_node_code import native_form, program_of
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.devices.native import Fused, NotNativeError
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.op_expressions import EXPRESSIONS


class _Extent:
    """A placeholder for an array that is bound later. It has only a shape."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.shape = shape
        self.size = prod(shape)


def open_programs(unit: Unit) -> dict[int, Fused]:
    """Return a dict from the id of each CPU node that has expressions to its generated program.

    A program may depend on a size. For example, an axis of size 1 is omitted. Such a dependence is
    recorded as a condition in the unit's trace.
    """
    programs = {}
    for node in unit.order:
        if unit.device_types.get(node.assigned_device) == "CPU" and node.type in DECLARATIONS:
            program = _program(unit, node)
            if program is not None:
                programs[node.id] = program
    return programs


def _program(unit: Unit, node: Node) -> Fused | None:
    native = native_form(node) if node.node_class is NodeClass.OTHER else None
    signature = node_signature(unit, node) if isinstance(native, EXPRESSIONS) else None
    if signature is None or not isinstance(native, EXPRESSIONS):
        return None
    slots = signature.device_inputs()
    types = [node.input_types[slot].base_dtype for slot in slots]
    inputs = [_Extent(signature.input_shapes[slot]) for slot in slots]
    writes = sorted(DECLARATIONS[node.type].memory.writes)
    written: Sequence[_Extent] = (
        [inputs[slot] for slot in writes] if writes else list(map(_Extent, signature.output_shapes))
    )
    try:
        with literals_refused():
            return program_of(native, signature, types, inputs, written)  # type: ignore[arg-type]
    except (NotNativeError, NotImplementedError):
        return None
