"""The base of layers and recurrent cells: name, variable scope, variables, losses.

The first call opens the scope, named by the layer or its class. All later calls find the variables
there, wherever they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.nest import flatten, is_nested, map_structure
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, graph_of
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.layers.input_spec import check_inputs
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import shape as shape_of
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.variable_scope import VariableScope, get_variable, variable_scope
from gpugraph.variables import is_created_since, variable_parts

_NAMES = ("__layer_names",)  # the collection that counts the layers of a graph by class


class Layer:
    """A function with variables. Subclasses define `call`, and add variables in `build` or there.

    name: of the scope, by default made of the class's name: `BasicLSTMCell` is `basic_lstm_cell`.
    dtype: of the variables, by default that of the first input.
    activity_regularizer: a function from the outputs to a penalty, a scalar; divided by the size
      of the batch it joins the layer's losses.
    """

    input_rank: int | None = None
    """The rank of inputs; None: any."""

    input_axes: Mapping[int, int | None] = {}
    """Sizes of inputs by axis; `build` sets them from the first inputs."""

    input_spec: Any = None
    """An InputSpec, or a list of one for each input; None: any inputs."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        scope = kwargs.pop("_scope", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(kwargs)}")
        self.trainable = trainable
        self.built = False
        self._base_name = name or snake_case(type(self).__name__)
        self._name = name or _unique(self._base_name)
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._scope: VariableScope | None = None
        self._called = False
        self._graph: Graph | None = None
        if scope is not None:
            with variable_scope(scope) as self._scope:
                pass

    # -- properties

    @property
    def name(self) -> str:
        """The name of the layer, unique in its graph unless it is given."""
        return self._name

    @property
    def dtype(self) -> DType | None:
        """The dtype of the variables; None before the first call, where it is not given."""
        return self._dtype

    @property
    def graph(self) -> Graph | None:
        """The graph of the first call."""
        return self._graph

    @property
    def scope_name(self) -> str:
        """The name of its variable scope; ValueError before the first call."""
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer '{self._name}' has not been "
                "used yet: the scope is opened at the first call."
            )
        return self._scope.name

    @property
    def trainable_weights(self) -> list[Any]:
        """Its trainable variables; none where the layer is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Its variables that are not trained."""
        if self.trainable:
            return list(self._non_trainable_weights)
        return self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """Its variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """The same as `weights`."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The same as `non_trainable_weights`."""
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """The penalties of regularizers, and what `add_loss` added."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        """Operations to be run with each step of training."""
        return list(self._updates)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds a loss, or a list of them, to the layer's and to REGULARIZATION_LOSSES."""
        del inputs
        _collect(losses, self._losses, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds an operation or tensor, or a list of them, to the layer's and to UPDATE_OPS."""
        del inputs
        listed = updates if isinstance(updates, (list, tuple)) else [updates]
        ops = [getattr(update, "op", update) for update in listed]
        _collect(ops, self._updates, GraphKeys.UPDATE_OPS)

    def count_params(self) -> int:
        """The number of elements of its variables; ValueError before they exist."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self._name}, but the layer isn't built: "
                "its first call adds its variables."
            )
        return sum(int(variable.shape.num_elements() or 0) for variable in self.weights)

    # -- for subclasses

    def build(self, inputs_shape: Any) -> None:
        """Adds the variables, for the shape (or structure of shapes) of the first inputs."""

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """What the layer computes."""
        raise NotImplementedError(f"{type(self).__name__} does not define `call`")

    # -- calls

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls `call` within the layer's scope, after `build` the first time."""
        self._set_scope(kwargs.pop("scope", None))
        inputs = map_structure(_tensor_of_value, inputs)
        self._check_graph(inputs)
        with self._within(self._called or self._reuse):
            if not self.built:
                self._check_spec(inputs)
                self._build(inputs)
            self._check_spec(inputs)
            if self.input_axes:
                self._check_axes(flatten(inputs)[0])
            outputs = self.call(inputs, *args, **kwargs)
            if self._activity_regularizer is not None:
                self._regularize_activity(outputs)
        self._called = True
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as a call of the layer."""
        return self(inputs, *args, **kwargs)

    def _regularize_activity(self, outputs: Any) -> None:
        graph = get_default_graph()
        with graph.name_scope("ActivityRegularizer"):
            for output in flatten(outputs):
                loss = self._activity_regularizer(output)
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype.base_dtype))

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as self._scope:
            pass

    @contextmanager
    def _within(self, reuse: Any) -> Iterator[VariableScope]:
        """In the layer's variable scope, and the name scope that this opened at first."""
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            graph = get_default_graph()
            with graph.name_scope(scope.original_name_scope):
                yield scope

    def _build(self, inputs: Any) -> None:
        first = flatten(inputs)[0]
        if self._dtype is None:
            self._dtype = first.dtype.base_dtype
        self._check_rank(first)
        self.build(map_structure(lambda tensor: tensor.shape, inputs))
        self.built = True

    def _check_spec(self, inputs: Any) -> None:
        if self.input_spec is not None:
            check_inputs(self.input_spec, flatten(inputs), self._name)

    def _check_rank(self, tensor: Any) -> None:
        rank = tensor.shape.rank
        if self.input_rank is not None and rank not in (None, self.input_rank):
            raise ValueError(
                f"Input 0 of layer {self._name} is incompatible with the layer: expected "
                f"ndim={self.input_rank}, found ndim={rank}. Full shape received: {tensor.shape}"
            )

    def _check_axes(self, tensor: Any) -> None:
        """ValueError for inputs of other sizes than the variables have."""
        sizes = tensor.shape.sizes
        for axis, wanted in self.input_axes.items():
            size = None if sizes is None else sizes[axis]
            if size is not None and wanted is not None and size != wanted:
                raise ValueError(
                    f"Input 0 of layer {self._name} is incompatible with the layer: expected axis "
                    f"{axis} of input shape to have value {wanted} but received input with shape "
                    f"{tensor.shape.as_list()}"
                )

    def _check_graph(self, inputs: Any) -> None:
        graph = graph_of(flatten(inputs))
        if self._graph is None:
            self._graph = graph
        elif graph is not self._graph:
            raise ValueError(
                f"Input graph and Layer graph are not the same: layer {self._name} was called "
                f"first in {self._graph!r}, but {flatten(inputs)[0]!r} is of {graph!r}. Make a "
                "layer for each graph."
            )

    # -- making variables

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        use_resource: bool | None = None,
        partitioner: Any = None,
    ) -> Any:
        """A variable in the layer's scope; see `tf.get_variable`.

        The penalty of `regularizer` for a new variable joins the layer's losses.
        """
        self._set_scope(None)
        with self._within(self._called or self._reuse):
            version = get_default_graph().version
            variable = get_variable(
                name,
                shape,
                dtype=dtype or self._dtype or dtypes.float32,
                initializer=initializer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource,
                partitioner=partitioner,
            )
            if regularizer is not None and is_created_since(variable, version):
                self._regularize(name, variable, regularizer)
        self._know(variable, trainable)
        return variable

    add_variable = add_weight

    def _regularize(self, name: str, variable: Any, regularizer: Callable[..., Any]) -> None:
        graph = get_default_graph()
        for part in variable_parts(variable):
            with graph.colocate_with(part.op), graph.name_scope(f"{name}/Regularizer"):
                loss = regularizer(part)
            if loss is not None:
                self.add_loss(loss)

    def _know(self, variable: Any, trainable: bool) -> None:
        """Lists a variable (its parts, where it is in parts) among the layer's."""
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        for part in variable_parts(variable):
            if not any(part is weight for weight in weights):
                weights.append(part)


def _collect(items: Any, known: list[Any], collection: str) -> None:
    """Adds new items to a list and to the graph's collection."""
    in_graph = get_default_graph().get_collection_ref(collection)
    for item in items if isinstance(items, (list, tuple)) else [items]:
        for group in (known, in_graph):
            if all(item is not member for member in group):
                group.append(item)


def _tensor_of_value(value: Any) -> Any:
    """Numbers and arrays as tensors; tensors and variables unchanged."""
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element") or value is None:
        return value
    return value if is_nested(value) else convert_to_tensor(value)


def snake_case(name: str) -> str:
    """`BasicLSTMCell` as `basic_lstm_cell`; a scope's name can't start with `_`."""
    split = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    lowered = re.sub("([a-z])([A-Z])", r"\1_\2", split).lower()
    return f"private{lowered}" if lowered.startswith("_") else lowered


def _unique(base_name: str) -> str:
    """`base_name` with the number of the graph's layers of that name."""
    stored = get_default_graph().get_collection_ref(_NAMES)
    if not stored:
        stored.append({})
    counts: dict[str, int] = stored[0]
    counts[base_name] = counts.get(base_name, 0) + 1
    return f"{base_name}_{counts[base_name]}"
