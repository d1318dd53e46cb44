"""Functions that are values of attrs of imported ops. Each becomes a function with its own graph.

The last arguments of a function are captured tensors. The op has a separate argument for the
captured tensors: `other_arguments`, or an argument with the attr's name and a suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.graph_files.function_library import FunctionLibrary
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.graph.op_library import OP_DEFS

AddBody = Callable[[str, Any, Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[Operation]]]
"""A function from (name, attrs, arguments) to the results and side effects of a body, which it adds
to the default graph.
"""


def bind_functions(
    op: Operation, library: FunctionLibrary, add_body: Callable[[Graph], AddBody]
) -> None:
    """Replace the names of functions in the attrs of an operation by the functions.

    Raises ValueError, NotFoundError, or an error of the body's ops if a function can't be imported.
    """
    op_def = OP_DEFS.get(op.type)
    if op_def is None:
        return
    for key, attr in op_def.attrs.items():
        named = op._attrs.get(key)
        if attr.kind == "func" and named is not None and not isinstance(named, GraphFunction):
            function = _function(library, named, op, _captured(op, key), add_body)
            op._attrs = {**op._attrs, key: function}


def _captured(op: Operation, key: str) -> Sequence[Tensor]:
    """Return the inputs of an operation that are the captured tensors of the function in the attr
    `key`.
    """
    names = (f"{key}_other_arguments", f"{key}_other_args", "other_arguments", "captured_arguments")
    start = 0
    for arg in op._op_def.inputs:
        if arg.type_list_attr:
            count = len(op._attrs[arg.type_list_attr])
        else:
            count = op._attrs[arg.number_attr] if arg.number_attr else 1
        if arg.name in names:
            return op._inputs[start : start + count]
        start += count
    return ()


def _function(
    library: FunctionLibrary,
    named: Any,
    op: Operation,
    captured: Sequence[Tensor],
    add_body: Callable[[Graph], AddBody],
) -> GraphFunction:
    definition = library.functions.get(named.name)
    if definition is None:
        raise ValueError(f"Function {named.name} is not defined.")
    graph = FuncGraph(named.name, op.graph)
    arguments = definition.signature.input_arg
    first = len(arguments) - len(captured)
    with graph.as_default():
        tensors = []
        for number, arg in enumerate(arguments):
            if number < first:
                shape = _shape(definition, number)
                tensors.append(graph.add_input(as_dtype(arg.type), shape, arg.name))
            else:
                tensors.append(_capture(graph, captured[number - first]))
        results, controls = add_body(graph)(named.name, named.attr, tensors)
        graph.outputs = [graph.capture(tensor) for tensor in results]
        graph.controls = list(controls)
    return GraphFunction(named.name, graph, definition)


def _capture(graph: FuncGraph, tensor: Tensor) -> Tensor:
    if tensor not in graph.captures:
        return graph.capture(tensor)
    again: Any = object()  # two arguments stand for one tensor
    inner = graph.captures[tensor]
    graph.captures[again] = (
        inner
        if inner.op.type != "Placeholder"
        else graph._placeholder(tensor._dtype, tensor._shape, tensor.op.name)
    )
    return graph.captures[again]


def _shape(definition: Any, number: int) -> TensorShape:
    shapes = (
        definition.arg_attr[number].attr["_output_shapes"].list.shape
        if (number in definition.arg_attr)
        else ()
    )
    return as_shape(shapes[0]) if shapes else TensorShape.of(None)
