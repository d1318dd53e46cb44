"""Where in a network of layers a call is, in the words of error messages.

A call of a layer is written as its name and the number of its node, `dense[1]`; a path as the calls
from an input on, `x[0] -> dense[0] -> dense[1]`. The middle of a long path is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_ENDS = 6
"""How many calls of a long path are written at each of its ends."""

_MOST_NODES = 5
"""How many nodes of a layer are written."""

Call = tuple[Any, int]
"""A layer and the number of its node."""


def layer_text(layer: Any) -> str:
    """The class and name of a layer: `Dense layer "dense_1"`."""
    return f'{type(layer).__name__} layer "{layer.name}"'


def path_text(calls: Sequence[Call]) -> str:
    """A path through calls, each before those that take its outputs."""
    names = [f"{layer.name}[{index}]" for layer, index in calls]
    if len(names) > 2 * _ENDS + 1:
        names[_ENDS:-_ENDS] = [f"({len(names) - 2 * _ENDS} more)"]
    return " -> ".join(names)


def calls_to(tensors: Iterable[Any]) -> list[Call]:
    """The calls that lead to tensors, by the first inputs of each; empty where no layer made one.

    A path that comes back to a call of its own ends there.
    """
    calls: dict[Call, None] = {}
    history = _first_history(tensors)
    while history is not None:
        layer, index = history[:2]
        if (layer, index) in calls:
            break
        calls[layer, index] = None
        nodes = layer.inbound_nodes[index : index + 1]  # none where they were cleared since
        history = _first_history(nodes[0].needed_tensors()) if nodes else None
    return list(reversed(calls))


def _first_history(tensors: Iterable[Any]) -> Any:
    """The history of the first tensor that a layer made; None where there is none."""
    histories = (getattr(tensor, "_keras_history", None) for tensor in tensors)
    return next((history for history in histories if history is not None), None)


def call_text(layer: Any, index: int, before: Iterable[Any], around: Sequence[Any] = ()) -> str:
    """A call of a layer on some tensors: ` (Dense layer "d", node 1; path: x[0] -> d[1])`.

    around: layers whose calls this one is in, the outermost first.
    """
    path = path_text([*calls_to(before), (layer, index)])
    inside = f"; inside {' / '.join(outer.name for outer in around)}" if around else ""
    return f" ({layer_text(layer)}, node {index}; path: {path}{inside})"


def nodes_text(layer: Any) -> str:
    """The nodes of a layer with the paths to them, or that it has none; a sentence."""
    nodes = layer.inbound_nodes
    if not nodes:
        return (
            f" {layer_text(layer)} has no inbound nodes: call it on the output of `tf.keras.Input` "
            "or of another layer."
        )
    paths = [
        f"node {index} by {path_text([*calls_to(node.needed_tensors()), (layer, index)])}"
        for index, node in enumerate(nodes[:_MOST_NODES])
    ]
    more = f", and {len(nodes) - _MOST_NODES} more" if len(nodes) > _MOST_NODES else ""
    return f" {layer_text(layer)} has {', '.join(paths)}{more}."
