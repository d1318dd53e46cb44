"""The recorded calls of layers: nodes of the graph of a network of layers.

A tensor belongs to a network of layers if it has a `_keras_history`: the layer that created it, the
index of the call among that layer's calls, and the index of the output. A call is recorded only if
all its inputs belong to a network.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gpugraph.base.named_function import named
from gpugraph.base.nest import flatten, map_structure
from gpugraph.library.keras.backend.keras_variables import int_shape
from gpugraph.library.keras.engine.layer_paths import nodes_text
from gpugraph.library.keras.engine.operation_history import record_operations
from gpugraph.ops.framework.identity_and_shape import identity


def mask_of(tensor: Any) -> Any:
    """Return the bool mask that a layer has attached to a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)


def _mapped(tensors: str, function: Callable[[Any], Any], doc: str) -> property:
    """Return a property that applies `function` to a node's tensors. The result has the structure
    of the tensors.

    Args:
      tensors: the name of the node's attribute that contains the tensors.
      doc: the property's docstring.
    """
    return property(lambda node: map_structure(function, getattr(node, tensors)), doc=doc)


class KerasHistory(NamedTuple):
    """The source of a tensor: a layer, the index of the layer's call, and the index of the call's
    output.
    """

    layer: Any
    node_index: int
    tensor_index: int


class LayerNode:
    """One call of the layer `outbound_layer`. The inputs are outputs of the layers
    `inbound_layers`.

    Args:
      inputs, outputs: the call's input and output tensors, in their structures.
      arguments: the call's other arguments, by name.
      is_input: whether the node belongs to an InputLayer, which has an output but no input layers.
    """

    def __init__(
        self,
        layer: Any,
        inputs: Any,
        outputs: Any,
        arguments: dict[str, Any],
        is_input: bool = False,
    ) -> None:
        histories: list[tuple[Any, int, int]] = [
            tensor._keras_history for tensor in ([] if is_input else flatten(inputs))
        ]
        self.is_input = is_input
        self.outbound_layer = layer
        self.inbound_layers = [layer for layer, _, _ in histories]
        self.node_indices = [index for _, index, _ in histories]
        self.tensor_indices = [number for _, _, number in histories]
        self.input_tensors, self.output_tensors = inputs, outputs
        self.arguments = arguments

    def needed_tensors(self) -> list[Any]:
        """Return the outputs of other layers that the call needs: its inputs, then tensors among
        its other arguments.
        """
        if self.is_input:
            return []
        arguments = [value for value in flatten(self.arguments) if hasattr(value, "_keras_history")]
        return [*flatten(self.input_tensors), *arguments]

    input_shapes = _mapped("input_tensors", int_shape, "The shapes of the inputs, tuples.")
    output_shapes = _mapped("output_tensors", int_shape, "The shapes of the outputs, tuples.")
    input_masks = _mapped("input_tensors", mask_of, "The masks of the inputs, None if missing.")
    output_masks = _mapped("output_tensors", mask_of, "The masks of the outputs, None if missing.")


def _reader(name: str, attribute: str, kind: str) -> Callable[[Any, int], Any]:
    """Return a method for layers. Given the index of a call, the method returns an attribute of
    that call's node.

    Args:
      name: the name of the method.
      kind: a description of the attribute, for messages.
    """
    doc = (
        f"Return the {kind} of a call. Raise RuntimeError without calls, and ValueError if "
        "there is none with that number."
    )

    @named(name, doc)
    def read(self: Any, node_index: int) -> Any:
        return getattr(self._node_at(node_index, kind), attribute)

    return read


