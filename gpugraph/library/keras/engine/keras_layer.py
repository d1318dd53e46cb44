"""The base class of layers: functions with variables, which a program calls on tensors.

Every call opens a name scope with the layer's name. The class is composed of mixins:
`layer_weights` for variables, `layer_losses` for losses and updates, and `layer_nodes` for recorded
calls. `layer_configs` converts constructor arguments for configurations. The subclass
`tf.layers.Layer` creates variables with `get_variable`, so that variable scopes can share them.
"""

from __future__ import annotations

import copy
import inspect
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import as_shape
from gpugraph.building.variable_scope.single_variable import default_initializer
from gpugraph.building.variables import Variable
from gpugraph.building.variables.module import Module, snake_case
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, graph_of
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.keras.backend.keras_session import cleared_text, get_uid, restore_created
from gpugraph.library.keras.engine.input_spec import check_inputs
from gpugraph.library.keras.engine.layer_calls import LayerCall, innermost_call, next_call_text
from gpugraph.library.keras.engine.layer_inputs import (
    has_tensors,
    is_tensor,
    refuse_keywords,
    shapes_and_dtype,
    take_input_shape,
    tensor_of_value,
)
from gpugraph.library.keras.engine.layer_nodes import LayerNodes, mask_of
from gpugraph.library.keras.engine.layer_weights import UNSEARCHED, LayerWeights
from gpugraph.library.keras.engine.operation_history import record_operations
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.identity_and_shape import shape as shape_of


