"""Variables that a traced function creates. The variables are created in the graph that contains
the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.function_calls.body_copy import BodyCopy
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.default_graph_functions import get_default_graph, init_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph, outermost


def creating_variables(function: Callable[..., Any], created: list[Any]) -> Callable[..., Any]:
    """Return a function that calls `function` and appends the variables that the call creates to
    `created`.
    """

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        del next_creator
        graph = get_default_graph()
        kwargs["use_resource"] = True
        with init_scope():
            kwargs["initial_value"] = _lifted(kwargs.get("initial_value"), graph)
            variable: Any = Variable(**kwargs)
        created.append(variable)
        return variable

    return _with_creator(function, creator)


def refusing_variables(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `function` and raises ValueError if the call creates a
    variable.
    """

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        raise ValueError(
            "tf.function-decorated function tried to create variables on non-first call. The "
            f"variable is '{kwargs.get('name')}'. Create it outside of the function, or only if "
            "it does not exist yet."
        )

    return _with_creator(function, creator)


def _with_creator(function: Callable[..., Any], creator: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with get_default_graph()._variable_creator_scope(creator):
            return function(*args, **kwargs)

    return call


def _lifted(value: Any, graph: Any) -> Any:
    """Return a variable's initial value as a tensor of the outermost graph around the function
    whose graph is `graph`.

    If the value is a tensor of the function, copy it with the operations on which it depends.
    Raises ValueError if the value depends on an argument of the function.
    """
    if not isinstance(value, Tensor) or not isinstance(graph, FuncGraph):
        return value
    if value.graph is not graph:
        return value
    target = outermost(graph)
    arguments = {inner: outer for outer, inner in graph.captures.items()}
    needed: set[Operation] = set()
    todo = [value]
    while todo:
        tensor = todo.pop()
        if tensor in graph.inputs:
            raise ValueError(
                f"The initial value of a variable needs the argument '{tensor.op.name}' of the "
                f"function '{graph.name}', which has no value when variables are initialized"
            )
        if tensor not in arguments and tensor.op not in needed:
            needed.add(tensor.op)
            todo += tensor.op._inputs
    body = BodyCopy(graph, target, arguments)
    body.make([op for op in graph._ops if op in needed])
    return body.tensors[value]
