"""Checks of the inputs and outputs from which a network of layers is created."""

from __future__ import annotations

import inspect
from typing import Any

from gpugraph.library.keras.engine.layer_paths import call_text
from gpugraph.platform import logging


def check_inputs_of_network(network: Any) -> None:
    """Raise ValueError for a network without inputs or outputs, and for invalid inputs.

    Inputs are invalid if one occurs twice, if one was not created by a layer, or if their batch
    sizes differ. For an input from a layer that is not an InputLayer, this function only logs a
    warning. `check_input_layers` rejects such an input later, unless `map_network` finds an error
    in the graph first.
    """
    kind = type(network).__name__
    if not network.inputs or not network.outputs:
        raise ValueError(
            f"{kind} {network.name} has inputs {network.inputs} and outputs {network.outputs}: it "
            "requires at least one of each, and inputs come from `tf.keras.Input`"
        )
    _check_redundancy(network.inputs)
    for number, tensor in enumerate(network.inputs):
        if not hasattr(tensor, "_keras_history"):
            raise ValueError(
                f"Input tensors to a {kind} must come from `tf.keras.Input`. Received: {tensor} "
                f"(missing previous layer metadata). Input {number} of {network.name} "
                f"{_origin(tensor)}. `tf.keras.Input(tensor=...)` turns a tensor into an input."
            )
        if not _is_input(tensor):
            logging.warning(
                "%s inputs must come from `tf.keras.Input` (thus holding past layer metadata), "
                "they cannot be the output of a previous non-Input layer. Input %d of %s is %s%s",
                kind, number, network.name, tensor.name, _made_by(tensor),
            )  # fmt: skip
    sizes = [tensor.shape[0].value if tensor.shape.rank else None for tensor in network.inputs]
    if len(set(sizes) - {None}) > 1:
        names = [tensor._keras_history.layer.name for tensor in network.inputs]
        raise ValueError(
            "The specified batch sizes of the Input Layers are incompatible. Found batch sizes: "
            f"{sizes}, of {', '.join(names)}"
        )


def check_outputs_of_network(network: Any) -> None:
    """Raise ValueError for an output of the network that no layer created."""
    for number, tensor in enumerate(network.outputs):
        if not hasattr(tensor, "_keras_history"):
            raise ValueError(
                f"Output tensors to a {type(network).__name__} must be the output of a TensorFlow "
                f"`Layer` (thus holding past layer metadata). Found: {tensor}. Output {number} of "
                f"{network.name} {_origin(tensor)}, and depends on no `tf.keras.Input`."
            )


def check_input_layers(network: Any) -> None:
    """Raise TypeError if a layer other than an InputLayer created an input of the network."""
    for number, tensor in enumerate(network.inputs):
        if not _is_input(tensor):
            raise TypeError(
                f"Input layers to a `{type(network).__name__}` must be `InputLayer` objects. "
                f"Received inputs: {network.inputs}. Input {number} (0-based) originates from "
                f"layer type `{type(tensor._keras_history.layer).__name__}`{_made_by(tensor)}. "
                "Begin with `tf.keras.Input`."
            )


def _check_redundancy(inputs: list[Any]) -> None:
    numbers: dict[int, list[int]] = {}
    for number, tensor in enumerate(inputs):
        numbers.setdefault(id(tensor), []).append(number)
    for same in numbers.values():
        if len(same) > 1:
            tensor = inputs[same[0]]
            origin = _made_by(tensor) if hasattr(tensor, "_keras_history") else ""
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only "
                f"appear once. Found: {inputs}. Inputs {same} are one tensor{origin}"
            )


def _is_input(tensor: Any) -> bool:
    layer, index, _ = tensor._keras_history
    is_input: bool = layer.inbound_nodes[index].is_input
    return is_input


def _origin(tensor: Any) -> str:
    """Describe the origin of a tensor that no layer created, for an error message."""
    operation = getattr(tensor, "op", None)
    if operation is None:
        return f"is not a tensor but a value of type {type(tensor).__name__}"
    return f"is the output of operation {operation.name} ({operation.type}), not of a layer"


def _made_by(tensor: Any) -> str:
    layer, index, _ = tensor._keras_history
    return call_text(layer, index, layer.inbound_nodes[index].needed_tensors())


def arguments_of_build(network: Any) -> dict[str, Any]:
    """Return the keyword arguments that `build` passes to the network's `call` in addition to the
    inputs.

    Return `training=False` if `call` requires it, otherwise no arguments. Raises ValueError if
    `call` accepts no inputs, or requires other arguments.
    """
    parameters = inspect.signature(network.call).parameters.values()
    positional = [
        parameter for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    if not positional and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError(
            "You can only call `build` on a model if its `call` method accepts an `inputs` "
            f"argument, which that of {network.name} does not"
        )
    required = {p.name for p in positional[1:] if p.default is p.empty}
    if required - {"training"}:
        raise ValueError(
            "Currently, you cannot build your model if it has positional or keyword arguments that "
            "are not inputs to the model, but are required for its `call` method. Call "
            f"{network.name} on tensors instead, with {', '.join(sorted(required))}"
        )
    return dict.fromkeys(required, False)


def refuse_legacy_layers(layers: Any) -> None:
    """Raise TypeError for layers of `tf.layers`, because variable scopes share the variables of
    these layers.
    """
    legacy = [layer for layer in layers if getattr(layer, "_is_legacy_layer", False)]
    if legacy:
        shown = ", ".join(f"{type(layer).__name__} {layer.name}" for layer in legacy)
        raise TypeError(
            f"The following are legacy tf.layers.Layers: {shown}. Networks of layers take those of "
            "tf.keras.layers; a subclass of Model may call layers of tf.layers itself"
        )
