"""Models for tabular features: LinearModel, and WideDeepModel, which averages a linear model and a
deep model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.library.keras import activations, keras_initializers, keras_regularizers, optimizers
from gpugraph.library.keras.keras_objects import config_entry, deserialize_layer, serialize_layer
from gpugraph.library.keras.layers.dense_dropout_flatten import Dense
from gpugraph.library.keras.training.model import Model
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add


class LinearModel(Model):
    """A model that computes activation(sum of a linear function of each input + bias): [batch,
    units].

    For the other arguments, see `Dense`. A call raises ValueError if the number of inputs is not
    the number that the model received in its first call.

    Args:
      units: the number of outputs of an example.
    """

    def __init__(
        self,
        units: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = keras_initializers.get(kernel_initializer)
        self.bias_initializer = keras_initializers.get(bias_initializer)
        self.kernel_regularizer = keras_regularizers.get(kernel_regularizer)
        self.bias_regularizer = keras_regularizers.get(bias_regularizer)
        self.dense_layers: list[Any] = []
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Create a kernel for each input, and the bias.

        Args:
          input_shape: a shape or a list of shapes.
        """
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        for shape in shapes:
            layer = Dense(
                self.units,
                use_bias=False,
                kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer,
            )
            layer.build_for(shape, self.dtype or "float32")
            self.dense_layers.append(layer)
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
            )
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return activation(sum of the inputs' linear functions + bias)."""
        del training, mask
        tensors = flatten(inputs)
        if len(tensors) != len(self.dense_layers):
            raise ValueError(
                f"Expected {len(self.dense_layers)} inputs, but got {len(tensors)} inputs"
            )
        total = sum(layer(tensor) for layer, tensor in zip(self.dense_layers, tensors))
        return self.activation(bias_add(total, self.bias) if self.use_bias else total)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain values."""
        initializers, regularizers = keras_initializers, keras_regularizers
        return {
            "name": self.name,
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create a model from a dict that `get_config` returned."""
        del custom_objects
        return cls(**config)


class WideDeepModel(Model):
    """A model that computes activation(mean of the outputs of a linear model and a deep model).

    Each of the two models receives all inputs. But if there are exactly two inputs, the linear
    model receives the first and the deep model the second. The argument `optimizer` of `compile` is
    one optimizer for all variables, or a list of the linear model's optimizer and the deep model's
    optimizer.

    Source: Cheng et al., arXiv:1606.07792.

    Args:
      linear_model, dnn_model: models with one output or a list of outputs. The shapes of their
        outputs must be equal.
      activation: the activation of the mean.
    """

    def __init__(
        self, linear_model: Any, dnn_model: Any, activation: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)

    def compile(self, optimizer: Any = "rmsprop", *args: Any, **kwargs: Any) -> None:
        """Configure the training as `tf.keras.Model.compile` does. `optimizer` may be a list of two
        optimizers.
        """
        if isinstance(optimizer, (list, tuple)):
            optimizer = _OptimizerOfEachModel(self, optimizer)
        super().compile(optimizer, *args, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Return the activation of the mean of both models' outputs."""
        del training, mask  # The models get `training` from the enclosing LayerCall.
        are_two = isinstance(inputs, (list, tuple)) and len(inputs) == 2
        linear_inputs, deep_inputs = inputs if are_two else (inputs, inputs)
        outputs = self.linear_model(linear_inputs), self.dnn_model(deep_inputs)
        pairs = zip(*(output if isinstance(output, list) else [output] for output in outputs))
        means = [self.activation(0.5 * (wide + deep)) for wide, deep in pairs]
        return means if isinstance(outputs[0], list) else means[0]

    def get_config(self) -> dict[str, Any]:
        """Return the configurations of both models, and the activation."""
        return {
            "name": self.name,
            "linear_model": serialize_layer(self.linear_model),
            "dnn_model": serialize_layer(self.dnn_model),
            "activation": activations.serialize(self.activation),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create a model from a dict that `get_config` returned."""
        models = {
            name: deserialize_layer(config_entry(config, name, cls.__name__), custom_objects)
            for name in ("linear_model", "dnn_model")
        }
        return cls(**{**config, **models})


class _OptimizerOfEachModel(list[Any]):
    """The two optimizers of a WideDeepModel: one for the linear model's variables, one for the deep
    model's variables.
    """

    def __init__(self, model: WideDeepModel, both: Sequence[Any]) -> None:
        if len(both) != 2:
            raise ValueError(f"A WideDeepModel has an optimizer for each of its 2 models: {both!r}")
        super().__init__(optimizers.get(optimizer) for optimizer in both)
        self._model = model

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Return the operations of one step to minimize a loss. Each optimizer changes its model's
        variables.

        Args:
          params: the variables to train.
        """
        updates = []
        trained = {id(variable) for variable in params}
        for optimizer, part in zip(self, (self._model.linear_model, self._model.dnn_model)):
            part_weights = [weight for weight in part.trainable_weights if id(weight) in trained]
            if part_weights:
                updates += optimizer.get_updates(loss, part_weights)
        return updates
