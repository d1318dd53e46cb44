"""Prune: create the runtime graph with only the ops that the fetches and targets of a run need.

The pass follows data and control inputs backward from the fetches and targets. A fed tensor becomes
an `_Arg`. The op that computes the tensor is dropped, unless another output of the op is needed.
Each fetched tensor gets a `_Retval`. A control dependency on a fed placeholder becomes a control
dependency on its `_Arg`. `RunRequest.connections` maps tensors to other tensors that replace them.

Resource variables become reference variables: see `compile/lowering/resource_variable_lowering.py`.

A variable is placed on a device once, for all runs of the session, so its device must not depend on
which run comes first. Therefore the placer also receives the variable's kin. These are all ops in
the client's graph that write the variable or have a reference to it as an input.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

from gpugraph.base.dtypes import DType, resource, runtime_name
from gpugraph.base.errors import InvalidArgumentError, OpError
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.lowering.loop_entries import start_loops_early
from gpugraph.compile.lowering.resource_variable_lowering import (
    add_axis,
    dropped_handles,
    lowered,
    ref_slots,
    refuse_handle,
)
from gpugraph.compile.unit.compile_unit import (
    FeedSpec,
    RunRequest,
    Source,
    Target,
    Unit,
    variable_key,
)
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import returned_handle
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass, RuntimeGraph
from gpugraph.graph.op_def import OpDef
from gpugraph.ops.framework.op_declaration import DECLARATIONS


def prune(target: Target, request: RunRequest) -> Unit:
    """Return the unit that is the input of all later passes.

    Raises InvalidArgumentError, with the names of the placeholders, if a placeholder that the run
    needs is not fed.
    """
    graph, feeds, fetches, targets, connections, done, report = request
    unit = Unit(request.key, target, RuntimeGraph(), feeds)
    unit.report_of = report
    with unit.report("prune") as set_outcome:
        fed = {graph.get_tensor_by_name(feed.name): feed for feed in feeds}
        needed = _needed(fed, fetches, targets, connections, done)
        _refuse_unfed(needed)
        nodes = {op: _add_op(unit.graph, op) for op in needed}
        _note_kin(unit, nodes)
        fed_by: dict[Tensor, Source] = {
            tensor: (_add_arg(unit, tensor, feed), 0) for tensor, feed in fed.items()
        }
        for tensor, source in connections.items():
            if source in fed_by:
                fed_by[tensor] = fed_by[source]
            elif source.op in nodes:
                fed_by[tensor] = nodes[source.op], source.value_index
        _add_edges(unit, nodes, fed_by, done)
        for index, tensor in enumerate(fetches):
            refuse_handle(tensor)
            _add_retval(unit, index, tensor, nodes, fed_by)
        unit.roots = [*unit.retvals, *(nodes[op] for op in targets)]
        start_loops_early(unit.graph)
        set_outcome(f"{len(needed)} of {graph.version} operations are needed", ())
    return unit


def _needed(
    fed: dict[Tensor, FeedSpec],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    connections: Mapping[Tensor, Tensor],
    done: Collection[Operation],
) -> list[Operation]:
    """Return the operations that the run must execute, in order of creation."""
    if connections:
        fetches = [connections.get(tensor, tensor) for tensor in fetches]
    connected = {tensor.op: source.op for tensor, source in connections.items()}
    arrived = {tensor.op for tensor in fed if tensor.op.type == "Placeholder"}
    stack = [tensor.op for tensor in fetches if tensor not in fed] + list(targets)
    seen = set(stack)
    while stack:
        op = stack.pop()
        for tensor in op._inputs:
            if connections:
                tensor = connections.get(tensor, tensor)
            maker = tensor.op
            if maker not in seen and tensor not in fed:
                seen.add(maker)
                stack.append(maker)
        for control_input in op._control_inputs:
            maker = connected.get(control_input, control_input)
            if maker not in seen and maker not in arrived and control_input not in done:
                seen.add(maker)
                stack.append(maker)
    return sorted(seen, key=attrgetter("_id"))


def _refuse_unfed(needed: Sequence[Operation]) -> None:
    unfed = [op for op in needed if op.type == "Placeholder"]
    if not unfed:
        return
    op = unfed[0]
    dtype = runtime_name(op.attrs["dtype"])
    sizes = op.attrs["shape"].sizes
    listed = "<unknown>" if sizes is None else _listed(sizes)
    also = ", ".join(f"'{other.name}'" for other in unfed[1:6])
    raise _refusal(
        op,
        f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype} and shape "
        f"{listed}" + (f" (and for {also})" if also else ""),
    )


def _refusal(
    op: Operation, message: str, error_class: Callable[..., OpError] = InvalidArgumentError
) -> OpError:
    where = f"\n\t [[node {op.name} (defined at {op.origin})]]"
    return error_class(op._record, op, message + where)


def _listed(sizes: Sequence[int | None]) -> str:
    return "[" + ",".join("?" if size is None else str(size) for size in sizes) + "]"


def _add_op(graph: RuntimeGraph, op: Operation) -> Node:
    if op._refusal is not None:
        raise _refusal(op, op._refusal.message, type(op._refusal))
    lowering = lowered(op)
    node = _as_it_is(op) if lowering is None else lowering
    op_def, attrs, input_types, output_types, device = node
    return graph.add_node(
        op.name,
        op_def,
        attrs=attrs,
        input_types=input_types,
        output_types=output_types,
        requested_device=device,
        origin=op.origin,
        shares_attrs=True,
    )


def _as_it_is(op: Operation) -> tuple[OpDef, dict[str, Any], Sequence[DType], Sequence[DType], str]:
    """Return the fields of `Lowered` for an operation that neither takes nor returns the handle of
    a resource variable.
    """
    op_def, attrs = op._op_def, op._attrs
    if op_def.name == "VariableV2" and _is_resizable(op):
        attrs = {**attrs, "_resizable": True}
    elif op_def.name == "PlaceholderWithDefault":  # not fed: it has the shape of its default
        op_def, attrs = DECLARATIONS["Identity"].op_def, {"T": attrs["dtype"]}
    input_types = [tensor._dtype for tensor in op._inputs]
    for dtype in input_types:
        if dtype.is_ref_dtype:
            input_types = _read_or_referred(op, input_types)
            break
    output_types = [tensor._dtype for tensor in op._outputs]
    return op_def, attrs, input_types, output_types, op._device


def _read_or_referred(op: Operation, dtypes: Sequence[DType]) -> list[DType]:
    """Return the dtypes of the inputs of an op's node. An input has a reference dtype only if the
    op requires a reference.
    """
    refs = ref_slots(op)
    return [dtype if slot in refs else dtype.base_dtype for slot, dtype in enumerate(dtypes)]


def _referring(variable: Operation) -> list[Operation]:
    """Return the ops of the client's graph that have a reference to the variable, or its handle, as
    an input, directly or through ops that forward it. Ops that only read the variable's value are
    not included.
    """
    referring: dict[Operation, None] = {}
    stack = [variable]
    while stack:
        for tensor in stack.pop()._outputs:
            refers = tensor._dtype.is_ref_dtype or tensor._dtype is resource
            for op in tensor.consumers() if refers else ():
                takes = any(op._inputs[slot] is tensor for slot in ref_slots(op))
                if takes and op not in referring:
                    referring[op] = None
                    stack.append(op)
    return list(referring)


def _is_resizable(variable: Operation) -> bool:
    """Return whether an Assign with `validate_shape` False may change the variable's shape."""
    return any(
        op.type == "Assign" and not op.attrs["validate_shape"] for op in _referring(variable)
    )