class Layer(LayerWeights, LayerNodes, Module):
    """A function with variables.

    Subclasses define `call`, and add variables in `build` or in `call`. The constructor raises
    TypeError for a keyword argument that is not listed below.

    Args:
      trainable: whether training changes the layer's variables.
      name: by default the class's name in snake case, with a number if it is in use: `dense`,
        `dense_1`.
      dtype: the dtype of the variables. By default, the dtype is the dtype of the first input.
      dynamic: has no effect. In TensorFlow, `dynamic` means that the layer runs eagerly.
      kwargs: for the first layer of a Sequential model, `input_shape`, `batch_input_shape` or
        `input_dim`, and `batch_size` define the shape of the input. `weights` contains arrays with
        the initial values of the variables. `activity_regularizer` is a function from the outputs
        to a scalar penalty, which is divided by the batch size and added to the layer's losses.
    """

    input_spec: Any = None
    """An InputSpec, or a list with one for each input. None accepts any inputs."""

    supports_masking = False
    """Whether `compute_mask` passes the mask of the inputs on to the outputs."""

    stateful = False
    """Whether the layer keeps state, such as that of a recurrent layer, from one batch to
    the next.
    """

    _SHARED_BY_COPIES = ("_graph", "_scope", "_tracked")
    _untracked = frozenset(UNSEARCHED)

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        self._dynamic = bool(kwargs.pop("dynamic", False))
        kwargs.pop("autocast", None)  # no inputs are cast
        self._batch_input_shape = take_input_shape(kwargs)
        self._initial_weights = kwargs.pop("weights", None)
        refuse_keywords(self, kwargs)
        LayerWeights.__init__(self, trainable)
        LayerNodes.__init__(self)
        self.built = False
        self._graph: Graph | None = None
        self._name = name or self._default_name(snake_case(type(self).__name__))
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype

    # -- properties

    @property
    def dtype(self) -> DType | None:
        """The dtype of the variables. If the constructor received no dtype, the property is None
        until the layer is called.
        """
        return self._dtype

    @property
    def dynamic(self) -> bool:
        """The constructor's argument `dynamic`, which has no effect."""
        return self._dynamic

    @property
    def graph(self) -> Graph | None:
        """The graph in which the layer was first called, or None if it was not called yet. A call
        in another graph raises an error.
        """
        return self._graph

    @property
    def activity_regularizer(self) -> Any:
        """The `activity_regularizer` that the constructor received: a function from outputs to a
        penalty, or None.
        """
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    # -- for subclasses

    def build(self, input_shape: Any) -> None:
        """Create the layer's variables for inputs of this shape (or structure of shapes).

        The first call of the layer calls this method, unless the program has called it before.
        """
        del input_shape
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs of the layer. The base class returns the inputs."""
        del args, kwargs
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs for inputs of this shape.

        Raises NotImplementedError if the subclass does not define this method.
        """
        raise NotImplementedError(
            f"Please implement the compute_output_shape method on your layer "
            f"({type(self).__name__}), which was called for the input shape {input_shape}"
        )

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Return TensorSpecs of the outputs for inputs with these TensorSpecs.

        Raises TypeError for inputs that are not TensorSpecs.
        """
        for spec in flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature "
                    f"entry: {spec}."
                )
        shapes = map_structure(lambda spec: spec.shape, input_signature)
        dtype = self._dtype or flatten(input_signature)[0].dtype
        return map_structure(
            lambda shape: TensorSpec(shape, dtype), self.compute_output_shape(shapes)
        )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs. The base class returns the mask of the inputs.

        Raises TypeError for a mask if the layer does not support masks.
        """
        if self.supports_masking:
            return mask
        if any(part is not None for part in flatten(mask)):
            raise TypeError(
                f"Layer {self._name} does not support masking, but was passed an input_mask: {mask}"
                f"{next_call_text(self, flatten(inputs))}"
            )
        return None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as a dict of plain Python values.

        Raises NotImplementedError for a subclass whose constructor has additional arguments, unless
        the subclass overrides this method.
        """
        config: dict[str, Any] = {
            "name": self._name,
            "trainable": self.trainable,
            "dtype": None if self._dtype is None else self._dtype.name,
        }
        if self._batch_input_shape is not None:
            config["batch_input_shape"] = self._batch_input_shape
        if self._dynamic:
            config["dynamic"] = True
        parameters = list(inspect.signature(type(self).__init__).parameters.values())[1:]
        unknown = [
            parameter.name
            for parameter in parameters
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.name not in config
        ]
        if unknown and type(self).get_config is Layer.get_config:
            raise NotImplementedError(
                "Layers with arguments in `__init__` must override `get_config`: "
                f"{type(self).__name__} takes {', '.join(unknown)}"
            )
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a layer from a dict that `get_config` returned. The new layer has no variables
        yet.
        """
        return cls(**config)

    # -- calls

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Run `call` inside the layer's name scope. If the layer is not built yet, run `build`
        before `call`.

        `call` also receives `mask` and `training` if it has these parameters. By default, `mask` is
        the mask of the inputs. If another layer's `call` calls this layer, the default of
        `training` is the value in that call.
        """
        inputs = map_structure(tensor_of_value, inputs)
        self._check_graph(inputs)
        if innermost_call() is None:
            record_operations(flatten(inputs))
        call = LayerCall(self, inputs, args, kwargs)
        with self._call_context(), call:
            if not self.built:
                self._check_spec(inputs)
                self._build(inputs)
            self._check_spec(inputs)
            outputs = self.call(inputs, *args, **call.keywords)
            self.track_assigned()
            if outputs is None:
                raise ValueError(
                    "A layer's `call` method should return a Tensor or a list of Tensors, not None "
                    f"(layer: {self._name}).{next_call_text(self, flatten(inputs))}"
                )
            outputs = self.record_call(inputs, outputs, call.recorded)
            if self._activity_regularizer is not None:
                self._regularize_activity(inputs, outputs)
            self._set_masks(inputs, outputs, call.mask)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer. This is the same as `layer(inputs, ...)`."""
        return self(inputs, *args, **kwargs)

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        graph = get_default_graph()
        with graph.name_scope("ActivityRegularizer"):
            for output in flatten(outputs):
                loss = self._activity_regularizer(output)
                mean = loss / cast(shape_of(output)[0], loss.dtype.base_dtype)
                self.add_loss(mean, inputs=inputs)

    def _set_masks(self, inputs: Any, outputs: Any, mask: Any) -> None:
        """Set `_keras_mask` of the outputs to `compute_mask(inputs, mask)`.

        Do nothing if `call` has already set all masks. If the layer does not support masks, set
        None.
        """
        tensors = flatten(outputs)
        is_done = getattr(self, "_compute_output_and_mask_jointly", False)
        if is_done or all(mask_of(tensor) is not None for tensor in tensors):
            return
        masks: list[Any] = [None] * len(tensors)
        if self.supports_masking or type(self).compute_mask is not Layer.compute_mask:
            computed = self.compute_mask(inputs, mask)
            masks = masks if computed is None else flatten(computed)
        for tensor, output_mask in zip(tensors, masks):
            if is_tensor(tensor):
                tensor._keras_mask = output_mask

    def _default_name(self, base_name: str) -> str:
        """Return a name for an unnamed layer: `dense`, then `dense_1`. The numbers are counted per
        graph.
        """
        count = get_uid(base_name)
        return base_name if count == 1 else f"{base_name}_{count - 1}"

    def _call_context(self) -> AbstractContextManager[Any]:
        """Return the context manager for a call: a new name scope with the layer's name."""
        graph = get_default_graph()
        return graph.name_scope(self._name)

    def _build(self, inputs: Any) -> None:
        if not flatten(inputs):
            raise ValueError(f"Layer {self._name} takes a tensor, not {inputs!r}")
        self.build_for(*shapes_and_dtype(inputs))

    def build_for(self, input_shape: Any, dtype: Any) -> None:
        """Create the variables of this layer and its sublayers unless they exist.

        Args:
          input_shape: a shape or a structure of shapes.
          dtype: the dtype of the variables, if the layer has none yet.
        """
        if self._dtype is None:
            self._dtype = dtype
        if not self.built:
            self.build(input_shape)
        self.built = True
        restore_created()
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _check_spec(self, inputs: Any) -> None:
        if self.input_spec is not None:
            check_inputs(self.input_spec, flatten(inputs), self)

    def _check_graph(self, inputs: Any) -> None:
        graph = graph_of(flatten(inputs))
        if self._graph is None:
            self._graph = graph
        elif graph is not self._graph:
            raise ValueError(
                f"Input graph and Layer graph are not the same: layer {self._name} was called "
                f"first in {self._graph!r}, but {flatten(inputs)[0]!r} is of {graph!r}. Make a "
                f"layer for each graph.{cleared_text(self._graph)}"
            )

    def _new_variable(self, name: str | None, shape: Any, **options: Any) -> Any:
        """Create a resource variable. Unlike in `tf.layers`, the variable is not registered in a
        variable scope.
        """
        dtype, initializer = options["dtype"], options["initializer"]
        initialize = initializer or default_initializer(name or "Variable", dtype)
        left_out = ("dtype", "initializer", "partitioner", "use_resource")
        variable = Variable(
            partial(initialize, as_shape(shape).as_list(), dtype=dtype),
            name=name,
            use_resource=options["use_resource"] is not False,
            **{key: value for key, value in options.items() if key not in left_out},
        )
        return variable

    # -- copies

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy of the layer that shares the layer's tensors, variables, graph and
        scope.
        """
        duplicate = type(self).__new__(type(self))
        memo[id(self)] = duplicate
        for name, value in vars(self).items():
            if name in self._SHARED_BY_COPIES or is_tensor(value):
                vars(duplicate)[name] = value
            elif has_tensors(value):
                vars(duplicate)[name] = copy.copy(value)
            else:
                vars(duplicate)[name] = copy.deepcopy(value, memo)
        return duplicate

    def shape_by_trial(self, input_shape: Any) -> Any:
        """Return the shape of the outputs for inputs of this shape, determined by a trial call.

        The call is made on a new layer of the same configuration, in a separate graph that is then
        discarded.
        """
        with Graph().as_default():
            duplicate = type(self).from_config({**self.get_config(), "name": "trial"})
            dtype = self._dtype or "float32"
            return duplicate(placeholder(dtype, as_shape(input_shape))).shape
