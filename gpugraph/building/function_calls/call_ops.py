"""Ops that call a traced function: a PartitionedCall, or an op whose type is the function's name.

The function's operations are copied into the graph of the call, in the name scope of the op. The op
remains and forwards the results of the copies. GraphDefs contain the call and the function instead
of the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any

from gpugraph.building.control_flow.automatic_control_dependencies import resource_uses
from gpugraph.building.function_calls.body_copy import BodyCopy
from gpugraph.building.gradients.gradient_registry import CUSTOM
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.op_def_import import op_def_of_message
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.inlined_call import InlinedCall
from gpugraph.graph.client.node_messages import is_stateful_in_tensorflow
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.arrays.identity_n import identity_n

Gradient = Callable[..., Sequence[Any]]
"""Maps the op of a call and the gradients at its outputs to the gradients at its inputs."""


def is_stateful(function: GraphFunction) -> bool:
    """Return whether the function has a stateful op. If so, TensorFlow's call op is stateful as
    well.
    """
    graph = function.graph
    arguments = {tensor.op for tensor in graph.arguments}
    return any(is_stateful_in_tensorflow(op._op_def) and op not in arguments for op in graph._ops)


def partitioned_call_op(
    function: GraphFunction, args: Sequence[Tensor], name: str | None = None
) -> Operation:
    """Return a PartitionedCall of the function or, if the function is stateful, a
    StatefulPartitionedCall.
    """
    op_type = "StatefulPartitionedCall" if is_stateful(function) else "PartitionedCall"
    attrs = {
        "Tin": [tensor.dtype.base_dtype for tensor in args],
        "Tout": [tensor.dtype.base_dtype for tensor in function.graph.outputs],
        "f": function,
    }
    return _called(function, CALL_OP_DEFS[op_type], attrs, args, name or op_type)


def named_call(
    function: GraphFunction,
    args: Sequence[Tensor],
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    gradient: Gradient | None = None,
) -> Operation:
    """Return a call whose op type is the name of the function.

    Args:
      attrs: additional attrs of the op.
      gradient: a gradient function for the call as a whole, which replaces the gradients of the
        function's ops.
    """
    op_def = op_def_of_message(function.definition().signature)
    return _called(function, op_def, attrs or {}, args, name or function.name, gradient)


def local(graph: Graph, tensor: Tensor) -> Tensor:
    """Return the tensor that `graph` uses for a tensor of an outer graph. In a function, this is
    the capture.
    """
    captured: Tensor = graph.capture(tensor) if isinstance(graph, FuncGraph) else tensor
    return captured


Build = Callable[[Operation], tuple[Sequence[Tensor], Sequence[Operation]]]
"""A function that builds the operations of a call in the scope of its op. It returns results and
effects.
"""


def _called(
    function: GraphFunction,
    op_def: Any,
    attrs: dict[str, Any],
    args: Sequence[Tensor],
    name: str,
    gradient: Gradient | None = None,
) -> Operation:
    graph = get_default_graph()
    twins: dict[Tensor, Tensor] = {}

    def build(op: Operation) -> tuple[Sequence[Tensor], Sequence[Operation]]:
        body = BodyCopy(function.graph, graph, dict(zip(function.graph.arguments, op._inputs)))
        body.make()
        twins.update({copy: original for original, copy in body.tensors.items()})
        results = [body.tensors[tensor] for tensor in function.graph.outputs]
        if gradient is not None and results:
            results = _with_gradient(op, results, op._inputs, gradient)
        return results, [body.control(control) for control in function.graph.controls]

    args = [local(graph, tensor) for tensor in args]
    uses = resource_uses(function.graph, dict(zip(function.graph.arguments, args)))
    function.add_to(graph)
    return built_call(op_def, attrs, args, function.graph.outputs, name, uses, build, twins=twins)


def built_call(
    op_def: Any,
    attrs: dict[str, Any],
    args: Sequence[Tensor],
    like: Sequence[Tensor],
    name: str,
    uses: Mapping[Any, bool],
    build: Build,
    is_written: bool = True,
    twins: Mapping[Tensor, Tensor] = MappingProxyType({}),
) -> Operation:
    """Return a call op whose operations `build` creates.

    Args:
      like: a tensor for each output, with its dtype and shape.
      uses: the resources that the call uses, from `resource_uses`.
      is_written: whether GraphDefs contain the call op.
      twins: see `InlinedCall`.
    """
    graph = get_default_graph()
    order = graph._scope.automatic
    with ExitStack() as scopes:
        if order is not None and uses:
            scopes.enter_context(graph.control_dependencies(order.pending()))
        types = [tensor._dtype.base_dtype for tensor in like]
        op = graph.create_op(op_def.name, args, types, attrs=attrs, op_def=op_def, name=name)
        for tensor, result in zip(op._outputs, like):
            tensor._shape = result._shape
        _inline(graph, op, build, is_written, twins)
    if order is not None:
        order.adopt_call(uses, op)
    return op


def _inline(
    graph: Graph, op: Operation, build: Build, is_written: bool, twins: Mapping[Tensor, Tensor]
) -> None:
    """Replace the op of a call by the operations that `build` creates in the op's scope. The op
    forwards their results.
    """
    first = len(graph._ops)
    state = graph._scope
    inputs, control_inputs = op._inputs, op._control_inputs
    with ExitStack() as scopes:
        scopes.enter_context(graph.as_default())
        scopes.enter_context(graph.name_scope(f"{op.name}/"))
        if op._device:
            scopes.enter_context(graph.device(op._device))
        if control_inputs:
            scopes.enter_context(graph.control_dependencies(control_inputs))
        order, state.automatic = state.automatic, None
        try:
            results, controls = build(op)
        finally:
            state.automatic = order
        new_ops = list(graph._ops[first:])
    call = InlinedCall(op._op_def, op._attrs, inputs, control_inputs, new_ops, twins)
    op_def = OP_DEFS["IdentityN" if results else "NoOp"]
    attrs = {"T": [tensor.dtype.base_dtype for tensor in results]} if results else {}
    graph._turn_into(op, op_def, attrs, tuple(results), tuple(controls))
    op._call = call if is_written else None


class CallView:
    """The op of a call as its gradient function receives it, with the arguments of the call as
    inputs.
    """

    def __init__(self, op: Operation, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self._op = op
        self.inputs = tuple(inputs)
        self.outputs = list(outputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._op, name)


def _with_gradient(
    op: Operation, results: Sequence[Tensor], inputs: Sequence[Tensor], gradient: Gradient
) -> list[Tensor]:
    """Pass results and arguments through an IdentityN whose gradient function is the gradient
    function of the call.
    """
    count = len(results)
    passed: list[Tensor] = identity_n([*results, *inputs])
    maker = passed[0].op
    view = CallView(op, passed[count:], passed[:count])

    def call(_: Operation, *grads: Any) -> list[Any]:
        input_grads = gradient(view, *grads[:count])
        input_grads = list(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]
        if len(input_grads) != len(inputs):
            raise ValueError(
                f"The gradient function of '{op.name}' gave {len(input_grads)} gradients for "
                f"{len(inputs)} arguments"
            )
        return [None] * count + input_grads

    maker._attrs = {**maker._attrs, "_gradient_op_type": f"FunctionGradient-{op.name}"}
    setattr(maker, CUSTOM, call)
    return passed[:count]
