"""`tf.wrap_function`: code for TensorFlow 1 as a function that has separate variables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.function_calls.body_copy import BodyCopy
from gpugraph.building.function_calls.concrete_function import ConcreteFunction, traced
from gpugraph.building.function_calls.function_arguments import Arguments
from gpugraph.building.function_calls.lifted_variables import creating_variables
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec


class WrappedFunction(ConcreteFunction):
    """A function that was traced once and runs like a graph in a session.

    A call runs only the ops on which its results depend. Data and control dependencies alone
    determine their order.

    Attributes:
      variables: the variables that the function uses, including the variables that it has created.
    """

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> WrappedFunction:
        """Return a function that computes `fetches` from the tensors `feeds`. The feeds and the
        fetches are elements of this function's graph.
        """
        del input_signature
        graph = self.graph
        captured = {inner: outer for outer, inner in graph.captures.items()}
        feed_tensors = [_element(graph, feed) for feed in flatten(feeds)]
        wanted = map_structure(lambda fetch: _element(graph, fetch), fetches)
        for element in [*feed_tensors, *flatten(wanted)]:
            if element.graph is not graph:
                raise ValueError(
                    "Can only prune function whose feeds and fetches are from this graph "
                    f"({graph}). Input {element} is from graph {element.graph}"
                )
        if not all(isinstance(feed, Tensor) for feed in feed_tensors):
            raise ValueError("Feeds must be tensors.")
        arguments = [feed for feed in feed_tensors if feed not in captured]
        inside: list[Any] = []

        def call(*tensors: Tensor) -> Any:
            target: Any = get_default_graph()
            known = {inner: target.capture(outer) for inner, outer in captured.items()}
            copies = BodyCopy(graph, target, {**known, **dict(zip(arguments, tensors))})
            copies.make(_needed(flatten(wanted), {*known, *arguments}))
            inside.extend(copies.ops[one] for one in flatten(wanted) if isinstance(one, Operation))
            return map_structure(lambda one: copies.tensors.get(one), wanted)

        specs = [TensorSpec(feed.shape, feed.dtype, feed.op.name) for feed in arguments]
        names = [feed.op.name.replace("/", "_") for feed in arguments]
        function = trace(
            call, specs, name or "pruned", _tensors, graph.outer_graph, names,
            orders_effects=False,
        )  # fmt: skip
        function.graph.controls = inside
        outputs = function.graph.structured_outputs
        return WrappedFunction(function, Arguments(tuple(specs), {}), names, outputs)


def _element(graph: Graph, value: Any) -> Any:
    """Return a tensor or operation unchanged. For a name, return the graph's tensor or operation of
    this name.
    """
    return value if isinstance(value, (Tensor, Operation)) else graph.as_graph_element(value)


def _tensors(results: Any) -> list[Tensor]:
    return [leaf for leaf in flatten(results) if leaf is not None]


def _needed(fetches: Sequence[Any], known: set[Tensor]) -> list[Operation]:
    """Return the operations on which the fetches depend, except those that only compute the known
    tensors.
    """
    known_ops = {tensor.op for tensor in known}
    waiting = [getattr(one, "op", one) for one in fetches if one not in known]
    needed: dict[Operation, None] = {}
    while waiting:
        op = waiting.pop()
        if op not in needed and op not in known_ops:
            needed[op] = None
            waiting += [tensor.op for tensor in op.inputs if tensor not in known]
            waiting += op.control_inputs
    return sorted(needed, key=lambda op: op._id)


def wrap_function(
    fn: Callable[..., Any], signature: Sequence[Any], name: str | None = None
) -> WrappedFunction:
    """Return `fn` as a function that is traced once and has separate variables.

    There are three differences from `tf.function`. A call runs only the ops on which the results
    depend, as a session does. The function may always create variables. AutoGraph does not convert
    the function.

    Args:
      fn: the Python function.
      signature: for each argument a TensorSpec, or the Python value that `fn` receives.
      name: text that the function's name contains.
    """
    arguments = Arguments(tuple(signature), {})
    specs = [leaf if isinstance(leaf, TensorSpec) else None for leaf in arguments.flat()]
    label = f"wrapped_function_{name}" if name is not None else "wrapped_function"
    try:
        parameters = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        parameters = []
    lifted = creating_variables(fn, [])
    result: WrappedFunction = traced(
        lifted, arguments, specs, label, parameters, WrappedFunction, orders_effects=False
    )
    return result
