"""Network: a layer that calls other layers, from its inputs to its outputs.

A network is defined by the inputs and outputs of a graph of layers, or by a subclass with a method
`call`. Networks are layers, so a network may contain other networks.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.trackable.trackable import TrackableReference
from gpugraph.building.variables.module import leaves
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.learning_phase_scopes import is_learning_phase
from gpugraph.library.keras.engine.input_spec import check_input_count
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.engine.layer_calls import innermost_call
from gpugraph.library.keras.engine.layer_inputs import map_shapes, shapes_and_dtype
from gpugraph.library.keras.engine.layer_nodes import LayerNode, mask_of
from gpugraph.library.keras.engine.layer_weights import LayerWeights, distinct
from gpugraph.library.keras.engine.model_summary import print_summary
from gpugraph.library.keras.engine.network_checks import (
    arguments_of_build,
    check_input_layers,
    check_inputs_of_network,
    check_outputs_of_network,
    refuse_legacy_layers,
)
from gpugraph.library.keras.engine.network_config import network_config, network_of_config
from gpugraph.library.keras.engine.network_graph import NetworkGraph, OfGraph, map_network
from gpugraph.library.keras.engine.network_losses import NetworkLosses
from gpugraph.library.keras.engine.operation_history import record_operations
from gpugraph.library.keras.pictures.model_picture import PictureOptions, model_svg
from gpugraph.library.keras.saving.network_files import NetworkFiles
from gpugraph.ops.arrays.constants_and_placeholders import placeholder


class _LayerList(list[Any]):
    """The present layers of a subclassed network, to which further ones can be appended."""

    def __init__(self, network: Any) -> None:
        super().__init__(network.sublayers())
        self._appended: list[Any] = vars(network).setdefault("_appended_layers", [])

    def append(self, layer: Any) -> None:
        """Append a layer to the network too."""
        super().append(layer)
        self._appended.append(layer)

    def extend(self, layers: Any) -> None:
        """Append layers to the network too."""
        for layer in layers:
            self.append(layer)


class Network(NetworkFiles, NetworkLosses, Layer):
    """A layer that consists of layers: `Network(inputs, outputs)`, or a subclass that defines
    `call`.

    `inputs` and `outputs` are tensors of layers, or structures of such tensors. Operations between
    the layers become layers.

    The constructor raises TypeError for unknown keyword arguments, for inputs without outputs or
    outputs without inputs, and for inputs created by a layer other than an InputLayer. It raises
    ValueError for tensors that no layer created, duplicate inputs, and a graph with a cycle or with
    two layers of the same name.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._network_graph: NetworkGraph | None = None
        arguments = dict(zip(("inputs", "outputs", "name"), args))
        if len(args) > 3 or arguments.keys() & kwargs.keys():
            raise TypeError(f"{type(self).__name__} takes inputs, outputs and name, not {args}")
        arguments |= kwargs
        inputs = arguments.pop("inputs", None)
        outputs = arguments.pop("outputs", None)
        if (inputs is None) != (outputs is None):
            raise TypeError(
                f"{type(self).__name__} takes `inputs` and `outputs` together, or neither"
            )
        unknown = arguments.keys() - {"name", "trainable"}
        if inputs is not None and unknown:
            raise TypeError(
                "Functional models may only specify `name` and `trainable` keyword arguments "
                f"during initialization. Got an unexpected argument: {', '.join(sorted(unknown))}"
            )
        super().__init__(**arguments)
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        if inputs is not None:
            self._init_graph(inputs, outputs)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute.

        Raises RuntimeError if the value is a layer and `Network.__init__` has not run yet.
        """
        if "_network_graph" not in vars(self) and any(
            isinstance(leaf, LayerWeights) for leaf in leaves(value)
        ):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and you forgot to call `super("
                f"YourClass, self).__init__()`. {type(self).__name__}.__init__ begins with this "
                f"line, before it sets {name}"
            )
        super().__setattr__(name, value)

    def _init_graph(self, inputs: Any, outputs: Any) -> None:
        """Initialize a network that consists of the layers between the tensors `inputs` and
        `outputs`.
        """
        inputs, outputs = _only(inputs), _only(outputs)
        self._nested_inputs, self._nested_outputs = inputs, outputs
        self.inputs, self.outputs = flatten(inputs), flatten(outputs)
        check_inputs_of_network(self)
        record_operations(self.outputs)
        check_outputs_of_network(self)
        self._network_graph = map_network(self.inputs, self.outputs)
        refuse_legacy_layers(self._network_graph.layers)
        check_input_layers(self)
        self._layers = self._network_graph.layers
        self._graph = self.inputs[0].graph
        self.built = True
        node = LayerNode(self, inputs, outputs, {})
        for layer in node.inbound_layers:
            layer.outbound_nodes.append(node)
        self._inbound_nodes.append(node)

    # -- the layers of the network

    _untracked = Layer._untracked | {"_layers", "_appended_layers", "_network_graph"}

    @property
    def _layers(self) -> list[Any]:
        """The list of layers. A subclass may append further ones."""
        listed: list[Any] | None = vars(self).get("_layers")
        if listed is not None:
            return listed
        return _LayerList(self)

    @_layers.setter
    def _layers(self, layers: list[Any]) -> None:
        vars(self)["_layers"] = layers

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The objects to save in checkpoints: the layers by index, then the attributes.

        Layers with weights also have a separate index, so that a checkpoint still matches after
        layers without weights are added or removed.
        """
        references: dict[str, Any] = {}
        for index, layer in enumerate(self._layers_by_place()):
            if layer.weights:
                count = sum(name.startswith("layer_with_weights-") for name in references)
                references[f"layer_with_weights-{count}"] = layer
            references[f"layer-{index}"] = layer
        references.update(super()._checkpoint_dependencies)
        return [TrackableReference(*item) for item in references.items()]

    def _layers_by_place(self) -> list[Any]:
        return list(self.layers) if "_layers" in vars(self) else []

    @property
    def is_graph_network(self) -> bool:
        """Whether the network is defined by the inputs and outputs of a graph of layers."""
        return self._network_graph is not None

    _is_graph_network = is_graph_network

    @property
    def network_graph(self) -> NetworkGraph:
        """The graph of layers and their calls. Raises AttributeError for a subclass that defines
        `call`.
        """
        if self._network_graph is None:
            raise AttributeError(
                f"{self.name} is a subclassed {type(self).__name__}: it has no graph of layers"
            )
        return self._network_graph

    nodes_by_depth = OfGraph("The calls of layers, by their longest path to an output.")
    layers_by_depth = OfGraph("The layers, by the maximum depth of their calls.")

    def sublayers(self) -> list[Any]:
        """Return the layers of the network. In a graph of layers, the deepest layers come first."""
        listed = self.__dict__.get("_layers")
        return list(listed) if listed is not None else super().sublayers()

    layers = property(sublayers)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return the layer with this index or name. Raises ValueError if there is no such layer."""
        layers = self.layers
        if index is not None:
            if len(layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(layers)} layers.{self._layers_text()}"
                )
            return layers[index]
        if not name:
            raise ValueError(f"Provide either a layer name or layer index.{self._layers_text()}")
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}.{self._layers_text()}")

    def _layers_text(self) -> str:
        names = [f"{index} {layer.name}" for index, layer in enumerate(self.layers)]
        return f" The layers of {self.name} are {', '.join(names)}"

    @property
    def input_names(self) -> list[str]:
        """The names of the InputLayers, one for each input."""
        return [tensor._keras_history.layer.name for tensor in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the layers that compute the outputs. A repeated name gets the suffix `_1`,
        `_2` and so on.
        """
        names: list[str] = []
        for tensor in self.outputs:
            name = layer_name = tensor._keras_history.layer.name
            numbers = count(1)
            while name in names:
                name = f"{layer_name}_{next(numbers)}"
            names.append(name)
        return names

    @property
    def weights(self) -> list[Any]:
        """The variables of the network, in the order of its layers."""
        self._check_created()
        nested = [weight for layer in self.layers for weight in layer.weights]
        assigned = sorted(self._assigned_variables(), key=lambda part: not part.trainable)
        return distinct(nested + assigned + self._trainable_weights + self._non_trainable_weights)

    def _check_created(self) -> None:
        if not self.built and not self.is_graph_network and type(self).build is Network.build:
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created "
                "when the Model is first called on inputs or `build()` is called with an "
                "`input_shape`."
            )

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether any layer keeps a state from one batch to the next."""
        return any(layer.stateful for layer in self.layers)

    @property
    def state_updates(self) -> list[Any]:
        """The updates of the layers that keep a state from one batch to the next."""
        return distinct(
            update for layer in self.layers if layer.stateful for update in layer.updates
        )

    def reset_states(self) -> None:
        """Reset the states of all layers that keep a state from one batch to the next."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and layer.stateful:
                layer.reset_states()

    @property
    def input_spec(self) -> Any:
        """A list with None for each input, which makes calls check the number of inputs. For a
        single input, the property is None.
        """
        several = self.is_graph_network and len(self.inputs) > 1
        return [None] * len(self.inputs) if several else None

    # -- runs

    def build(self, input_shape: Any) -> None:
        """Create the variables of a subclass by calling its `call` with placeholders.

        Raises ValueError if a shape is invalid, or if `call` requires additional arguments or
        inputs whose dtype is not `floatx()`.
        """
        if self.is_graph_network or self.built:
            self.built = True
            return
        if input_shape is None:
            raise ValueError(
                "Input shape must be defined when calling build on a model subclass network."
            )
        inputs = map_shapes(lambda shape: placeholder(floatx(), shape), input_shape)
        arguments = arguments_of_build(self)
        self.built = True
        try:
            self.call(inputs, **arguments)
        except (InvalidArgumentError, TypeError) as error:
            raise ValueError(
                "You cannot build your model by calling `build` if your layers do not support "
                f"float type inputs. Call {self.name} on tensors instead: {error}"
            ) from error
        self.track_assigned()

    def _build(self, inputs: Any) -> None:
        """Call the `build` of the program's subclass if it defines one. Otherwise do nothing: the
        first call of the subclass builds its layers.
        """
        if type(self).build not in self._DEFAULT_BUILDS:
            super()._build(inputs)
            return
        self.built = True
        if self._dtype is None:
            self._dtype = shapes_and_dtype(inputs)[1]

    _DEFAULT_BUILDS: tuple[Any, ...] = (build,)
    """The `build` methods of this package; any other one is defined by the program."""

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return the outputs for `inputs`. In a graph of layers, call each layer again.

        Raises NotImplementedError for a subclass that does not define `call`.
        """
        del training  # the layers get `training` from the enclosing LayerCall
        if not self.is_graph_network:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        return self.run_internal_graph(inputs, mask)

    def run_internal_graph(self, inputs: Any, mask: Any = None) -> Any:
        """Return the outputs for new inputs. Call every layer again, in the graph's order.

        Args:
          inputs: tensors in the structure of the network's inputs, or a list.
          mask: the masks of the inputs.
        """
        tensors = flatten(inputs)
        check_input_count(len(self.inputs), tensors, self)
        masks = [None] * len(tensors) if mask is None else flatten(mask)
        for tensor, its_mask in zip(tensors, masks):
            tensor._keras_mask = its_mask
        computed = {id(old): tensor for old, tensor in zip(self.inputs, tensors)}
        for node in self.network_graph.sorted_nodes():
            if not node.is_input:
                self.run_node(node, computed)
        results = [computed[id(tensor)] for tensor in self.outputs]
        return pack_sequence_as(self._nested_outputs, results)

    def run_node(self, node: LayerNode, computed: dict[int, Any], layer: Any = None) -> None:
        """Repeat a node's call on other tensors. Call the node's own layer, or `layer` if it is
        passed.

        If a recorded argument is the learning phase, the enclosing call's `training` replaces it.

        Args:
          computed: maps the id of a recorded tensor to the tensor that replaces it. This method
            adds the outputs of the call.
        """
        call = innermost_call()
        is_trained = call is not None and call.training is not None
        layer = node.outbound_layer if layer is None else layer
        inputs = map_structure(lambda tensor: computed[id(tensor)], node.input_tensors)
        arguments = {
            name: map_structure(lambda value: computed.get(id(value), value), value)
            for name, value in node.arguments.items()
            if not (is_trained and is_learning_phase(value))
        }
        outputs = layer(inputs, **arguments)
        for node_output, tensor in zip(flatten(node.output_tensors), flatten(outputs)):
            computed[id(node_output)] = tensor

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the masks of the outputs. In a graph of layers, call the layers on `inputs`. For a
        subclass, return None.
        """
        if not self.is_graph_network:
            return None
        return map_structure(mask_of, self.run_internal_graph(inputs, mask))

    def _set_masks(self, inputs: Any, outputs: Any, mask: Any) -> None:
        """Set the masks of a subclass's outputs. In a graph of layers, do nothing, because the
        calls of the layers set them.
        """
        if not self.is_graph_network:
            super()._set_masks(inputs, outputs, mask)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs for inputs of these shapes, computed layer by layer."""
        if not self.is_graph_network:
            return super().compute_output_shape(input_shape)
        listed = flatten(map_shapes(as_shape, input_shape))
        shapes = {id(tensor): shape for tensor, shape in zip(self.inputs, listed)}
        for node in self.network_graph.sorted_nodes():
            if not node.is_input:
                _infer_shapes(node, shapes)
        return pack_sequence_as(self._nested_outputs, [shapes[id(t)] for t in self.outputs])

    # -- values and configuration

    def get_config(self) -> dict[str, Any]:
        """Return the configurations of the layers, and their calls. For a subclass, raise
        NotImplementedError.
        """
        if not self.is_graph_network:
            raise NotImplementedError(
                f"{type(self).__name__} is a subclass with its own `call`: it must define "
                "`get_config` itself"
            )
        return network_config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create a network from a dict that `get_config` returned. The network has new variables.

        Args:
          custom_objects: classes and functions of the program, by name.
        """
        inputs, outputs, tensors = network_of_config(config, custom_objects)
        network = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
        network.extend(tensors)
        return network

    def summary(
        self, line_length: int | None = None, positions: Any = None, print_fn: Any = None
    ) -> None:
        """Print a table of the layers, with shapes and numbers of parameters.

        Raises ValueError if the model is not built yet.

        Args:
          line_length: the number of characters of a line.
          positions: the ends of the columns, in characters or as fractions of a line.
          print_fn: a function that receives each line; by default `print`.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or "
                "calling `fit()` with some data, or specify an `input_shape` argument in the first "
                "layer(s) for automatic build."
            )
        print_summary(self, line_length, positions, print_fn)

    def _repr_html_(self) -> str:
        """Return a drawing of the layers as SVG, which notebooks show."""
        return model_svg(self, PictureOptions(show_shapes=True))


def _infer_shapes(node: LayerNode, shapes: dict[int, TensorShape]) -> None:
    """Compute the shapes of a call's outputs, and add them to `shapes`, a dict from tensor ids to
    shapes.
    """
    inputs = map_structure(lambda tensor: shapes[id(tensor)], node.input_tensors)
    computed = node.outbound_layer.compute_output_shape(inputs)
    outputs = flatten(node.output_tensors)
    for tensor, shape in zip(outputs, computed if len(outputs) > 1 else [computed]):
        shapes[id(tensor)] = as_shape(shape)


def _only(structure: Any) -> Any:
    """Return the only element of a list or tuple of length one. Return anything else unchanged."""
    is_one = isinstance(structure, (list, tuple)) and len(structure) == 1
    return structure[0] if is_one else structure
