"""Networks as plain Python values: the configurations of layers, and the calls between the layers.

A tensor is written as a reference to the layer that computes it: [layer name, number of the call,
number of the output].
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_variables import get_value
from gpugraph.library.keras.backend.learning_phase_scopes import is_learning_phase
from gpugraph.library.keras.engine.layer_nodes import LayerNode
from gpugraph.library.keras.engine.network_graph import node_key
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer, improper
from gpugraph.platform import logging

_TENSOR = "_KERAS_TENSOR"
"""A mark that may precede the reference to a tensor among the arguments of a call."""


def network_config(network: Any) -> dict[str, Any]:
    """Return a network's name, its layers with their calls, and references to its inputs and
    outputs.
    """
    numbers = _call_numbers(network)
    layers = []
    for layer in network.network_graph.layers:
        calls = [
            _call_config(node, numbers)
            for index, node in enumerate(layer.inbound_nodes)
            if node_key(layer.name, index) in network.network_graph.nodes and not node.is_input
        ]
        layers.append(
            {
                "name": layer.name,
                "class_name": type(layer).__name__,
                "config": layer.get_config(),
                "inbound_nodes": calls,
            }
        )
    return {
        "name": network.name,
        "layers": layers,
        "input_layers": _places(network._nested_inputs, numbers),
        "output_layers": _places(network._nested_outputs, numbers),
    }


def _call_numbers(network: Any) -> dict[str, int]:
    """Return the number of each call of a layer, by node key. Only calls in the network are
    counted.
    """
    numbers: dict[str, int] = {}
    for layer in network.network_graph.layers:
        keys = [node_key(layer.name, index) for index in range(len(layer.inbound_nodes))]
        inside = [key for key in keys if key in network.network_graph.nodes]
        first = (
            1 if getattr(layer, "is_graph_network", False) else 0
        )  # number 0 is the call of its own graph
        numbers |= {key: number for number, key in enumerate(inside, first)}
    return numbers


def _call_config(node: LayerNode, numbers: dict[str, int]) -> Any:
    """Return a call's inputs as a list or dict of references. Each reference is followed by the
    call's arguments.
    """
    kept = {key: item for key, item in node.arguments.items() if not is_learning_phase(item)}
    arguments = _plain_argument(kept, numbers)
    if not _is_plain(arguments):
        logging.warning(
            f"Layer {node.outbound_layer.name} was passed non-serializable keyword arguments: "
            f"{node.arguments}. They will not be included in the serialized model (and thus will "
            "be missing at deserialization time)."
        )
        arguments = {}
    inputs = node.input_tensors
    if isinstance(inputs, Mapping):
        return {name: [*_place(tensor, numbers), arguments] for name, tensor in inputs.items()}
    return [[*_place(tensor, numbers), arguments] for tensor in flatten(inputs)]


def _place(tensor: Any, numbers: dict[str, int]) -> list[Any]:
    layer, index, number = tensor._keras_history
    return [layer.name, numbers.get(node_key(layer.name, index), 0), number]


def _places(structure: Any, numbers: dict[str, int]) -> Any:
    if isinstance(structure, Mapping):
        return {name: _place(tensor, numbers) for name, tensor in structure.items()}
    return [_place(tensor, numbers) for tensor in flatten(structure)]


def _plain_argument(value: Any, numbers: dict[str, int]) -> Any:
    """Convert an argument of a call, or a structure of arguments, to a plain value.

    A tensor that a layer created becomes a reference to the layer's output. Any other tensor
    becomes its value, as a list.
    """
    if hasattr(value, "_keras_history"):
        return _place(value, numbers)
    if isinstance(value, Tensor):
        return get_value(value).tolist()
    if isinstance(value, Mapping):
        return {name: _plain_argument(item, numbers) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [_plain_argument(item, numbers) for item in value]
    return value


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def network_of_config(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None
) -> tuple[Any, Any, list[Any]]:
    """Create the layers of a configuration, and repeat their calls.

    Return the network's inputs, its outputs, and a list of the outputs of all calls. Raises
    ValueError if no layer provides the inputs of a call.

    Args:
      custom_objects: classes and functions of the program, by name.
    """
    layers: dict[str, Any] = {}
    tensors = repeat_calls(config_entry(config, "layers", _OWNER), layers, custom_objects)
    ends = [config_entry(config, name, _OWNER) for name in ("input_layers", "output_layers")]
    return _tensors(layers, ends[0]), _tensors(layers, ends[1]), tensors


def repeat_calls(
    records: Any, layers: dict[str, Any], custom_objects: Mapping[str, Any] | None
) -> list[Any]:
    """Create the layers that `records` describe, add them to the dict `layers`, and repeat their
    recorded calls.

    A call is repeated after the calls that compute its inputs. Return the outputs of the calls,
    layer by layer.

    Raises ValueError if no layer provides the inputs of a call.

    Args:
      records: the "layers" of a dict from `network_config`.
    """
    tensors: dict[str, list[Any]] = {}
    waiting: dict[str, deque[Any]] = {}
    for record in _listed(records):
        name = _text(config_entry(record, "name", _LAYER))
        calls = _listed(config_entry(record, "inbound_nodes", _LAYER))
        layers[name] = deserialize_layer(record, custom_objects)
        tensors[name] = []
        waiting[name] = deque(_checked_call(call) for call in calls)
    while any(waiting.values()):
        progress = [
            _call_again(layers, layers[name], calls, tensors[name])
            for name, calls in waiting.items()
            if calls
        ]
        if not any(progress):
            names = ", ".join(sorted(name for name, calls in waiting.items() if calls))
            raise ValueError(
                f"Improper config format: calls of {names} have inputs that no layer of the "
                "config provides"
            )
    return [tensor for outputs in tensors.values() for tensor in outputs]


_OWNER, _LAYER = "a network", "a layer of a network"


def _listed(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise improper(f"expected a list of layers or calls, got {value!r:.100}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise improper(f"the name of a layer is {value!r:.100}")
    return value


def _checked_call(call: Any) -> Any:
    """Return a call of a layer. Raises ValueError unless its inputs are references to tensors."""
    places = list(call.values()) if isinstance(call, Mapping) else _listed(call)
    if not places:
        raise improper("a layer is called without inputs")
    for place in places:
        _checked_place(place)
        if len(place) > 3 and not isinstance(place[3], Mapping):
            raise improper(f"the arguments of a call are not a dictionary, but {place[3]!r:.100}")
    return call


def _checked_place(place: Any) -> Any:
    """Return a reference to a tensor: [layer name, number of the call, number of the output, ...].

    Raises ValueError if the value has any other form.
    """
    is_one = isinstance(place, (list, tuple)) and len(place) >= 3 and isinstance(place[0], str)
    if not is_one or not all(type(number) is int and number >= 0 for number in place[1:3]):
        raise improper(f"{place!r:.100} is not a tensor of a layer")
    return place


def _call_again(layers: dict[str, Any], layer: Any, calls: deque[Any], results: list[Any]) -> bool:
    """Repeat a layer's next calls as long as their inputs exist. Return whether at least one call
    was repeated.

    Args:
      calls: the remaining calls, from which repeated calls are removed.
      results: the list to which the outputs of the calls are appended.
    """
    count = len(calls)
    while calls:
        call = calls[0]
        places = list(call.values()) if isinstance(call, Mapping) else list(call)
        plain = places[0][3] if len(places[0]) > 3 else {}
        tensors = [_tensor(layers, place) for place in places]
        missing: list[Any] = []
        arguments = _argument(layers, plain, missing)
        if missing or any(tensor is None for tensor in tensors):
            break
        inputs = dict(zip(call, tensors)) if isinstance(call, Mapping) else tensors
        is_one = inputs == tensors and len(tensors) == 1
        results += flatten(layer(tensors[0] if is_one else inputs, **arguments))
        calls.popleft()
    return len(calls) < count


def _argument(layers: Mapping[str, Any], value: Any, missing: list[Any]) -> Any:
    """Convert the plain value of an argument: references become tensors.

    A reference is [layer name, number of the call, number of the output], optionally after
    `_TENSOR`. If the call that creates the tensor has not been repeated yet, the reference is added
    to `missing`.
    """
    if isinstance(value, Mapping):
        return {name: _argument(layers, item, missing) for name, item in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    place = value[1:] if value and value[0] == _TENSOR else value
    is_place = len(place) == 3 and isinstance(place[0], str) and place[0] in layers
    if is_place and all(isinstance(number, int) for number in place[1:]):
        tensor = _tensor(layers, place)
        if tensor is None:
            missing.append(place)
        return tensor
    return [_argument(layers, item, missing) for item in value]


def _tensor(layers: Mapping[str, Any], place: Any) -> Any:
    """Return the tensor to which a reference refers. If the call that creates it has not been
    repeated yet, return None.

    Raises ValueError for a layer or an output that does not exist.
    """
    name, index, number = _checked_place(place)[:3]
    if name not in layers:
        raise improper(f"there is no layer {name!r}")
    nodes = layers[name].inbound_nodes
    if index >= len(nodes):
        return None
    outputs = flatten(nodes[index].output_tensors)
    if number >= len(outputs):
        raise improper(f"layer {name!r} has {len(outputs)} outputs, but no output {number}")
    return outputs[number]


def _tensors(layers: Mapping[str, Any], places: Any) -> Any:
    if isinstance(places, Mapping):
        return {name: _tensor(layers, place) for name, place in places.items()}
    if _listed(places) and isinstance(places[0], str):
        return _tensor(layers, places)
    return [_tensor(layers, place) for place in places]
