"""Lower: resource variables become reference variables, as an operation becomes a node.

To the client a resource variable is a handle, by which ops read and change it. The passes support
reference variables only: the op that creates the handle becomes a VariableV2 and the handle its
reference, which passes through RefSwitch, RefEnter and so on; an op that takes a handle becomes its
counterpart for references. A read becomes an Identity that is not the variable's shared `read`, so
that it stays a snapshot at its position: `compile/lowering/read_after_write.py` does not change it.

Each of these nodes runs where the variable is, whatever device was requested.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, int32, resource
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.graph.client.client_graph import output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import HANDLE_MOVES, handle_maker
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.graph.op_def import OpDef, host_slots
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.state.resource_variable_ops import LOWERED, Lowering

_MAY_TAKE_HANDLES = {*HANDLE_MOVES, "GuaranteeConst", "IdentityN"}
"""Types of ops, in addition to those of `LOWERED` (which grows as op families load), that may
handle resource variables."""


class Lowered(NamedTuple):
    """An operation as a node."""

    op_def: OpDef
    attrs: dict[str, Any]
    input_types: list[DType]
    output_types: list[DType]
    device: str


def lowered(op: Operation) -> Lowered | None:
    """Return the operation as a node; None if it handles no resource variable."""
    if op._op_def.name not in LOWERED and op._op_def.name not in _MAY_TAKE_HANDLES:
        return None
    if op._op_def.name == "IdentityN":
        return _values_of(op)
    lowering = _lowering(op)
    if op._op_def.name == "GuaranteeConst" and op._inputs[0]._dtype is resource:
        raise InvalidArgumentError(
            op._record,
            op,
            f"Input tensor cannot be a resource variable handle, but that of '{op.name}', made at "
            f"{op.origin}, is '{op._inputs[0].name}': read the variable",
        )
    if lowering is None:
        return None
    op_def = DECLARATIONS[lowering.op_type].op_def
    maker = op if op.type == "VarHandleOp" else handle_maker(op._inputs[0])
    if maker is None:
        raise InvalidArgumentError(
            op._record,
            op,
            f"'{op.name}' (op type: {op.type}), made at {op.origin}, needs the handle of a "
            f"variable, but '{op._inputs[0].name}' is none",
        )
    attrs = _attrs(op, op_def, lowering, maker)
    refs = _slots(op_def, op)
    inputs = [
        _dtype(tensor) if slot in refs else _dtype(tensor).base_dtype
        for slot, tensor in enumerate(op._inputs)
    ]
    if op.type == "ResourceGather":
        inputs.append(int32)  # see `add_axis`
    device = op._device if op is maker else ""
    return Lowered(op_def, attrs, inputs, output_types(op_def, attrs), device)


def _values_of(op: Operation) -> Lowered | None:
    """Lower an inlined call that returns handles: it has values, `prune` follows the handles."""
    if not any(handle_maker(tensor) for tensor in op._inputs):
        return None
    types = [_dtype(tensor).base_dtype for tensor in op._inputs]
    return Lowered(op._op_def, {**op._attrs, "T": types}, types, types, op._device)


def _lowering(op: Operation) -> Lowering | None:
    kind = op._op_def.name
    if kind in LOWERED:
        return LOWERED[kind]
    if kind in HANDLE_MOVES and handle_maker(op._inputs[0]) is not None:
        return Lowering(f"Ref{kind}")
    return None


def _dtype(tensor: Tensor) -> DType:
    """Return the dtype of a tensor as a node's output: a reference for the handle of a variable."""
    maker = handle_maker(tensor) if tensor._dtype is resource else None
    if maker is None:
        return tensor._dtype.base_dtype
    dtype: DType = maker._attrs["dtype"]
    return dtype._as_ref


def _attrs(op: Operation, op_def: OpDef, lowering: Lowering, maker: Operation) -> dict[str, Any]:
    """Return the op's attrs that the node's op type has, renamed for it, and the variable's."""
    dtype, shape = maker._attrs["dtype"], maker._attrs["shape"]
    attrs = {key: attr.default for key, attr in op_def.attrs.items() if attr.has_default}
    for key in op_def.attrs:
        source = lowering.renamed.get(key, key)
        if source in op._attrs:
            attrs[key] = op._attrs[source]
    for key in ("T", "dtype"):
        if key in op_def.attrs:
            attrs[key] = dtype
    if op is not maker and any(arg.is_ref for arg in op_def.inputs):
        attrs["_of_handle"] = True
    known = shape.is_fully_defined()
    if op is maker:
        attrs["_by_handle"] = True  # runs wait for each other: see `devices/variable_access.py`
    if op is maker and not known:
        attrs |= {"shape": TensorShape.of(None), "_resizable": True}
    elif op.type == "AssignVariableOp":
        attrs["validate_shape"] = known
    elif op.type == "ResourceGather":
        attrs["Taxis"] = int32
    if not any(arg.is_ref for arg in op_def.inputs) and op.type != "ResourceGatherNd":
        attrs["_class"] = maker.colocation_groups()  # read on the variable's device if possible
    return attrs


def ref_slots(op: Operation) -> frozenset[int]:
    """Return the inputs that must be references: a reference at any other input is read."""
    lowering = _lowering(op)
    return _slots(op._op_def if lowering is None else DECLARATIONS[lowering.op_type].op_def, op)


def _slots(op_def: OpDef, op: Operation) -> frozenset[int]:
    refs = [index for index, arg in enumerate(op_def.inputs) if arg.is_ref]
    return host_slots(op_def.inputs, frozenset(refs), op._attrs) if refs else _NO_SLOTS


_NO_SLOTS: frozenset[int] = frozenset()


def add_axis(unit: Unit, op: Operation, node: Node) -> None:
    """Add the axis, which a ResourceGather implies, to the node that replaces it."""
    axis = unit.add_constant(node, "axis", np.array(op.attrs["batch_dims"], np.int32))
    variable = node.input_edge(0).src
    unit.graph.add_control_edge(variable, axis)  # which puts it in the same loop
    unit.graph.add_edge(axis, 0, node, 2)


def refuse_handle(tensor: Tensor) -> None:
    """Raise InvalidArgumentError for a fetched handle of a variable, which has no value."""
    maker = handle_maker(tensor) if tensor._dtype is resource else None
    if maker is not None:
        raise InvalidArgumentError(
            tensor.op._record,
            tensor.op,
            f"'{tensor.name}' is the handle of the variable '{maker.name}', made at "
            f"{maker.origin}, and has no value: fetch the variable",
        )
