"""Trial calls of parts of a function. The operations that a trial call creates are removed from the
graph again.

Only a trial call can determine whether a loop's condition is a tensor. It also determines the
dtypes of the variables that the loop's body assigns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gpugraph.building.control_flow.context_base import ControlFlowContext, current
from gpugraph.graph.client.client_graph import Graph


@contextmanager
def staged(graph: Graph) -> Iterator[None]:
    """Remove the operations, names and collection items that a `with` block adds to `graph`."""
    first = graph.version
    names = dict(graph._names)
    collections = {key: list(items) for key, items in graph._collections.items()}
    unfeedable, unfetchable = set(graph._unfeedable), set(graph._unfetchable)
    context = current(graph)
    automatic = graph._scope.automatic
    restore = None if automatic is None else automatic.saved()
    with ExitStack() as kept:
        for outer in () if context is None else context.outwards():
            kept.enter_context(_captures_kept(outer))
        try:
            yield
        finally:
            graph._drop_last(first)
            if restore is not None:
                restore()
            graph._names = names
            graph._collections = collections
            graph._unfeedable, graph._unfetchable = unfeedable, unfetchable


@contextmanager
def _captures_kept(context: ControlFlowContext) -> Iterator[None]:
    known, stand_ins = set(context.known), dict(context.stand_ins)
    nested = list(context.nested)
    try:
        yield
    finally:
        context.known, context.stand_ins, context.nested = known, stand_ins, nested