class LayerNodes:
    """The mixin of Layer for its recorded calls, and for the inputs and outputs of these calls."""

    _name: str

    def __init__(self) -> None:
        self._inbound_nodes: list[LayerNode] = []
        self._outbound_nodes: list[LayerNode] = []

    @property
    def inbound_nodes(self) -> list[LayerNode]:
        """The nodes of the recorded calls of this layer."""
        return self._inbound_nodes

    @property
    def outbound_nodes(self) -> list[LayerNode]:
        """The nodes of the recorded calls of other layers that receive outputs of this layer."""
        return self._outbound_nodes

    def record_call(self, inputs: Any, outputs: Any, arguments: dict[str, Any]) -> Any:
        """Record a call if all its inputs belong to a network of layers. Return the call's outputs.

        Operations that computed tensors among the arguments become layers. If an output is also an
        input, an identity replaces it, because a tensor can have only one history and one mask.
        """
        tensors = flatten(inputs)
        if not tensors or not all(hasattr(tensor, "_keras_history") for tensor in tensors):
            return outputs
        record_operations(flatten(arguments))
        known = {id(tensor) for tensor in tensors}
        outputs = map_structure(
            lambda tensor: identity(tensor) if id(tensor) in known else tensor, outputs
        )
        node = LayerNode(self, inputs, outputs, arguments)
        for layer in node.inbound_layers:
            layer.outbound_nodes.append(node)
        self._inbound_nodes.append(node)
        index = len(self._inbound_nodes) - 1
        for number, tensor in enumerate(flatten(outputs)):
            tensor._keras_history = KerasHistory(self, index, number)
        return outputs

    @property
    def input(self) -> Any:
        """The inputs of the first recorded call.

        Raises AttributeError if there is no recorded call.
        """
        self._check_called("is not connected, no input to return")
        return self.get_input_at(0)

    @property
    def output(self) -> Any:
        """The outputs of the first recorded call. Raises AttributeError if there is no recorded
        call.
        """
        self._check_called("has no inbound nodes")
        return self.get_output_at(0)

    @property
    def input_mask(self) -> Any:
        """The masks of the tensors in `input`. The mask is None if a tensor has no mask."""
        return map_structure(mask_of, self.input)

    @property
    def output_mask(self) -> Any:
        """The masks of the tensors in `output`. The mask is None if a tensor has no mask."""
        return map_structure(mask_of, self.output)

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs of all recorded calls.

        Raises AttributeError if there is no recorded call, or if the shapes differ between calls.
        """
        return self._only_shape("input", [node.input_shapes for node in self._inbound_nodes])

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs of all recorded calls.

        Raises AttributeError if there is no recorded call, or if the shapes differ between calls.
        """
        return self._only_shape("output", [node.output_shapes for node in self._inbound_nodes])

    get_input_at = _reader("get_input_at", "input_tensors", "input")
    get_output_at = _reader("get_output_at", "output_tensors", "output")
    get_input_shape_at = _reader("get_input_shape_at", "input_shapes", "input shape")
    get_output_shape_at = _reader("get_output_shape_at", "output_shapes", "output shape")
    get_input_mask_at = _reader("get_input_mask_at", "input_masks", "input")
    get_output_mask_at = _reader("get_output_mask_at", "output_masks", "output")

    def _node_at(self, index: int, kind: str) -> LayerNode:
        nodes = self._inbound_nodes
        if not nodes:
            raise RuntimeError(
                f"The layer has never been called and thus has no defined {kind}.{nodes_text(self)}"
            )
        if not -len(nodes) <= index < len(nodes):
            raise ValueError(
                f"Asked to get {kind} at node {index}, but the layer has only {len(nodes)} "
                f"inbound nodes.{nodes_text(self)}"
            )
        return nodes[index]

    def _check_called(self, missing: str) -> None:
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self._name} {missing}.{nodes_text(self)}")

    def _only_shape(self, kind: str, shapes: list[Any]) -> Any:
        if not shapes:
            raise AttributeError(
                f"The layer has never been called and thus has no defined {kind} shape."
                f"{nodes_text(self)}"
            )
        if len({str(shape) for shape in shapes}) > 1:
            raise AttributeError(
                f'The layer "{self._name}" has multiple inbound nodes, with different {kind} '
                f'shapes. Hence the notion of "{kind} shape" is ill-defined for the layer. Use '
                f"`get_{kind}_shape_at(node_index)` instead.{nodes_text(self)}"
            )
        return shapes[0]
