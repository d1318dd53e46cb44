"""Inlining of function calls in an imported graph.

An operation `f` that calls a function becomes an IdentityN of operations in the scope `f/`: the
nodes of the function's body, or the `tf.cond`, `tf.switch_case`, `tf.while_loop` or gradient that
`If`, `Case`, `While` and `SymbolicGradient` represent. So the graph has only op types that the
passes, gradients and tools support. If a call can't be inlined, for example because the function is
recursive, the call remains as an operation that fails in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import Any

from gpugraph.base.dtypes import bool as bool_type, string
from gpugraph.base.errors import OpError, UnimplementedError
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.case_and_switch_case import switch_case
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex, Source
from gpugraph.building.graph_files.imported_functions import AddBody, bind_functions
from gpugraph.building.graph_files.node_import import NodeImport
from gpugraph.formats import messages_pb2
from gpugraph.formats.attr_value_messages import write_attr
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.inlined_call import InlinedCall
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant

Results = tuple[Sequence[Tensor], Sequence[Operation]]
"""The result tensors of a call, and the operations that it runs even if no result needs them."""

_CONTEXTS = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT)


def inline_calls(nodes: NodeImport) -> None:
    """Inline the calls of functions among imported operations. The operations must be in their
    graph already.
    """
    for op in nodes.calls:
        _inline(nodes, op)
    for op in nodes.ops.values():
        if op._op_def.attrs and op.type not in CALL_OP_DEFS:
            _bind(nodes, op)
    if nodes.calls:
        nodes.infer_again()


def _bind(nodes: NodeImport, op: Operation) -> None:
    """Import the functions that are values of the op's attrs. If the import fails, running the op
    raises the error.
    """

    def add_body(graph: Graph) -> AddBody:
        inner = copy(nodes)
        inner.graph = graph
        return _Call(inner, op).body_of

    try:
        bind_functions(op, nodes.library, add_body)
    except (OpError, ValueError, TypeError, NotImplementedError, LookupError) as error:
        op._refusal = _refusal(op, error)


def _inline(nodes: NodeImport, op: Operation) -> None:
    graph = nodes.graph
    first = len(graph._ops)
    contexts = {key: [*graph.get_collection_ref(key)] for key in _CONTEXTS}
    try:
        with ExitStack() as scopes:
            scopes.enter_context(graph.as_default())
            scopes.enter_context(graph.name_scope(f"{op.name}/"))
            if op._device:
                scopes.enter_context(graph.device(op._device))
            if op._control_inputs:
                scopes.enter_context(graph.control_dependencies(op._control_inputs))
            results, controls = _Call(nodes, op).results()
            body = _made_for(graph, op, first)
    except (OpError, ValueError, TypeError, NotImplementedError, LookupError) as error:
        graph._drop_last(first)
        op._refusal = _refusal(op, error)
        return
    finally:
        for key, items in contexts.items():  # contexts inside the body are not added to collections
            graph.get_collection_ref(key)[:] = items
    call = InlinedCall(op._op_def, op._attrs, op._inputs, op._control_inputs, body)
    op_def = OP_DEFS["IdentityN" if results else "NoOp"]
    attrs = {"T": [tensor.dtype.base_dtype for tensor in results]} if results else {}
    graph._turn_into(op, op_def, attrs, tuple(results), tuple(controls))
    op._call = call


def _made_for(graph: Graph, op: Operation, first: int) -> list[Operation]:
    """Return the operations in the scope of `op`, starting at index `first` of the graph's
    operations.
    """
    return [inner for inner in graph._ops[first:] if inner.name.startswith(f"{op.name}/")]


def _refusal(op: Operation, error: Exception) -> OpError:
    if isinstance(error, OpError):
        return error
    return UnimplementedError.of_no_node(
        f"The call of a function by '{op.name}' (op: '{op.type}') can't be inlined: {error}"
    )


class _Call:
    """The inlining of one call, the operation `op`.

    Attributes:
      producer: the version of the GraphDef that contains the call.
    """

    def __init__(self, nodes: NodeImport, op: Operation) -> None:
        self.graph = nodes.graph
        self.library = nodes.library
        self.producer = nodes.made_by
        self.op = op
        self.attrs = op._attrs

    def results(self) -> Results:
        """Build the ops that replace the call, in the current scope. Return the results of the
        call.
        """
        build: Callable[[_Call], Results] | None = _BUILDERS.get(self.op.type)
        if build is not None:
            return build(self)
        attrs: dict[str, Any] = {}
        for key, value in self.attrs.items():
            attrs[key] = messages_pb2.AttrValue()
            write_attr(attrs[key], value)
        return self.body_of(self.op.type, attrs, self.op._inputs)

    def body_of(self, name: str, attrs: Any, arguments: Sequence[Tensor]) -> Results:
        """Import the body of a function into the current scope, with `arguments` as its
        arguments.
        """
        library = self.library
        if name in library.active:
            raise UnimplementedError.of_no_node(
                f"The function '{name}' calls itself ({' > '.join(library.active)} > {name}): "
                "recursion does not run here"
            )
        body = library.body(name, attrs)
        if len(body.arguments) != len(arguments):
            raise ValueError(
                f"The function '{name}' takes {len(body.arguments)} arguments, not {len(arguments)}"
            )
        mapped: dict[Source, Any] = dict(zip(body.arguments, arguments))
        mapped |= {(source[0], -1): tensor.op for source, tensor in mapped.items()}
        index = GraphDefIndex(body.nodes, mapped)
        names = {node: self.graph.unique_name(node) for node in index.names}
        nodes = NodeImport(self.graph, index, names, mapped, library, self.producer)
        library.active.append(name)
        try:
            nodes.make()
            nodes.enter()
            inline_calls(nodes)
        finally:
            library.active.pop()
        results = [mapped[s] if s in mapped else nodes.output(name, s) for s in body.returns]
        return results, [nodes.ops[control] for control in body.controls]

    def function(self, key: str, arguments: Sequence[Tensor]) -> Results:
        """Import the body of the function that the attr `key` names, in a scope named `key`."""
        return self.function_of(self.attrs[key], key, arguments)

    def function_of(self, named: Any, scope: str, arguments: Sequence[Tensor]) -> Results:
        """Import a function's body into a name scope.

        Args:
          named: a NameAttrList message. The attrs of this message replace the placeholders in the
            attrs of the body's nodes.
        """
        with self.graph.name_scope(scope):
            return self.body_of(named.name, named.attr, arguments)

    def branch(self, named: Any, scope: str, arguments: Sequence[Tensor]) -> Any:
        """Return the results of a branch, for `tf.cond`. If the branch has no results, return an
        operation.
        """
        results, controls = self.function_of(named, scope, arguments)
        with self.graph.control_dependencies(controls):
            if not results:
                return raw_ops.NoOp()
            return [raw_ops.Identity(tensor) for tensor in results] if controls else list(results)


def _partitioned_call(call: _Call) -> Results:
    named = call.attrs["f"]
    return call.body_of(named.name, named.attr, call.op._inputs)


def _if(call: _Call) -> Results:
    pred, *arguments = call.op._inputs
    branches = [
        lambda key=key: call.branch(call.attrs[key], key, arguments)
        for key in ("then_branch", "else_branch")
    ]
    return _chosen(call, cond(truth_of(pred), branches[0], branches[1], strict=True))


def _case(call: _Call) -> Results:
    index, *arguments = call.op._inputs
    branches = [
        lambda named=named, number=number: call.branch(named, f"branch{number}", arguments)
        for number, named in enumerate(call.attrs["branches"])
    ]
    return _chosen(call, switch_case(index, branches))


def _chosen(call: _Call, results: Any) -> Results:
    if call.op._outputs:
        return results, ()
    return (), (getattr(results, "op", results),)


def truth_of(value: Tensor) -> Tensor:
    """Return a bool tensor that is false if the value is zero or empty, otherwise true."""
    if value.dtype.base_dtype is bool_type:
        return value
    if value.shape.rank != 0:
        return raw_ops.Greater(raw_ops.Size(value), constant(0))
    if value.dtype.base_dtype is string:
        return raw_ops.Greater(raw_ops.StringLength(value), constant(0))
    return raw_ops.NotEqual(value, constant(0, value.dtype.base_dtype))


def _while(call: _Call) -> Results:
    inputs = call.op._inputs
    constants = _passed_on(call)
    varying = [slot for slot in range(len(inputs)) if slot not in constants]
    if not varying:
        varying, constants = [*constants], set()
    shapes = call.attrs["output_shapes"] or [TensorShape.of(None)] * len(inputs)
    arguments = [_of_shape(tensor, shape) for tensor, shape in zip(inputs, shapes)]

    def complete(values: Sequence[Tensor]) -> list[Tensor]:
        inside = dict(zip(varying, values))
        return [inside.get(slot, argument) for slot, argument in enumerate(arguments)]

    def condition(*values: Tensor) -> Tensor:
        (result,), controls = call.function("cond", complete(values))
        with call.graph.control_dependencies(controls):
            return truth_of(raw_ops.Identity(result) if controls else result)

    def body(*values: Tensor) -> list[Tensor]:
        results, controls = call.function("body", complete(values))
        with call.graph.control_dependencies(controls):
            inside = [raw_ops.Identity(results[slot]) for slot in varying]
        return [_of_shape(tensor, shapes[slot]) for tensor, slot in zip(inside, varying)]

    ends = while_loop(
        condition,
        body,
        [arguments[slot] for slot in varying],
        shape_invariants=[shapes[slot] for slot in varying],
        parallel_iterations=max(call.attrs["parallel_iterations"], 1),
        return_same_structure=True,
    )
    return complete(ends), ()


def _for(call: _Call) -> Results:
    start, limit, delta, *values = call.op._inputs
    zero = raw_ops.ZerosLike(delta)
    upwards = raw_ops.Greater(delta, zero)

    def condition(index: Tensor, *_: Tensor) -> Tensor:
        less, greater = raw_ops.Less(index, limit), raw_ops.Greater(index, limit)
        chosen: Tensor = raw_ops.Select(upwards, less, greater)
        return chosen

    def body(index: Tensor, *inner: Tensor) -> list[Tensor]:
        results, controls = call.function("body", [index, *inner])
        with call.graph.control_dependencies(controls):
            return [raw_ops.AddV2(index, delta), *(raw_ops.Identity(x) for x in results)]

    ends = while_loop(condition, body, [start, *values], return_same_structure=True)
    return ends[1:], ()


def _of_shape(tensor: Tensor, shape: TensorShape) -> Tensor:
    """Return `tensor` with the static shape `shape`. If this shape is incompatible or not more
    specific, return `tensor` unchanged.
    """
    if shape.is_compatible_with(tensor.shape) and tensor.shape.merge_with(shape) != tensor.shape:
        tensor = raw_ops.Identity(tensor)
        tensor.set_shape(shape)
    return tensor


def _passed_on(call: _Call) -> set[int]:
    """Return the indices of the loop variables that the loop's body returns unchanged."""
    function = call.library.functions.get(call.attrs["body"].name)
    if function is None:
        return set()
    signature = function.signature
    pairs = zip(signature.input_arg, signature.output_arg)
    return {
        slot for slot, (arg, result) in enumerate(pairs) if function.ret[result.name] == arg.name
    }


def _symbolic_gradient(call: _Call) -> Results:
    named, inputs = call.attrs["f"], call.op._inputs
    custom = call.library.gradients.get(named.name)
    if custom:
        return call.body_of(custom, named.attr, inputs)
    count = len(call.op._outputs)
    arguments = [raw_ops.Identity(tensor) for tensor in inputs[:count]]
    results, controls = call.body_of(named.name, named.attr, arguments)
    input_gradients = gradients(list(results), arguments, list(inputs[count:]))
    zeros = [
        raw_ops.ZerosLike(argument) if gradient is None else gradient
        for gradient, argument in zip(input_gradients, arguments)
    ]
    return zeros, controls


_BUILDERS: dict[str, Callable[[_Call], Results]] = {
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), _partitioned_call),
    **dict.fromkeys(("If", "StatelessIf"), _if),
    **dict.fromkeys(("Case", "StatelessCase"), _case),
    **dict.fromkeys(("While", "StatelessWhile"), _while),
    "For": _for,
    "SymbolicGradient": _symbolic_gradient,
}
