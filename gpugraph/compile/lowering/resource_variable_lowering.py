"""Lowering of resource variables, which become reference variables when operations become nodes.

To the client a resource variable is a handle, through which ops read and change the variable. The
passes support only reference variables. So the op that creates the handle becomes a VariableV2. The
handle becomes a reference to this VariableV2, and ops that forward the handle become RefSwitch,
RefEnter and similar ops. An op that takes a handle becomes the corresponding op for references. A
read becomes an Identity. Its name is not that of a shared read (`name/read`). So
`compile/lowering/read_after_write.py` does not change this Identity, and it returns the value at
its position in the order. All these nodes run on the variable's device, even if another device was
requested for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType, int32, resource
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.unit.compile_unit import COPIES, COPY_DEVICES, Unit
from gpugraph.graph.client.op_inference import output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import HANDLE_MOVES, handle_maker
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.graph.op_def import OpDef, host_slots
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.state.resource_variable_ops import LOWERED, Lowering

_MAY_TAKE_HANDLES = {*HANDLE_MOVES, "GuaranteeConst", "IdentityN"}
"""Op types that may take handles of resource variables, in addition to those in `LOWERED`. Modules
of ops add their types when they are imported.
"""

_FUNCTION_KINDS = {"func", "list(func)"}
_CALLERS: dict[str, tuple[OpDef, bool]] = {}
"""For declared op types, their definition, and whether operations of this type call functions."""
"""The kinds of attrs that name functions."""


class Lowered(NamedTuple):
    """The properties of the node that an operation becomes."""

    op_def: OpDef
    attrs: dict[str, Any]
    input_types: list[DType]
    output_types: list[DType]
    device: str


def calls_functions(op: Operation) -> bool:
    """Return whether an operation calls functions, which an attr of kind "func" names."""
    op_def = op._op_def
    known = _CALLERS.get(op_def.name)
    if known is not None and known[0] is op_def:
        return known[1]
    calls = not _FUNCTION_KINDS.isdisjoint([attr.kind for attr in op_def.attrs.values()])
    if op_def.name in DECLARATIONS:  # and not the name of one of a graph's functions
        _CALLERS[op_def.name] = op_def, calls
    return calls


def dropped_handles(op: Operation) -> frozenset[int]:
    """Return the input slots of the variable handles that are dropped from an operation that calls
    functions. The functions refer to these variables by name.
    """
    slots = enumerate(op._inputs)
    return frozenset(slot for slot, tensor in slots if handle_maker(tensor) is not None)


def _without_handles(op: Operation) -> Lowered | None:
    dropped = dropped_handles(op)
    if not dropped:
        return None
    attrs, types, start = dict(op._attrs), [], 0
    for arg in op._op_def.inputs:
        number = attrs[arg.number_attr] if arg.number_attr else 1
        count = len(op._attrs[arg.type_list_attr]) if arg.type_list_attr else number
        slots = range(start, start + count)
        kept = [op._inputs[slot]._dtype.base_dtype for slot in slots if slot not in dropped]
        if arg.type_list_attr:
            attrs[arg.type_list_attr] = kept
        types += kept
        start += count
    results = [tensor._dtype for tensor in op._outputs]
    return Lowered(op._op_def, attrs, types, results, op._device)


def lowered(op: Operation) -> Lowered | None:
    """Return the node that an operation with resource variables becomes, or None for an operation
    without any.
    """
    if calls_functions(op):
        return _without_handles(op)
    name = op._op_def.name
    if name not in LOWERED and name not in _MAY_TAKE_HANDLES:
        return None
    if name == "IdentityN":
        return _values_of(op)
    lowering = _lowering(op)
    if name == "GuaranteeConst" and op._inputs[0]._dtype is resource:
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
    """Return the node for the IdentityN of an inlined function that receives variable handles, or
    None if this IdentityN receives none. The node forwards the variables' values.

    Readers of the returned handles get edges from the sources of the handles themselves (`prune`).
    """
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
    """Return the dtype that a tensor has as an output of a node. A variable handle has a reference
    dtype.
    """
    maker = handle_maker(tensor) if tensor._dtype is resource else None
    if maker is None:
        return tensor._dtype.base_dtype
    dtype: DType = maker._attrs["dtype"]
    return dtype._as_ref


def _attrs(op: Operation, op_def: OpDef, lowering: Lowering, maker: Operation) -> dict[str, Any]:
    """Return the attrs of the node. These are the op's attrs, renamed for the node's op type, the
    defaults of that op type, and the variable's dtype and shape.
    """
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
        attrs["_by_handle"] = True  # see `devices/variable_access.py`
        attrs |= {key: op._attrs[key] for key in (COPIES, COPY_DEVICES) if key in op._attrs}
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
    """Return the indices of the inputs of an op's node that must be references. For any other
    input, the node reads the value of the variable.
    """
    lowering = _lowering(op)
    return _slots(op._op_def if lowering is None else DECLARATIONS[lowering.op_type].op_def, op)


def _slots(op_def: OpDef, op: Operation) -> frozenset[int]:
    refs = [index for index, arg in enumerate(op_def.inputs) if arg.is_ref]
    return host_slots(op_def.inputs, frozenset(refs), op._attrs) if refs else _NO_SLOTS


_NO_SLOTS: frozenset[int] = frozenset()


def add_axis(unit: Unit, op: Operation, node: Node) -> None:
    """Add a constant as the axis input of the node that replaces a ResourceGather. A ResourceGather
    has no such input. Its axis is the value of `batch_dims`.
    """
    axis = unit.add_constant(node, "axis", np.array(op.attrs["batch_dims"], np.int32))
    variable = node.input_edge(0).src
    unit.graph.add_control_edge(variable, axis)  # makes the axis part of the same loop
    unit.graph.add_edge(axis, 0, node, 2)


def refuse_handle(tensor: Tensor) -> None:
    """Raise InvalidArgumentError if a fetched tensor is a variable handle, because a handle has no
    value.
    """
    maker = handle_maker(tensor) if tensor._dtype is resource else None
    if maker is not None:
        raise InvalidArgumentError(
            tensor.op._record,
            tensor.op,
            f"'{tensor.name}' is the handle of the variable '{maker.name}', made at "
            f"{maker.origin}, and has no value: fetch the variable",
        )
