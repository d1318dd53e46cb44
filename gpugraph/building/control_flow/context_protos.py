"""Protocol buffers of branches and loops. They make imported graphs differentiable.

The message of a context names the tensors that its operations may use: their own outputs, and
tensors from outside. After an import, an operation is put back into the context if the message
names one of its outputs and does not list that output as a tensor from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from gpugraph.building.control_flow.cond_context import CondContext
from gpugraph.building.control_flow.context_base import ControlFlowContext, within
from gpugraph.building.control_flow.while_context import WhileContext
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.collection_protos import register_proto_function
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.scoped_names import (
    is_in_scope,
    prepend_name_scope,
    strip_name_scope,
    tensor_in_scope,
)
from gpugraph.graph.client.tensor import Tensor

_SWITCHES = ("Switch", "RefSwitch")


def cond_to_proto(context: CondContext, export_scope: str | None = None) -> Any:
    """Return a branch as a CondContextDef, or None if its name is outside of `export_scope`."""
    message = messages_pb2.CondContextDef(branch=context.branch)
    parts = {"pred_name": context.pred, "pivot_name": context.pivot}
    return _written(message, context, parts, export_scope)


def while_to_proto(context: WhileContext, export_scope: str | None = None) -> Any:
    """Return a loop as a WhileContextDef, or None if its name is outside of `export_scope`."""
    message = messages_pb2.WhileContextDef(
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        loop_exit_names=[strip_name_scope(tensor.name, export_scope) for tensor in context.exits],
        loop_enter_names=[strip_name_scope(tensor.name, export_scope) for tensor in context.enters],
    )
    pivots = {"pivot_for_pred_name": context.pred_pivot, "pivot_for_body_name": context.body_pivot}
    parts = {field: None if op is None else op.outputs[0] for field, op in pivots.items()}
    parts |= {"pivot_name": context.pred, "maximum_iterations_name": context.maximum_iterations}
    return _written(message, context, parts, export_scope)


def _written(
    message: Any,
    context: CondContext | WhileContext,
    parts: Mapping[str, Tensor | None],
    export_scope: str | None,
) -> Any:
    """Fill in the fields that the messages of branches and loops share: names of tensors, and inner
    contexts.

    Returns the message, or None if the context's name is outside of `export_scope`.

    Args:
      parts: maps each field of `message` that holds one name to the tensor with this name. For
        None, the field stays unset.
    """
    if not is_in_scope(context.name, export_scope):
        return None
    strip = partial(strip_name_scope, export_scope=export_scope)
    message.context_name = strip(context.name)
    for field, tensor in parts.items():
        if tensor is not None:
            setattr(message, field, strip(tensor.name))
    known = sorted(tensor.name for tensor in context.known)
    message.values_def.values.extend([strip(name) for name in known])
    for outer, stand_in in context.stand_ins.items():
        message.values_def.external_values[strip(outer.name)] = strip(stand_in.name)
    for nested in context.nested:
        inner = message.nested_contexts.add()
        if isinstance(nested, CondContext):
            inner.cond_ctxt.CopyFrom(cond_to_proto(nested, export_scope))
        elif isinstance(nested, WhileContext):
            inner.while_ctxt.CopyFrom(while_to_proto(nested, export_scope))
    return message


def cond_from_proto(message: Any, import_scope: str | None = None) -> CondContext:
    """Return the branch of a CondContextDef, in the default graph. Raises KeyError if a name is not
    in the graph.
    """
    find = partial(tensor_in_scope, import_scope=import_scope)
    context = CondContext(
        find(message.pred_name),
        find(message.pivot_name),
        message.branch,
        prepend_name_scope(message.context_name, import_scope),
    )
    _read_shared(context, message, import_scope)
    return context


def while_from_proto(message: Any, import_scope: str | None = None) -> WhileContext:
    """Return the loop of a WhileContextDef, in the default graph.

    Raises KeyError if a name is not in the graph.
    """
    find = partial(tensor_in_scope, import_scope=import_scope)
    pivot: Tensor = find(message.pivot_name)
    limit = message.maximum_iterations_name
    context = WhileContext(
        pivot.graph,
        message.parallel_iterations,
        message.back_prop,
        message.swap_memory,
        find(limit) if limit else None,
        frame=prepend_name_scope(message.context_name, import_scope),
    )
    context.pred = pivot
    context.pred_pivot = find(message.pivot_for_pred_name).op
    context.body_pivot = find(message.pivot_for_body_name).op
    context.exits = [find(name) for name in message.loop_exit_names]
    context.enters = [find(name) for name in message.loop_enter_names]
    for op in _read_shared(context, message, import_scope):
        if op.type in ("Enter", "RefEnter") and import_scope:
            op._attrs = {**op._attrs, "frame_name": context.name}
    return context


def _read_shared(
    context: ControlFlowContext, message: Any, import_scope: str | None
) -> list[Operation]:
    """Read the fields that are common to branches and loops, and put the operations into `context`.

    Inner contexts are also created, and their operations are put into them.

    Returns the operations whose outputs the message names, except those from outside.
    """
    find = partial(tensor_in_scope, import_scope=import_scope)
    external = message.values_def.external_values
    for outer, stand_in in external.items():
        context.stand_ins[find(outer)] = find(stand_in)
    context.known |= {find(name) for name in message.values_def.values}
    ops = [find(name).op for name in message.values_def.values if name not in external]
    for op in ops:
        if not isinstance(context, CondContext) or op is not context.pred.op:
            op._control_flow_context = context
    if isinstance(context, WhileContext):
        context.switches = {
            op for op in ops if op.type in _SWITCHES and op._inputs[1] is context.pred
        }
    with within(context.graph, context):
        for inner in message.nested_contexts:
            if inner.WhichOneof("ctxt") == "cond_ctxt":
                cond_from_proto(inner.cond_ctxt, import_scope)
            elif inner.WhichOneof("ctxt") == "while_ctxt":
                while_from_proto(inner.while_ctxt, import_scope)
    for op in ops:
        if op._call is not None:
            context.known.update(op._outputs)  # TensorFlow adds outputs for gradients later
            if op._control_flow_context is context:
                _take_in(context, op._call.body)
    return ops


def _take_in(context: ControlFlowContext, body: Iterable[Operation]) -> None:
    """Put the body of an inlined call, including its branches and loops, into the context."""
    for op in body:
        if op._control_flow_context is None:
            op._control_flow_context = context
        else:
            *_, outermost = op._control_flow_context.outwards()
            if outermost is not context and outermost not in context.outwards():
                outermost.outer = context
                context.nested.append(outermost)
        for around in context.outwards():
            around.known.update(op._outputs)


register_proto_function(GraphKeys.COND_CONTEXT, "CondContextDef", cond_to_proto, cond_from_proto)
register_proto_function(
    GraphKeys.WHILE_CONTEXT, "WhileContextDef", while_to_proto, while_from_proto
)
