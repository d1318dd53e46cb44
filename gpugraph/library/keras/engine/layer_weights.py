"""LayerWeights: creates a layer's variables, lists them, and reads and sets their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.building.variables import (
    PartitionedVariable,
    Variable,
    is_created_since,
    variable_parts,
)
from gpugraph.building.variables.module import leaves
from gpugraph.building.variables.replication_modes import (
    VariableAggregation,
    VariableSynchronization,
)
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras import keras_constraints, keras_initializers, keras_regularizers
from gpugraph.library.keras.backend.keras_session import get_session, track_variable
from gpugraph.library.keras.backend.keras_variables import batch_set_value
from gpugraph.library.keras.engine.layer_losses import LayerLosses
from gpugraph.library.keras.engine.layer_paths import layer_text

UNSEARCHED = (
    *("_trainable_weights", "_non_trainable_weights", "_inbound_nodes"),
    *("_outbound_nodes", "_losses", "_updates", "_metrics", "_callable_losses", "_tracked"),
    *("_states", "_argument_names", "_network_graph", "_graph", "inputs", "outputs"),
    *("_nested_inputs", "_nested_outputs"),
    *("_compile_metrics", "_compile_weighted_metrics", "_compiled", "loss", "optimizer"),
)
"""Attributes of layers and models that are not searched for sublayers and variables."""

PLAIN = (str, int, float, type(None), np.ndarray, DType, Tensor)
"""Classes of attribute values that contain no sublayers or variables."""


def distinct(items: Iterable[Any]) -> list[Any]:
    """Return the distinct objects among the items, in the order of their first occurrence."""
    return list({id(item): item for item in items}.values())


class LayerWeights(LayerLosses):
    """The mixin of Layer for variables: the layer's own variables, and the variables of its
    sublayers.

    Sublayers are layers in the layer's attributes.
    """

    built: bool
    _dtype: DType | None

    is_metric = False
    """Whether this layer is a metric. A metric in an attribute of a layer does not count as a
    sublayer.
    """

    def __init__(self, trainable: bool) -> None:
        super().__init__()
        self._trainable = trainable
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []

    @property
    def trainable(self) -> bool:
        """Whether training changes the layer's variables.

        An assignment to this property also sets the property of all sublayers.
        """
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self.sublayers():
            layer.trainable = value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. Register variables in the attribute's value, so that Keras's session
        initializes them.
        """
        super().__setattr__(name, value)
        if name not in UNSEARCHED and not isinstance(value, PLAIN):
            _initialize_later(leaves(value))

    def track_assigned(self) -> None:
        """Register variables in lists and dicts, so that Keras's session initializes them.

        `__setattr__` finds only the variables that a list or dict contains when the list or dict is
        assigned.
        """
        _initialize_later(self._assigned())

    def sublayers(self) -> list[Any]:
        """Return the layers that are attributes of this layer, in the order of assignment."""
        return [layer for layer in self._assigned_layers() if not layer.is_metric]

    def assigned_metrics(self) -> list[Any]:
        """Return the metrics that are attributes of this layer."""
        return [layer for layer in self._assigned_layers() if layer.is_metric]

    def _assigned(self) -> Iterator[Any]:
        """Yield the values of attributes, and the items of lists, tuples and dicts among them,
        except `PLAIN` values.
        """
        for name, value in vars(self).items():
            if isinstance(value, PLAIN) or name in UNSEARCHED:
                continue
            if isinstance(value, (list, tuple, Mapping)):
                yield from leaves(value)
            else:
                yield value

    def _assigned_layers(self) -> list[Any]:
        return distinct(value for value in self._assigned() if isinstance(value, LayerWeights))

    def _assigned_variables(self) -> list[Any]:
        """Return the variables in attributes, except variables that `add_weight` created."""
        known = {id(weight) for weight in self._trainable_weights + self._non_trainable_weights}
        return [
            part
            for leaf in self._assigned()
            if isinstance(leaf, (Variable, PartitionedVariable))
            for part in variable_parts(leaf)
            if id(part) not in known
        ]

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of this layer and its sublayers. The list is empty if the layer
        is not trainable.
        """
        if not self.trainable:
            return []
        assigned = [part for part in self._assigned_variables() if part.trainable]
        nested = [weight for layer in self.sublayers() for weight in layer.trainable_weights]
        return distinct(self._trainable_weights + assigned + nested)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of this layer and its sublayers that training does not change.

        If the layer is not trainable, these are all its variables.
        """
        assigned = self._assigned_variables()
        if self.trainable:
            untrained = self._non_trainable_weights + [
                part for part in assigned if not part.trainable
            ]
            nested = [
                weight for layer in self.sublayers() for weight in layer.non_trainable_weights
            ]
            return distinct(untrained + nested)
        nested = [weight for layer in self.sublayers() for weight in layer.weights]
        return distinct(self._trainable_weights + self._non_trainable_weights + assigned + nested)

    @property
    def weights(self) -> list[Any]:
        """The variables of this layer and its sublayers, the trainable ones first."""
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

    # -- values

    def count_params(self) -> int:
        """Return the number of elements of all variables. Raises ValueError if the layer is not
        built.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self._name}, but the layer isn't built. "
                f"You can build it manually via: `{self._name}.build(batch_input_shape)`."
            )
        return sum(int(variable.shape.num_elements() or 0) for variable in self.weights)

    def get_weights(self) -> list[Any]:
        """Return the values of `weights` in Keras's session as arrays."""
        weights = self.weights
        values: list[Any] = self._session("get_weights").run(weights) if weights else []
        return values

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set the values of `weights`. Raises ValueError if the number of arrays or the shape of an
        array is wrong.
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self._name}" with a  weight list of '
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights. "
                f"Provided weights: {str(weights)[:50]}..."
            )
        if weights:
            self._session("set_weights")
        arrays = [np.asarray(array) for array in weights]
        for variable, array in zip(variables, arrays):
            if not variable.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with "
                    f"provided weight shape {array.shape} ({self._weight_text(variable)})"
                )
        batch_set_value(list(zip(variables, arrays)))

    def _weight_text(self, variable: Any) -> str:
        """Return a description of a variable for a message: its name, and its index in the
        innermost sublayer that owns it.
        """
        owner: Any = self
        layers = self.sublayers()
        while layers:
            layer = layers.pop()
            if any(weight is variable for weight in layer.weights):
                owner, layers = layer, layer.sublayers()
        number = [weight is variable for weight in owner.weights].index(True)
        return f"weight {number} of {layer_text(owner)}, variable {variable.name}"

    def _session(self, method: str) -> Any:
        """Return the session in which `method` reads or sets values. By default, this session is
        Keras's session.

        Subclasses, such as `tf.layers.Layer`, override this method.
        """
        del method
        _initialize_later(self.weights)
        return get_session(self.weights)

    # -- addition

    def _variables_context(self) -> AbstractContextManager[Any]:
        """Return the context manager in which the layer's variables are created. This class returns
        a context manager without an effect.
        """
        return nullcontext()

    def _new_variable(self, name: str | None, shape: Any, **options: Any) -> Any:
        """Create a variable. Subclasses call `tf.get_variable` or `tf.Variable`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_new_variable`")

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Create a variable that belongs to the layer. For the arguments, see `tf.get_variable`.

        The penalty of `regularizer` is added to the layer's losses, unless the variable existed
        already and is shared. Raises ValueError for a trainable variable with the synchronization
        ON_READ, and TypeError for an unknown keyword argument.

        Args:
          name: by default "Variable".
          shape: by default (), for a scalar.
          initializer, regularizer, constraint: functions, or names and configurations that
            `tf.keras.initializers` and so on accept.
          kwargs: may contain `collections` and `getter`. `collections` is a list of graph
            collections for the variable. `getter` is a function that is called instead of
            `_new_variable`.
        """
        getter, options = _getter_and_options(self._new_variable, kwargs)
        on_read = synchronization == VariableSynchronization.ON_READ
        if on_read and trainable:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                "non-trainable variables. You have specified trainable=True and "
                "synchronization=VariableSynchronization.ON_READ."
            )
        is_trainable = not on_read if trainable is None else trainable
        initializer, regularizer, constraint = (
            part.get(value) if isinstance(value, (str, dict)) else value
            for part, value in (
                (keras_initializers, initializer),
                (keras_regularizers, regularizer),
                (keras_constraints, constraint),
            )
        )
        with self._variables_context():
            version = get_default_graph().version
            variable = getter(
                name=name,
                shape=() if shape is None else shape,
                dtype=as_dtype(dtype or self._dtype or dtypes.float32),
                initializer=initializer,
                trainable=is_trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource,
                partitioner=partitioner,
                synchronization=synchronization,
                aggregation=aggregation,
                **options,
            )
            _initialize_later([variable])
            if regularizer is not None and is_created_since(variable, version):
                self._regularize(name or variable.op.name, variable, regularizer)
        self.track_variable(variable, is_trainable)
        if name is not None and isinstance(variable, Trackable) and isinstance(self, Trackable):
            self._track_trackable(variable, name, overwrite=True)
        return variable

    add_variable = add_weight

    def _regularize(self, name: str, variable: Any, regularizer: Callable[..., Any]) -> None:
        graph = get_default_graph()
        for part in variable_parts(variable):
            with graph.colocate_with(part.op), graph.name_scope(f"{name}/Regularizer"):
                loss = regularizer(part)
            if loss is not None:
                self.add_loss(loss)

    def track_variable(self, variable: Any, trainable: bool) -> None:
        """Add a variable to the layer's lists of variables. For a partitioned variable, add its
        partitions.

        Args:
          trainable: whether to train the variable. In a trainable layer, a partition whose
            attribute `trainable` is False is not trained. A variable getter of the program may
            return a tensor, which is treated as trainable.
        """
        for part in variable_parts(variable):
            is_trained = trainable and (getattr(part, "trainable", True) or not self.trainable)
            weights = self._trainable_weights if is_trained else self._non_trainable_weights
            if not any(part is weight for weight in weights):
                weights.append(part)


def _initialize_later(values: Iterable[Any]) -> None:
    """Register the variables among `values` for initialization by Keras's session."""
    for value in values:
        if isinstance(value, (Variable, PartitionedVariable)):
            for part in variable_parts(value):
                track_variable(part)


def _getter_and_options(
    default: Callable[..., Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function that creates a variable, and the options from `kwargs` that it
    receives.
    """
    known = ("getter", "collections", "experimental_autocast")
    for key in kwargs:
        if key not in known:
            raise TypeError("Unknown keyword argument:", key)
    options = {key: kwargs[key] for key in kwargs if key == "collections"}
    return kwargs.get("getter", default), options
