"""The learning phase: whether a graph trains (1) or tests (0), by default a tensor that is fed.

Each graph has its own phase. Its tensor is held by the graph, and only weakly by this module.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import placeholder_with_default

_PHASES: WeakKeyDictionary[Graph, int | weakref.ref[Tensor]] = WeakKeyDictionary()


def learning_phase() -> Any:
    """Return the learning phase of the default graph: a bool tensor, False unless it is fed.

    After `set_learning_phase` it is the int that was set.
    """
    graph = get_default_graph()
    phase = _PHASES.get(graph)
    if isinstance(phase, int):
        return phase
    tensor = phase() if phase is not None else None
    return _new_phase(graph) if tensor is None else tensor


def is_learning_phase(value: Any) -> bool:
    """Return whether a value is the tensor of the default graph's `learning_phase`."""
    phase = _PHASES.get(get_default_graph())
    return isinstance(phase, weakref.ref) and value is not None and phase() is value


def _new_phase(graph: Graph) -> Tensor:
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        tensor = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    _PHASES[graph] = weakref.ref(tensor)
    return tensor


def set_learning_phase(value: int) -> None:
    """Fix the learning phase of the default graph for everything that is built from now on.

    value: 0 or 1. ValueError for another.
    """
    _PHASES[get_default_graph()] = _checked(value)


def _checked(value: Any) -> int:
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    return int(value)


@contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Set the default graph's learning phase to 0 or 1 in this scope; ValueError for others."""
    graph = get_default_graph()
    phase = _checked(value)
    previous = _PHASES.get(graph)
    _PHASES[graph] = phase
    try:
        yield
    finally:
        if previous is None:
            _PHASES.pop(graph, None)
        else:
            _PHASES[graph] = previous


def reset_learning_phases() -> None:
    """Discard the phases of all graphs, and create a new tensor for the default graph."""
    _PHASES.clear()
    _new_phase(get_default_graph())
