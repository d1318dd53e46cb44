"""Copies of models: new layers with the same configurations and calls, but with new variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.nest import flatten, pack_sequence_as
from gpugraph.library.keras.engine.input_layer import InputLayer, input_of
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import code_of_files, custom_object_scope
from gpugraph.library.keras.layers.lambda_layer import Lambda
from gpugraph.library.keras.training.model import Model
from gpugraph.library.keras.training.sequential import Sequential


def clone_layer(layer: Any) -> Any:
    """Return a new layer of the same class and configuration, with its own variables.

    Functions of Lambda layers are shared, and their bytecode is trusted.
    """
    with custom_object_scope(_functions_in(layer)), code_of_files("trusted"):
        return type(layer).from_config(layer.get_config())


def _functions_in(layer: Any) -> dict[str, Any]:
    """Return a dict from names to the functions of all Lambda layers in `layer`. Functions without
    a name are omitted.
    """
    functions: dict[str, Any] = {}
    for part in (layer, *layer.sublayers()):
        if part is not layer:
            functions |= _functions_in(part)
        elif isinstance(part, Lambda):
            functions |= part.functions
    return functions


def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None
) -> Any:
    """Return a copy of a model. The copy consists of copies of the layers, connected in the same
    way, with new variables.

    Raises ValueError for an object that is not a model, for a subclass that defines `call`, for a
    wrong number of inputs, and for a `clone_function` that does not return layers.

    Args:
      input_tensors: the inputs of the copy, by default new inputs.
      clone_function: a function that returns the copy of a layer, by default `clone_layer`. The
        function is not called for input layers.
    """
    if not isinstance(model, Model):
        raise ValueError(f"Expected `model` argument to be a `Model` instance, got {model!r}")
    function = clone_layer if clone_function is None else clone_function
    if not callable(function):
        raise ValueError(f"Expected `clone_function` argument to be a callable, got {function!r}")
    if isinstance(model, Sequential) and (input_tensors is None or not model.inputs):
        return _clone_row(model, function)
    if not model.is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass "
            f"model instead: {model.name}"
        )
    inputs = _new_inputs(model, input_tensors)
    computed = {id(model_input): tensor for model_input, tensor in zip(model.inputs, inputs)}
    copies = {
        layer: _copy(layer, function)
        for layer in model.network_graph.layers
        if not isinstance(layer, InputLayer)
    }
    for depth in sorted(model.nodes_by_depth, reverse=True):
        for node in model.nodes_by_depth[depth]:
            if not node.is_input:
                model.run_node(node, computed, copies[node.outbound_layer])
    outputs = [computed[id(tensor)] for tensor in model.outputs]
    copy = Model(
        pack_sequence_as(model._nested_inputs, inputs),
        pack_sequence_as(model._nested_outputs, outputs),
        name=model.name,
    )
    _extend(copy, model, computed)
    return copy


def _extend(copy: Model, model: Model, computed: dict[int, Any]) -> None:
    """Add to the copy the calls that compute losses and metrics from the outputs of `model`.

    Args:
      computed: a dict from the ids of the model's tensors to the copy's tensors.
    """
    places = {layer: place for place, layer in enumerate(model.layers)}
    nodes = sorted(model.added_nodes(), key=lambda node: places[node.outbound_layer])
    if nodes:
        copy.extend([computed[id(t)] for node in nodes for t in flatten(node.output_tensors)])


def _clone_row(model: Sequential, function: Callable[[Any], Any]) -> Sequential:
    """Return a copy of a Sequential model. If `model` is built, the copy is built too."""
    copies = {layer: _copy(layer, function) for layer in model.layers}
    layers = [copies[layer] for layer in model.row]
    if model.inputs:
        layers.insert(0, clone_layer(model.inputs[0]._keras_history.layer))
    copy = Sequential(layers, name=model.name)
    if not model.inputs and model._build_input_shape is not None:
        copy.build(model._build_input_shape)
    if model.added_nodes():
        computed = {
            id(model_tensor): tensor for model_tensor, tensor in zip(_row(model), _row(copy))
        }
        for node in model.added_nodes():
            model.run_node(node, computed, copies[node.outbound_layer])
        _extend(copy, model, computed)
    return copy


def _row(model: Sequential) -> list[Any]:
    """Return the input of a Sequential model and the output tensors of its layers, in the order of
    the layers.
    """
    depths = sorted((depth for depth in model.nodes_by_depth if depth >= 0), reverse=True)
    nodes = [node for depth in depths for node in model.nodes_by_depth[depth]]
    return [tensor for node in nodes for tensor in flatten(node.output_tensors)]


def _new_inputs(model: Model, input_tensors: Any) -> list[Any]:
    """Return the inputs of a copy: `input_tensors` or, if `input_tensors` is None, the outputs of
    copies of the input layers.
    """
    if input_tensors is None:
        return [clone_layer(tensor._keras_history.layer).output for tensor in model.inputs]
    tensors = flatten(input_tensors)
    if len(tensors) != len(model.inputs):
        raise ValueError(
            f"Expected {len(model.inputs)} input_tensors for {model.name}, got {len(tensors)}"
        )
    return [input_of(tensor) for tensor in tensors]


def _copy(layer: Any, function: Callable[[Any], Any]) -> Any:
    copy = function(layer)
    if not isinstance(copy, Layer):
        raise ValueError(f"clone_function returned {copy!r} for layer {layer.name}, no layer")
    return copy
