"""The position of a layer's call in a network of layers, as text for error messages.

A call of a layer is written as the layer's name and the number of the call, `dense[1]`. A path is
the sequence of calls from an input to a call, `x[0] -> dense[0] -> dense[1]`. In a long path, the
number of the calls in the middle replaces these calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_CALLS_AT_ENDS = 6
"""The number of calls that are shown at each end of a long path."""

_MAX_NODES = 5
"""If a layer has more calls than this, a message does not list their paths."""

Call = tuple[Any, int]
"""A layer, and the index of one of its calls."""


def layer_text(layer: Any) -> str:
    """Return the class and name of a layer as text, such as `Dense layer "dense_1"`."""
    return f'{type(layer).__name__} layer "{layer.name}"'


def path_text(calls: Sequence[Call]) -> str:
    """Format a path of calls. The first call is an input."""
    names = [f"{layer.name}[{index}]" for layer, index in calls]
    if len(names) > 2 * _CALLS_AT_ENDS + 1:
        names[_CALLS_AT_ENDS:-_CALLS_AT_ENDS] = [f"({len(names) - 2 * _CALLS_AT_ENDS} more)"]
    return " -> ".join(names)


def calls_to(tensors: Iterable[Any]) -> list[Call]:
    """Return a path of calls that leads to `tensors`. If no layer created any of them, the path is
    empty.

    At each call, the path follows only the first input that a layer created. In a cycle, the path
    ends before it reaches a call for the second time.
    """
    calls: dict[Call, None] = {}
    history = _first_history(tensors)
    while history is not None:
        layer, index = history[:2]
        if (layer, index) in calls:
            break
        calls[layer, index] = None
        nodes = layer.inbound_nodes[
            index : index + 1
        ]  # an empty list if the nodes were cleared after the call
        history = _first_history(nodes[0].needed_tensors()) if nodes else None
    return list(reversed(calls))


def _first_history(tensors: Iterable[Any]) -> Any:
    """Return the `_keras_history` of the first tensor that a layer created, or None."""
    histories = (getattr(tensor, "_keras_history", None) for tensor in tensors)
    return next((history for history in histories if history is not None), None)


def call_text(layer: Any, index: int, before: Iterable[Any], around: Sequence[Any] = ()) -> str:
    """Format a call of a layer: ` (Dense layer "d", node 1; path: x[0] -> d[1])`.

    Args:
      index: the number of the call.
      before: the inputs of the call.
      around: the layers whose `call` is in progress during this call. The outermost layer is the
        first.
    """
    path = path_text([*calls_to(before), (layer, index)])
    inside = f"; inside {' / '.join(outer.name for outer in around)}" if around else ""
    return f" ({layer_text(layer)}, node {index}; path: {path}{inside})"


def nodes_text(layer: Any) -> str:
    """Return a sentence that lists the recorded calls of a layer and their paths, or states that
    the layer has no recorded calls.
    """
    nodes = layer.inbound_nodes
    if not nodes:
        return (
            f" {layer_text(layer)} has no inbound nodes: call it on the output of `tf.keras.Input` "
            "or of another layer."
        )
    paths = [
        f"node {index} by {path_text([*calls_to(node.needed_tensors()), (layer, index)])}"
        for index, node in enumerate(nodes[:_MAX_NODES])
    ]
    further = f", and {len(nodes) - _MAX_NODES} more" if len(nodes) > _MAX_NODES else ""
    return f" {layer_text(layer)} has {', '.join(paths)}{further}."
