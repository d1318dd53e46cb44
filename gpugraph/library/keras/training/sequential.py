"""Sequential: a model that is a chain of layers. If no input shape is known, the first data
determines the input shape.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.library.keras.engine.input_layer import InputLayer, input_tensor
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.engine.layer_inputs import shapes_and_dtype
from gpugraph.library.keras.engine.network_checks import refuse_legacy_layers
from gpugraph.library.keras.engine.network_config import network_config, repeat_calls
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer, improper
from gpugraph.library.keras.training.model import Model
from gpugraph.platform import logging


class Sequential(Model):
    """A chain of layers: each layer is called on the outputs of the previous layer.

    The model is built immediately if the first layer is an InputLayer or has an input shape.
    Otherwise the first call, `build(input_shape)` or `fit` builds the model. Raises TypeError for
    an object that is not a layer. Raises ValueError for layers with several outputs, and for two
    layers with the same name.

    >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[2])])
    >>> model.count_params()
    3
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self._layers: list[Any] = []
        self._build_input_shape: Any = None
        listed = layers if isinstance(layers, (list, tuple)) else [layers]
        for layer in listed if layers else ():
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers of the model. An InputLayer at the beginning is not included."""
        layers = self._layers
        is_input = bool(layers) and isinstance(layers[0], InputLayer)
        return list(layers[1:] if is_input else layers)

    @property
    def row(self) -> list[Any]:
        """The layers of the chain, without layers that the model's `add_loss` and `add_metric`
        created.
        """
        nodes = [] if not self.is_graph_network else self.added_nodes()
        further = {node.outbound_layer for node in nodes}
        return [layer for layer in self.layers if layer not in further]

    def add(self, layer: Any) -> None:
        """Append a layer. For a tensor from `tf.keras.Input`, append the InputLayer that created
        the tensor. For the errors, see the class.
        """
        history = getattr(layer, "_keras_history", None)
        if history is not None and isinstance(history.layer, InputLayer):
            layer = history.layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer!r}")
        refuse_legacy_layers([layer])
        if any(layer.name == other.name for other in self._layers):
            raise ValueError(
                f'All layers added to a Sequential model should have unique names. Name "'
                f'{layer.name}" is already the name of a layer in this model.'
            )
        if self._layers:
            outputs = layer(self.outputs[0]) if self.outputs else None
        else:
            outputs = self._first_outputs(layer)
        if outputs is not None and len(flatten(outputs)) != 1:
            raise ValueError(
                "All layers in a Sequential model should have a single output tensor. For "
                "multi-output layers, use the functional API."
            )
        self._layers.append(layer)
        self._take_outputs(outputs)

    def set_inputs(self, x: Any, y: Any = None) -> None:
        """Create inputs that match data. See `CompiledNetwork`.

        Raises ValueError for a dict, unless the first layer accepts a dict of features.
        """
        takes_dicts = bool(self._layers) and getattr(self._layers[0], "_is_feature_layer", False)
        if isinstance(x, dict) and not self.outputs and not takes_dicts:
            raise ValueError(
                "Passing a dictionary input to a Sequential Model which doesn't have FeatureLayer "
                "as the first layer is an error. Pass an array, or give the first layer its "
                "`input_shape`"
            )
        super().set_inputs(x, y)

    def _first_outputs(self, layer: Any) -> Any:
        """Return the outputs of the first layer of the chain. If the input shape of this layer is
        not known, return None.
        """
        if isinstance(layer, InputLayer):
            return layer.inbound_nodes[-1].output_tensors
        shape: Any
        first = layer
        while getattr(first, "layers", None) and not getattr(first, "is_graph_network", False):
            first = first.layers[0]
        if getattr(layer, "is_graph_network", False):
            shape, dtype = tuple(layer.inputs[0].shape.as_list()), layer.inputs[0].dtype
        else:
            shape, dtype = first._batch_input_shape, first.dtype
        if shape is None:
            return None
        inputs = input_tensor(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
        outputs = layer(inputs)
        self._layers.insert(0, inputs._keras_history.layer)
        return outputs

    def _take_outputs(self, outputs: Any) -> None:
        """Set the outputs of the model, and discard the TrainingSetup for its previous outputs."""
        self._setup = self._predictor = None
        if outputs is None:
            return
        if self.outputs and not self.is_graph_network:  # built from data: no InputLayer
            self.outputs = flatten(outputs)
            return
        inputs = self._layers[0].inbound_nodes[0].output_tensors
        self._inbound_nodes = []
        self._init_graph(inputs, outputs)
        self._layers = list(self.network_graph.layers)

    def pop(self) -> None:
        """Remove the last layer. Raises TypeError if the model has no layers."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        removed = self._layers.pop()
        removed._outbound_nodes = []
        if not self.layers:
            self._layers, self.inputs, self.outputs = [], [], []
            self._network_graph, self.built = None, False
        elif not self.is_graph_network:
            self._setup = self._predictor = None
            self.inputs, self.outputs = [], []  # the next data sets new inputs
        else:
            self._layers[-1]._outbound_nodes = []
            self._take_outputs(self._layers[-1].output)

    def build(self, input_shape: Any = None) -> None:
        """Build all layers for an input shape, which includes the batch axis.

        Raises ValueError if no shape is passed and the model is not built yet.
        """
        if self.is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        self._build_input_shape = input_shape
        super().build(input_shape)

    def _build(self, inputs: Any) -> None:
        self._build_input_shape, _ = shapes_and_dtype(inputs)
        super()._build(inputs)

    _DEFAULT_BUILDS = (*Model._DEFAULT_BUILDS, build)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call each layer on the outputs of the previous layer. Return the outputs of the last
        layer.
        """
        if self.is_graph_network:
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, computed layer by layer without building anything."""
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """Return the result of `predict`. If a value is outside of [0, 1], log a warning."""
        predicted = self.predict(x, batch_size, verbose)
        if predicted.min() < 0.0 or predicted.max() > 1.0:
            logging.warning(
                "Network returning invalid probability values. The last layer might not normalize "
                "predictions into probabilities (like softmax or sigmoid would)."
            )
        return predicted

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """Return the index of the largest output. If there is a single output, return 1 if it
        exceeds 0.5, else 0.
        """
        predicted = self.predict(x, batch_size, verbose)
        if predicted.shape[-1] > 1:
            return predicted.argmax(axis=-1)
        return (predicted > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """Return the name, and the class name and configuration of each layer of the chain.

        The layers for losses and metrics of the model itself are in `added_layers`, after the
        InputLayer. TensorFlow lists them with the chain.
        """
        layers = [
            {"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.row
        ]
        if layers and isinstance(self._layers[0], InputLayer):
            layers[0]["config"].setdefault("batch_input_shape", self._layers[0]._batch_input_shape)
        config: dict[str, Any] = {"name": self.name, "layers": layers}
        if self.added_nodes():
            row = {layer.name for layer in self.row}
            records = network_config(self)["layers"]
            config["added_layers"] = [record for record in records if record["name"] not in row]
        if self._build_input_shape is not None:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """Create a model from a dict that `get_config` returned, or from a list of layers'
        configurations.
        """
        is_list = isinstance(config, (list, tuple))
        records = config if is_list else config_entry(config, "layers", cls.__name__)
        if not isinstance(records, (list, tuple)):
            raise improper(f"the layers of {cls.__name__} are not a list, but {records!r:.100}")
        name = config.get("name") if isinstance(config, dict) else None
        added = [] if is_list else list(config.get("added_layers", ()))
        rows = [deserialize_layer(record, custom_objects) for record in [*added[:1], *records]]
        model = cls(rows, name=name)
        shape = config.get("build_input_shape") if isinstance(config, dict) else None
        if shape is not None and not model.inputs:
            model.build(shape)
        if added and model.is_graph_network:
            layers = {layer.name: layer for layer in model._layers}
            model.extend(repeat_calls(added[1:], layers, custom_objects))
        return model
