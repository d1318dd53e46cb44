"""Layers whose inputs are dicts of features: DenseFeatures, SequenceFeatures and LinearFeatures.

The variables of each column are created with `tf.get_variable` in the variable scope
`LAYER/COLUMN`, except in DenseFeaturesV2.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.building.variable_scope import get_variable
from gpugraph.building.variable_scope.scope_entry_and_reuse import pure_variable_scope
from gpugraph.building.variables import variable_parts
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    SequenceDenseColumn,
)
from gpugraph.library.feature_column.linear_models import input_size, weighted_column
from gpugraph.library.feature_column.sequence_lengths import equal_lengths
from gpugraph.library.feature_column.state_managers import LayerStateManager, LayerStateManagerV2
from gpugraph.library.feature_column.transformed_features import (
    FeatureTransformationCache,
    sorted_columns,
    verify_batch_sizes,
)
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.feature_column_configs import (
    deserialize_feature_columns,
    serialize_feature_columns,
)
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros


def _features(inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, dict):
        raise ValueError(f"We expected a dictionary here. Instead we got: {inputs}")
    return inputs


class ColumnsLayer(Layer):
    """Base class of the layers that have feature columns.

    The constructor raises ValueError if a column is not an instance of `expected_column_type`.

    Args:
      expected_column_type: the class that all columns must have.
    """

    _is_feature_layer = True

    def __init__(
        self,
        feature_columns: Any,
        expected_column_type: Any,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = sorted_columns(feature_columns, FeatureColumn)
        self._state_manager = LayerStateManager(self, self.trainable)
        for column in self._feature_columns:
            if not isinstance(column, expected_column_type):
                kinds = expected_column_type
                raise ValueError(
                    f"Items of feature_columns must be a {kinds}. You can wrap a categorical "
                    f"column with an embedding_column or indicator_column. Given: {column}"
                )

    def build(self, input_shape: Any) -> None:
        """Create the variables of all columns."""
        for column in self._feature_columns:
            with pure_variable_scope(self.name), pure_variable_scope(column.name):
                column.create_state(self._state_manager)
        super().build(None)

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        raise NotImplementedError("Calling an abstract method.")

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the concatenated columns."""
        sizes = (column.variable_shape.num_elements() for column in self._feature_columns)
        return self._target_shape(input_shape, sum(sizes))

    def _reshaped(self, column: Any, tensor: Tensor) -> Tensor:
        target = self._target_shape(shape(tensor), column.variable_shape.num_elements())
        return reshape(tensor, target)

    def _joined(self, tensors: list[Tensor]) -> Tensor:
        verify_batch_sizes(tensors, self._feature_columns)
        return concat(tensors, -1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain values."""
        columns = serialize_feature_columns(self._feature_columns)
        return {**super().get_config(), "feature_columns": columns}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create a layer from a dict that `get_config` returned."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects)
        return cls(**{**config, "feature_columns": columns})


class DenseFeatures(ColumnsLayer):
    """A layer that returns the values of dense columns for a batch of features, concatenated to a
    float32 tensor [batch_size, size].

    A call receives a dict from feature names to tensors or SparseTensors.

    Args:
      feature_columns: dense columns. The columns are concatenated in the order of their names.
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(feature_columns, DenseColumn, trainable, name, **kwargs)

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        return (input_shape[0], total_elements)

    def call(self, features: Any, cols_to_output_tensors: Any = None) -> Tensor:
        """Return the concatenated columns. If the dict `cols_to_output_tensors` is passed, also
        store each column's tensor in it.
        """
        cache, tensors = FeatureTransformationCache(_features(features)), []
        for column in self._feature_columns:
            with name_scope(column.name):
                tensor = column.get_dense_tensor(cache, self._state_manager)
                tensors.append(self._reshaped(column, tensor))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        return self._joined(tensors)


class DenseFeaturesV2(DenseFeatures):
    """DenseFeatures that creates its variables itself, not with `tf.get_variable`."""

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(feature_columns, trainable, name, **kwargs)
        self._state_manager = LayerStateManagerV2(self, self.trainable)

    def build(self, input_shape: Any) -> None:
        """Create the variables of all columns, in name scopes."""
        for column in self._feature_columns:
            with name_scope(column.name):
                column.create_state(self._state_manager)
        super(ColumnsLayer, self).build(None)


class SequenceFeatures(ColumnsLayer):
    """A layer that returns the values of sequence columns, concatenated to a float32 tensor
    [batch_size, time, size], and the lengths of the sequences, [batch_size].

    If two columns have sequences of different lengths, a run raises InvalidArgumentError.

    Args:
      feature_columns: columns of sequences.
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(feature_columns, SequenceDenseColumn, trainable, name, **kwargs)

    def _target_shape(self, input_shape: Any, total_elements: Any) -> Any:
        return (input_shape[0], input_shape[1], total_elements)

    def call(self, features: Any) -> tuple[Tensor, Tensor]:
        """Return the concatenated columns, and the lengths of the sequences."""
        cache, tensors, lengths = FeatureTransformationCache(_features(features)), [], []
        for column in self._feature_columns:
            with name_scope(column.name):
                dense, length = column.get_sequence_dense_tensor(cache, self._state_manager)
                tensors.append(self._reshaped(column, dense))
                lengths.append(length)
        verify_batch_sizes(lengths, self._feature_columns)
        return self._joined(tensors), equal_lengths(lengths)


class LinearFeatures(Layer):
    """A layer that returns the output of a linear model of columns: [batch_size, units].

    All weights are initialized to 0.

    Args:
      units: the number of outputs.
      sparse_combiner: the method that combines the weights of an example's categories: "sum",
        "mean" or "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = sorted_columns(feature_columns, FeatureColumn)
        for column in self._feature_columns:
            if not isinstance(column, (DenseColumn, CategoricalColumn)):
                raise ValueError(
                    "Items of feature_columns must be either a DenseColumn or CategoricalColumn. "
                    f"Given: {column}"
                )
        self._units, self._sparse_combiner = units, sparse_combiner
        self._state_manager = LayerStateManager(self, self.trainable)
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Create the weights of all columns, and the bias."""
        options: dict[str, Any] = {
            "dtype": float32,
            "initializer": Zeros(),
            "trainable": self.trainable,
        }
        with pure_variable_scope(self.name):
            for column in self._feature_columns:
                with pure_variable_scope(column.name):
                    column.create_state(self._state_manager)
                    sizes = (input_size(column), self._units)
                    self._state_manager.create_variable(column, "weights", sizes, **options)
            bias = self.add_weight(
                name="bias_weights",
                shape=[self._units],
                use_resource=True,
                getter=get_variable,
                **options,
            )
        # In a scope with a partitioner, the layer's list of weights has the parts.
        parts = variable_parts(bias)
        self.bias = parts[0] if len(parts) == 1 else bias
        super().build(None)

    def call(self, features: Any) -> Tensor:
        """Return the outputs for a dict of features."""
        cache, sums = FeatureTransformationCache(_features(features)), []
        for column in self._feature_columns:
            with name_scope(column.name):
                weights = self._state_manager.get_variable(column, "weights")
                sums.append(
                    weighted_column(
                        column, cache, self._state_manager, self._sparse_combiner, weights
                    )
                )
        verify_batch_sizes(sums, self._feature_columns)
        total = add_n(sums, name="weighted_sum_no_bias")
        return bias_add(total, self.bias, name="weighted_sum")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain values."""
        return {
            **super().get_config(),
            "feature_columns": serialize_feature_columns(self._feature_columns),
            "units": self._units,
            "sparse_combiner": self._sparse_combiner,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Create a layer from a dict that `get_config` returned."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects)
        return cls(**{**config, "feature_columns": columns})
