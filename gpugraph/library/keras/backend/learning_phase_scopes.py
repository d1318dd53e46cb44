"""The learning phase of each graph: 1 in training, 0 otherwise.

By default, the phase is a tensor whose value each run feeds. The graph owns the tensor. This module
has only a weak reference to it.
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
    """Return the learning phase of the default graph. By default, it is a bool tensor that is False
    unless it is fed.

    After `set_learning_phase`, and in a `learning_phase_scope`, the learning phase is the int 0 or
    1 that was set.
    """
    graph = get_default_graph()
    phase = _PHASES.get(graph)
    if isinstance(phase, int):
        return phase
    tensor = phase() if phase is not None else None
    return _new_phase(graph) if tensor is None else tensor


def is_learning_phase(value: Any) -> bool:
    """Return whether `value` is the tensor of the default graph's learning phase."""
    phase = _PHASES.get(get_default_graph())
    return isinstance(phase, weakref.ref) and value is not None and phase() is value


def _new_phase(graph: Graph) -> Tensor:
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        tensor = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    _PHASES[graph] = weakref.ref(tensor)
    return tensor


def set_learning_phase(value: int) -> None:
    """Set the learning phase of the default graph to 0 or 1, for all layers that are called from
    now on.

    Raises ValueError if the value is neither 0 nor 1.
    """
    _PHASES[get_default_graph()] = _checked(value)


def _checked(value: Any) -> int:
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    return int(value)


@contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Set the default graph's learning phase to 0 or 1 inside a `with` block, then restore it.

    Raises ValueError if the value is neither 0 nor 1.
    """
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
    """Discard the learning phases of all graphs, and create a new tensor for the default graph."""
    _PHASES.clear()
    _new_phase(get_default_graph())
