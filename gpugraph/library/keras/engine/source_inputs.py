"""`tf.keras.utils.get_source_inputs`: the inputs of a network from which a layer's output is
computed.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.library.keras.backend.keras_variables import is_keras_tensor


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> Any:
    """Return the list of the network's inputs on which `tensor` depends.

    If no layer created `tensor`, return `tensor` itself instead of a list.

    Args:
      layer: the layer that created `tensor`.
      node_index: the index of that call of the layer. By default, the layer and the index are read
        from the tensor's `_keras_history`.
    """
    if not is_keras_tensor(tensor):
        return tensor
    if layer is None or node_index:
        layer, node_index, _ = tensor._keras_history
    sources: dict[int, Any] = {}
    stack, seen = [layer.inbound_nodes[node_index or 0]], set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not node.inbound_layers:
            sources.update((id(source), source) for source in flatten(node.input_tensors))
        calls = zip(node.inbound_layers, node.node_indices)
        stack += reversed([inbound.inbound_nodes[index] for inbound, index in calls])
    return list(sources.values())
