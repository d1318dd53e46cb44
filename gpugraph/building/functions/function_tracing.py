"""Tracing: a Python function is called once, with tensors, to record the graph of a function.

    function = trace(lambda x: x * weight, [TensorSpec([None], tf.float32)], "scale")
    function.graph.inputs, function.graph.captured, function.graph.outputs
    function.add_to(graph)                      # the FunctionDef is then part of its GraphDef

An op that calls the function has an attr of kind "func" with the function as its value. The inputs
of the op are the arguments, followed by the captured tensors. As in TensorFlow 1.15, the default
seed of a random op is its index among the operations of the function.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.automatic_control_dependencies import (
    AutomaticControlDependencies,
    resource_uses,
)
from gpugraph.building.variable_scope.variable_store import variable_store
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction

_numbers = itertools.count(1)


class ArgumentSpec(Protocol):
    """The dtype and the static shape of an argument, such as a `TensorSpec`."""

    @property
    def dtype(self) -> DType:
        """The dtype."""

    @property
    def shape(self) -> TensorShape:
        """The static shape."""


def trace(
    function: Callable[..., Any],
    arguments: Sequence[ArgumentSpec],
    name: str = "function",
    flatten: Callable[[Any], Sequence[Tensor]] | None = None,
    outer_graph: Graph | None = None,
    argument_names: Sequence[str] = (),
    captures_by_value: bool = False,
    orders_effects: bool = True,
) -> GraphFunction:
    """Call a Python function with a tensor for each of `arguments`, and return the traced function.

    Args:
      name: the first part of the function's name in the library of its graph. A number makes the
        name unique.
      flatten: converts the value that the Python function returns to a list of tensors. This
        conversion runs while the function's graph is the default graph. The default accepts a list
        of tensors, one tensor, or None. The value itself becomes `graph.structured_outputs`.
      outer_graph: the graph that contains the function, by default the default graph.
      argument_names: the names of the placeholders, by default `args_0` and so on.
      captures_by_value: whether the operations behind a captured tensor are copied into the
        function.
      orders_effects: whether all ops with effects run in program order, once in each call.
        Otherwise a call runs only the ops on which the results depend.
    """
    outer = get_default_graph() if outer_graph is None else outer_graph
    variable_store(outer)  # made there, so that the function shares it
    graph = FuncGraph(name, outer)
    graph.captures_by_value = captures_by_value
    order = AutomaticControlDependencies() if orders_effects else None
    with graph.as_default(), order or nullcontext():
        names = argument_names or [f"args_{number}" for number in range(len(arguments))]
        inputs = [
            graph.add_input(spec.dtype, spec.shape, argument)
            for spec, argument in zip(arguments, names)
        ]
        graph.structured_outputs = function(*inputs)
        results = (flatten or tensors_of)(graph.structured_outputs)
        graph.outputs = [graph.capture(tensor) for tensor in results]
    if order is not None:
        graph.controls = sorted(order.ops_which_must_run, key=lambda op: op._id)
        graph.resource_uses = order.summary()
    else:
        inner = {tensor: outer for outer, tensor in graph.captures.items()}
        graph.resource_uses = resource_uses(graph, inner)
    return GraphFunction(f"__inference_{_clean(name)}_{next(_numbers)}", graph)


def tensors_of(results: Any) -> list[Tensor]:
    """Return the tensors of a list of tensors, of one tensor, or of None."""
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "function"
