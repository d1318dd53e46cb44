"""The base classes of feature columns, of both generations in TensorFlow 1.15.

The methods of the older generation (`_FeatureColumn` in TensorFlow, `OldFeatureColumn` in gpugraph)
receive a builder of features, and create variables in the current variable scope. The methods of
the newer generation, `FeatureColumn`, receive a cache of transformed features, and a state manager
that stores the variables. In this package, a column of the newer generation also belongs to the
older generation: its older methods call the newer ones, with a state manager that creates variables
in the current scope.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.building.variable_scope import get_variable
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.feature_column.state_managers import StateManager


class OldFeatureColumn:
    """Base class of columns of the older generation. A column computes one input of a model."""

    @property
    def name(self) -> str:
        """The name of the column, unique among the columns of a model."""
        raise NotImplementedError(f"{type(self).__name__} does not define `name`")

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)

    @property
    def _var_scope_name(self) -> str:
        """The variable scope of the column's variables, relative to the model's scope."""
        return self.name

    def _transform_feature(self, inputs: Any) -> Any:
        """Compute the column from features and other columns, whose tensors `inputs.get`
        returns.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `_transform_feature`")

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        """The features of a tf.Example that the column needs, for `tf.io.parse_example`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_parse_example_spec`")

    def _reset_config(self) -> None:
        """Do nothing. Columns that cache values override this method."""


class OldDenseColumn(OldFeatureColumn):
    """Base class of columns of the older generation that compute a dense tensor [batch_size,
    ...].
    """

    @property
    def _variable_shape(self) -> Any:
        """The shape of the tensor without the batch axis."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_variable_shape`")

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        """Return the dense tensor. Variables are created in the current variable scope."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_get_dense_tensor`")


IdWeightPair = namedtuple("IdWeightPair", ("id_tensor", "weight_tensor"))
"""A SparseTensor of ids, and a SparseTensor of weights at the same indices, or None."""

TensorSequenceLengthPair = namedtuple(
    "TensorSequenceLengthPair", ("dense_tensor", "sequence_length")
)
"""A tensor [batch, time, ...], and the number of valid steps [batch]."""


class OldCategoricalColumn(OldFeatureColumn):
    """Base class of columns of the older generation that compute ids of categories in [0,
    _num_buckets).
    """

    IdWeightPair = IdWeightPair

    @property
    def _num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_num_buckets`")

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        """Return the ids and their weights as an IdWeightPair."""
        raise NotImplementedError(f"{type(self).__name__} does not define `_get_sparse_tensors`")


class OldSequenceDenseColumn(OldFeatureColumn):
    """Base class of columns of the older generation that compute a dense tensor [batch, time,
    ...].
    """

    TensorSequenceLengthPair = TensorSequenceLengthPair

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        """Return the tensor and the lengths of its sequences as a TensorSequenceLengthPair."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define `_get_sequence_dense_tensor`"
        )


class ScopeVariables(StateManager):
    """A state manager that creates a column's variables in the current variable scope."""

    def __init__(self, weight_collections: Any, trainable: bool | None) -> None:
        self._collections = weight_collections
        self._trainable = trainable is None or trainable
        self._variables: dict[str, Any] = {}

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Create the variable with `tf.get_variable`, in the collections that the constructor
        received.
        """
        collections = self._collections
        if collections and GraphKeys.GLOBAL_VARIABLES not in collections:
            collections.append(GraphKeys.GLOBAL_VARIABLES)
        self._variables[name] = get_variable(
            name,
            shape=shape,
            dtype=dtype or float32,
            initializer=initializer,
            trainable=trainable and self._trainable,
            collections=collections,
        )
        return self._variables[name]

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Create the column's variables in the current scope, and return the variable `name`."""
        feature_column.create_state(self)
        return self._variables[name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Do nothing, because the graph's collections already contain the tables."""


class FeatureColumn(OldFeatureColumn):
    """Base class of columns. A column computes one input of a model from features."""

    _is_v2_column = True
    """Whether the column and all columns that it uses are of the newer generation."""

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Compute the column from features and other columns, whose tensors
        `transformation_cache.get` returns.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `transform_feature`")

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of a tf.Example that the column needs, for `tf.io.parse_example`."""
        raise NotImplementedError(f"{type(self).__name__} does not define `parse_example_spec`")

    def create_state(self, state_manager: Any) -> None:
        """Create the column's variables with `state_manager.create_variable`. The base class
        creates none.
        """

    @property
    def parents(self) -> list[Any]:
        """The columns, and the names of features, from which the column is computed."""
        raise NotImplementedError(f"{type(self).__name__} does not define `parents`")

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(inputs, None)

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec


class DenseColumn(FeatureColumn, OldDenseColumn):
    """Base class of columns that compute a dense tensor [batch_size, ...]."""

    @property
    def variable_shape(self) -> Any:
        """The shape of the tensor without the batch axis."""
        raise NotImplementedError(f"{type(self).__name__} does not define `variable_shape`")

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the dense tensor."""
        raise NotImplementedError(f"{type(self).__name__} does not define `get_dense_tensor`")

    @property
    def _variable_shape(self) -> Any:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        return self.get_dense_tensor(inputs, ScopeVariables(weight_collections, trainable))


class CategoricalColumn(FeatureColumn, OldCategoricalColumn):
    """Base class of columns that compute ids of categories in [0, num_buckets)."""

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        raise NotImplementedError(f"{type(self).__name__} does not define `num_buckets`")

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and their weights as an IdWeightPair."""
        raise NotImplementedError(f"{type(self).__name__} does not define `get_sparse_tensors`")

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        return self.get_sparse_tensors(inputs, None)


class SequenceDenseColumn(FeatureColumn, OldSequenceDenseColumn):
    """Base class of columns that compute a dense tensor [batch, time, ...]."""

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the tensor and the lengths of its sequences as a TensorSequenceLengthPair."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define `get_sequence_dense_tensor`"
        )

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        state = ScopeVariables(weight_collections, trainable)
        return self.get_sequence_dense_tensor(inputs, state)


def is_feature_column_v2(feature_columns: Sequence[Any]) -> bool:
    """Return whether all columns, and the columns from which they are computed, are of the newer
    generation.
    """
    return all(is_new_column(column) for column in feature_columns)


def is_new_column(column: Any) -> bool:
    """Return whether a column, and the columns from which it is computed, are of the newer
    generation.
    """
    return isinstance(column, FeatureColumn) and bool(column._is_v2_column)


def num_buckets_of(column: Any) -> int:
    """Return the number of categories of a column of either generation."""
    count: int = column._num_buckets
    return count


def sparse_tensors_of(column: Any, transformation_cache: Any, state_manager: Any) -> Any:
    """Return the IdWeightPair of a categorical column of either generation."""
    if isinstance(column, CategoricalColumn):
        return column.get_sparse_tensors(transformation_cache, state_manager)
    return column._get_sparse_tensors(transformation_cache)


def example_spec_of(column: Any) -> dict[str, Any]:
    """Return the features of a tf.Example that a column of either generation needs."""
    spec: dict[str, Any] = column._parse_example_spec
    return spec
