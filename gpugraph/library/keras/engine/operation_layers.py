"""The layers that are created implicitly, for operations, losses and metrics between layers.

`x * 2` between layers becomes a TensorFlowOpLayer. If a model is defined by its inputs and outputs,
`add_loss` and `add_metric` add an AddLoss or AddMetric layer, so that the model's configuration
contains the loss or metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.base.dtypes import HANDLES, DType, complex64, int64
from gpugraph.base.errors import InaccessibleTensorError, OpError
from gpugraph.base.nest import flatten
from gpugraph.base.shapes import as_shape
from gpugraph.building.graph_files.attr_import import complete, input_types, read_attrs
from gpugraph.building.graph_files.op_type_support import declared_op
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.library.keras.backend.keras_variables import get_value
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import (
    LAYER_CLASSES,
    check_code_of_files,
    remember_own_code,
)
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.tensor_conversion import constant as constant_tensor
from gpugraph.ops.op_index import MODULE_OF

_PREFIX = "tf_op_layer_"

_OF_PLACE = ("_class",)
"""The attrs that colocate an operation with other operations, which another graph may lack."""

_OF_LOOPS = frozenset({"Enter", "Exit", "LoopCond", "NextIteration", "RefEnter", "RefExit"})
"""Op types that exist only as parts of while loops and cannot be repeated alone."""

_WITH_EFFECTS = ("collectives", "control.py_func", "files", "queues", "readers", "state", "tables")
"""Prefixes of the names of modules in gpugraph/ops whose ops have side effects.