def _note_kin(unit: Unit, nodes: dict[Operation, Node]) -> None:
    """Record the kin of each variable: the ops outside this run that refer to the variable, as
    nodes without edges.

    Several nodes may represent one variable if they have the same shared name. If one node of a
    variable is resizable, all its nodes are marked as resizable.
    """
    elsewhere = RuntimeGraph()
    variables = {op: node for op, node in nodes.items() if node.node_class is NodeClass.VARIABLE}
    resizable = {variable_key(node) for node in variables.values() if "_resizable" in node.attrs}
    for op, node in variables.items():
        if variable_key(node) in resizable:
            node.attrs = {**node.attrs, "_resizable": True}
        kin = [other for other in _referring(op) if other not in nodes]
        if kin:
            unit.kin[node.id] = [
                elsewhere.find(other.name) or _add_op(elsewhere, other) for other in kin
            ]


def _add_arg(unit: Unit, tensor: Tensor, feed: FeedSpec) -> Node:
    index = len(unit.args)
    shape = TensorShape.of(feed.shape)
    node = unit.graph.add_node(
        f"_arg_{tensor.op.name}_{tensor.value_index}_{index}",
        DECLARATIONS["_Arg"].op_def,
        attrs={"T": tensor.dtype.base_dtype, "index": index, "shape": shape, "tensor": tensor.name},
        output_types=[tensor.dtype.base_dtype],
        origin=tensor.op.origin,
    )
    unit.args.append(node)
    return node


def _add_edges(
    unit: Unit,
    nodes: dict[Operation, Node],
    fed_by: dict[Tensor, Source],
    done: Collection[Operation],
) -> None:
    graph = unit.graph
    for op, node in nodes.items():
        for index, tensor in enumerate(_edge_inputs(op, node)):
            if tensor._dtype is resource and tensor.op.type == "IdentityN":
                graph.add_control_edge(nodes[tensor.op], node)
                tensor = returned_handle(tensor)
            source = fed_by.get(tensor) if fed_by else None
            if source is None:
                graph.add_edge(nodes[tensor.op], tensor.value_index, node, index)
            else:
                fed_type = source[0].output_types[source[1]]
                if node.input_types[index].is_ref_dtype and not fed_type.is_ref_dtype:
                    raise _refusal(
                        op,
                        f"Input {index} of '{op.name}' must refer to a variable, but a value is "
                        f"fed for '{tensor.name}'",
                    )
                graph.add_edge(*source, node, index)
        if op.type == "ResourceGather":
            add_axis(unit, op, node)
        for other in op._control_inputs:
            if other not in done:
                source_node = nodes.get(other) or fed_by[other._outputs[0]][0]
                graph.add_control_edge(source_node, node)


def _edge_inputs(op: Operation, node: Node) -> Sequence[Tensor]:
    """Return the inputs of an operation that its node has as well."""
    if len(node.input_types) >= len(op._inputs):
        return op._inputs
    dropped = dropped_handles(op)
    return [tensor for slot, tensor in enumerate(op._inputs) if slot not in dropped]


def _add_retval(
    unit: Unit,
    index: int,
    tensor: Tensor,
    nodes: dict[Operation, Node],
    fed_by: dict[Tensor, Source],
) -> None:
    node = unit.graph.add_node(
        f"_retval_{tensor.op.name}_{tensor.value_index}_{index}",
        DECLARATIONS["_Retval"].op_def,
        attrs={"T": tensor.dtype.base_dtype, "index": index},
        input_types=[tensor.dtype.base_dtype],
        origin=tensor.op.origin,
    )
    source = fed_by.get(tensor) or (nodes[tensor.op], tensor.value_index)
    unit.graph.add_edge(*source, node, 0)
    unit.retvals.append(node)
