"""The table of a network's layers that `summary` prints: names, shapes, parameters, connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.library.keras.engine.network_graph import node_key

_PLAIN = 65, (0.45, 0.85, 1.0), ("Layer (type)", "Output Shape", "Param #")
_CONNECTED = 98, (0.33, 0.55, 0.67, 1.0), (*_PLAIN[2], "Connected to")


def print_summary(
    network: Any,
    line_length: int | None = None,
    positions: Sequence[float] | None = None,
    print_fn: Callable[[str], object] | None = None,
) -> None:
    """Print the table of a network's layers in Keras's format. See `Network.summary`."""
    show = print if print_fn is None else print_fn
    is_chain = not network.is_graph_network or _is_chain(network)
    width, parts, fields = _PLAIN if is_chain else _CONNECTED
    length = line_length or width
    ends: tuple[float, ...] = tuple(positions or parts)
    columns = [int(length * end) for end in ends] if ends[-1] <= 1 else [int(end) for end in ends]
    show(f'Model: "{network.name}"')
    show("_" * length)
    show(_row(fields, columns))
    show("=" * length)
    layers = network.layers
    for number, layer in enumerate(layers):
        cells = [f"{layer.name} ({type(layer).__name__})", _shape_text(layer), str(_count(layer))]
        connections = [] if is_chain else _connections(network, layer)
        show(_row([*cells, *connections[:1]], columns))
        for connection in connections[1:]:
            show(_row(["", "", "", connection], columns))
        show(("=" if number == len(layers) - 1 else "_") * length)
    trained = _elements(network.trainable_weights)
    fixed = _elements(network.non_trainable_weights)
    show(f"Total params: {trained + fixed:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {fixed:,}")
    show("_" * length)


def _is_chain(network: Any) -> bool:
    """Return whether every layer is called once, on at most one tensor, as is the case in a
    Sequential model.
    """
    calls = [
        node
        for layer in network.layers
        for index, node in enumerate(layer.inbound_nodes)
        if node_key(layer.name, index) in network.network_graph.nodes
    ]
    by_depth = network.nodes_by_depth
    one_a_depth = all(len(nodes) == 1 for nodes in by_depth.values())
    return (
        one_a_depth
        and all(len(node.inbound_layers) <= 1 for node in calls)
        and (len(calls) == len(network.layers))
    )


def _row(cells: Sequence[str], ends: Sequence[int]) -> str:
    """Format a row of the table. A text that is too long for its column is truncated.

    Args:
      ends: the position of each column's end, in characters.
    """
    line = ""
    for number, cell in enumerate(cells):
        if number:
            line = line[:-1] + " "
        line = (line + cell)[: ends[number]]
        line += " " * (ends[number] - len(line))
    return line


def _shape_text(layer: Any) -> str:
    try:
        shape = layer.output_shape
    except AttributeError:
        return "multiple"
    except RuntimeError:
        return "?"
    return _plain_shape(shape)


def _plain_shape(shape: Any) -> str:
    if isinstance(shape, list):
        return f"[{', '.join(_plain_shape(item) for item in shape)}]"
    sizes = getattr(shape, "sizes", shape)
    return str(None if sizes is None else tuple(sizes))


def _count(layer: Any) -> Any:
    return layer.count_params() if layer.built else "0 (unused)"


def _elements(weights: Sequence[Any]) -> int:
    return sum(int(weight.shape.num_elements() or 0) for weight in weights)


def _connections(network: Any, layer: Any) -> list[str]:
    return [
        f"{inbound.name}[{node_index}][{tensor_index}]"
        for index, node in enumerate(layer.inbound_nodes)
        if node_key(layer.name, index) in network.network_graph.nodes
        for inbound, node_index, tensor_index in zip(
            node.inbound_layers, node.node_indices, node.tensor_indices
        )
    ] or [""]