A model from a file may contain these ops only if the program trusts the file.
"""


class TensorFlowOpLayer(Layer):
    """A layer for one operation of a graph. A call of the layer creates the same operation with
    other inputs.

    The constructor raises ValueError for an invalid NodeDef, for attrs that the op type does not
    have, and for an operation with side effects from a file that is not trusted. It raises
    NotFoundError for an unknown op type.

    Args:
      node_def: the NodeDef of the operation: a message, its bytes, or its dict from JSON.
      name: the layer's name without its prefix `tf_op_layer_`.
      constants: the operation's inputs that are not inputs of the layer: tensors or arrays by their
        input index.
    """

    def __init__(
        self,
        node_def: Any,
        name: str,
        constants: Mapping[Any, Any] | None = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=f"{_PREFIX}{name}", trainable=trainable, dtype=dtype)
        self.node_def = _message_of(node_def)
        op_def = declared_op(self.node_def.op, name)
        self._attrs = read_attrs(self.node_def, op_def, name)
        complete(self._attrs, op_def, [int64 if "Tindex" in op_def.attrs else complex64], name)
        _check_effects(self.node_def, self._name)
        self.constants = {int(place): value for place, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Return the outputs of a new operation of this type on `inputs`, a tensor or a list of
        tensors.
        """
        return self._outputs(get_default_graph(), flatten(inputs))

    def _outputs(self, graph: Graph, tensors: list[Tensor]) -> Any:
        self._check_is_alone()
        inputs = list(tensors)
        types = self._input_types(len(tensors) + len(self.constants))
        for place, value in sorted(self.constants.items()):
            inputs.insert(place, self._constant_in(graph, value, types[place]))
        attrs = {name: value for name, value in self._attrs.items() if name not in _OF_PLACE}
        graph._names.setdefault(
            self.node_def.name.lower(), 1
        )  # reserves the name, as TensorFlow does
        repeated = graph.create_op(self.node_def.op, inputs, attrs=attrs, name=self.node_def.name)
        outputs = list(repeated.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _input_types(self, count: int) -> list[DType]:
        """Return the dtypes of the operation's inputs. Raises ValueError if a
        constant replaces an input that the operation does not have.

        Args:
          count: the number of inputs, for an op type with a variable number of inputs.
        """
        types = input_types(OP_DEFS[self.node_def.op], self._attrs, count)
        if types is None or any(not 0 <= place < len(types) for place in self.constants):
            raise ValueError(f"The constants of {self._name} are not inputs of {self.node_def.op}")
        return types

    def _constant_in(self, graph: Graph, value: Any, dtype: DType) -> Tensor:
        """Return a constant of the layer as a tensor of `graph`.

        A tensor of `graph` is returned unchanged. Any other value becomes a constant of the graph.
        """
        if isinstance(value, Tensor) and value.graph is graph:
            return value
        with graph.as_default():
            return constant_tensor(self._value(value), dtype=dtype)

    def _value(self, value: Any) -> Any:
        """Return the value of a constant of the layer. If the value is a tensor, evaluate the
        tensor.

        Raises NotImplementedError for handles and for tensors that must be fed, because they have
        no value.
        """
        if not isinstance(value, Tensor):
            return value
        known = constant_value(value)
        if known is not None:
            return known
        reason = f"reads {value.op.name}, which has no value that a configuration could hold"
        if value.dtype.base_dtype in HANDLES:
            raise self._error(reason)
        try:
            return get_value(value)
        except (InaccessibleTensorError, OpError) as error:
            raise self._error(reason) from error

    def _check_is_alone(self) -> None:
        if self.node_def.op in _OF_LOOPS:
            raise self._error("is part of a loop")

    def _error(self, reason: str) -> NotImplementedError:
        return NotImplementedError(
            f"Operation {self.node_def.name} ({self.node_def.op}) between layers {reason}: put it "
            "into a Lambda layer, or into a layer of your own, to save, to copy or to call the "
            "model"
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shapes of the outputs. The shapes are determined by creating the operation in
        a separate graph.
        """
        types = self._input_types(0)
        free = [dtype for place, dtype in enumerate(types) if place not in self.constants]
        listed = input_shape if len(free) > 1 else [input_shape]
        with Graph().as_default() as graph:
            inputs = [placeholder(dtype, as_shape(shape)) for dtype, shape in zip(free, listed)]
            outputs = self._outputs(graph, inputs)
        shapes = [tensor.shape for tensor in flatten(outputs)]
        return shapes[0] if len(shapes) == 1 else shapes

    def get_config(self) -> dict[str, Any]:
        """Return the name, the NodeDef in its JSON form, and the values of the constants as arrays.

        Raises NotImplementedError for an operation of a loop. Also raises NotImplementedError if an
        input was not created by a layer and has no value to store: a variable's handle, another
        resource, or a tensor that must be fed.
        """
        self._check_is_alone()
        remember_own_code(*_code_of(self.node_def))
        return {
            **super().get_config(),
            "name": self._name.removeprefix(_PREFIX),
            "node_def": messages_pb2.json_of_message(self.node_def),
            "constants": {place: self._value(value) for place, value in self.constants.items()},
        }


class AddLoss(Layer):
    """A layer that returns its inputs and adds them to its losses.

    Args:
      unconditional: whether the loss is independent of the inputs of the model.
    """

    def __init__(self, unconditional: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Any:
        """Add the inputs as a loss, and return them."""
        self.add_loss(inputs, inputs=None if self.unconditional else inputs)
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, which is the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as a dict of plain values."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """A layer that returns its inputs and adds a metric of them. See `Layer.add_metric`."""

    def __init__(
        self, aggregation: str | None = None, metric_name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        """Add a metric of the inputs, and return them."""
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the outputs, which is the shape of the inputs."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as a dict of plain values."""
        names = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return {**super().get_config(), **names}


LAYER_CLASSES.update(TensorFlowOpLayer=TensorFlowOpLayer, AddLoss=AddLoss, AddMetric=AddMetric)


def _message_of(node_def: Any) -> Any:
    """Return the NodeDef message for serialized bytes or a dict from JSON. Return a message
    unchanged.
    """
    if isinstance(node_def, Mapping):
        return messages_pb2.message_of_json(messages_pb2.NodeDef, node_def)
    if isinstance(node_def, (bytes, str)):
        content = node_def.encode("utf-8") if isinstance(node_def, str) else node_def
        return messages_pb2.parse_bytes(messages_pb2.NodeDef, content)
    return node_def


def _check_effects(node_def: Any, layer: str) -> None:
    """Raise ValueError for an operation with side effects from a file that is not trusted."""
    if MODULE_OF.get(node_def.op, "").startswith(_WITH_EFFECTS):
        what = f"operation {node_def.op} of layer {layer}"
        kind = "has effects besides its outputs"
        check_code_of_files(what, kind, _code_of(node_def), is_refused_elsewhere=False)


def _code_of(node_def: Any) -> tuple[str, ...]:
    return node_def.op, str(node_def)
