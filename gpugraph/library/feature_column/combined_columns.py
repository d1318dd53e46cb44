"""Categorical columns that are computed from other columns: weighted columns, crossed columns,
sequences.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gpugraph.base.dtypes import float32, string
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    CategoricalColumn,
    IdWeightPair,
    OldCategoricalColumn,
    example_spec_of,
    is_new_column,
    num_buckets_of,
    sparse_tensors_of,
)
from gpugraph.library.feature_column.transformed_features import to_sparse_input
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.parsing.feature_kinds import VarLenFeature
from gpugraph.ops.reductions.reduction_functions import reduce_prod
from gpugraph.ops.sparse.sparse_functions import sparse_reshape
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from gpugraph.ops.strings.sparse_cross import cross_hashed


class WeightedCategoricalColumn(
    CategoricalColumn,
    namedtuple("WeightedCategoricalColumn", ("categorical_column", "weight_feature_key", "dtype")),
):
    """A categorical column whose ids have weights. The weights come from a second feature."""

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return is_new_column(self.categorical_column)

    @property
    def name(self) -> str:
        """The name of the column of ids, followed by the name of the feature with the weights."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the column of ids, and a VarLenFeature for the weights."""
        spec = example_spec_of(self.categorical_column)
        key = self.weight_feature_key
        if key in spec:
            raise ValueError(f"Parse config {spec[key]} already exists for {key}.")
        return {**spec, key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return num_buckets_of(self.categorical_column)

    @property
    def parents(self) -> list[Any]:
        """A list of the column of ids and the name of the feature with the weights."""
        return [self.categorical_column, self.weight_feature_key]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and the weights, as SparseTensors."""
        weights = self._weights(transformation_cache.get(self.weight_feature_key, state_manager))
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def _weights(self, feature: Any) -> SparseTensor:
        if feature is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        weights: Any = convert_to_tensor_or_sparse_tensor(feature)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = to_sparse_input(weights, ignore_value=0.0)
        return weights if weights.dtype.is_floating else cast(weights, float32)  # type: ignore

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and the weights."""
        return IdWeightPair(*transformation_cache.get(self, state_manager))


class CrossedColumn(
    CategoricalColumn, namedtuple("CrossedColumn", ("keys", "hash_bucket_size", "hash_key"))
):
    """A column of all combinations of the values of several features. Each combination is hashed to
    a bucket.
    """

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return all(isinstance(key, str) or is_new_column(key) for key in leaf_keys(self))

    @property
    def name(self) -> str:
        """The sorted names of the features, joined by `_X_`."""
        names = [key if isinstance(key, str) else key.name for key in leaf_keys(self)]
        return "_X_".join(sorted(names))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of all columns, and a VarLenFeature of strings for each feature
        name.
        """
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec |= {key: VarLenFeature(string)} if isinstance(key, str) else example_spec_of(key)
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        count: int = self.hash_bucket_size
        return count

    @property
    def parents(self) -> list[Any]:
        """A list of the columns and the names of features that this column combines."""
        return list(self.keys)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return a SparseTensor of hashes. Raises ValueError if one of the combined columns has
        weights.
        """
        features = [
            self._feature(key, transformation_cache, state_manager) for key in leaf_keys(self)
        ]
        return cross_hashed(features, num_buckets=self.hash_bucket_size, hash_key=self.hash_key)

    def _feature(self, key: Any, transformation_cache: Any, state_manager: Any) -> Any:
        if isinstance(key, str):
            return transformation_cache.get(key, state_manager)
        if not isinstance(key, OldCategoricalColumn):
            raise ValueError(f"Unsupported column type. Given: {key}")
        ids, weights = sparse_tensors_of(key, transformation_cache, state_manager)
        if weights is not None:
            raise ValueError(
                "crossed_column does not support weight_tensor, but the given column populates "
                f"weight_tensor. Given column: {key.name}"
            )
        return ids

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids, without weights, as an IdWeightPair."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


def leaf_keys(cross: Any) -> list[Any]:
    """Return the names and columns that a crossed column combines.

    If a crossed column is among them, the names and columns that it combines replace it.
    """
    nested = [leaf_keys(key) if isinstance(key, CrossedColumn) else [key] for key in cross.keys]
    return [key for keys in nested for key in keys]


class SequenceCategoricalColumn(
    CategoricalColumn, namedtuple("SequenceCategoricalColumn", "categorical_column")
):
    """A column of sequences. The ids have the axes [batch, time, ids of a step]."""

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return is_new_column(self.categorical_column)

    @property
    def name(self) -> str:
        """The name of the column of ids."""
        name: str = self.categorical_column.name
        return name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the column of ids."""
        return example_spec_of(self.categorical_column)

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return num_buckets_of(self.categorical_column)

    @property
    def parents(self) -> list[Any]:
        """A list that contains the column of ids."""
        return [self.categorical_column]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return a SparseTensor of ids."""
        column = self.categorical_column
        if is_new_column(column):
            return column.transform_feature(transformation_cache, state_manager)
        return column._transform_feature(transformation_cache)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and weights with three axes: [batch, time, ids of a step]."""
        ids, weights = sparse_tensors_of(
            self.categorical_column, transformation_cache, state_manager
        )
        sizes: Tensor = shape(ids)
        target = [sizes[0], sizes[1], reduce_prod(sizes[2:])]
        ids = sparse_reshape(ids, target)
        return IdWeightPair(ids, None if weights is None else sparse_reshape(weights, target))


def refuse_sequence(column: Any, kind: str) -> None:
    """Raise ValueError if the categorical column of a dense column has sequences of ids."""
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {kind}: {column.name}. categorical_column must not be of type "
            "SequenceCategoricalColumn. Suggested fix A: If you wish to use DenseFeatures, use a "
            "non-sequence categorical_column_with_*. Suggested fix B: If you wish to create "
            "sequence input, use SequenceFeatures instead of DenseFeatures. "
            f"Given (type {type(column.categorical_column)}): {column.categorical_column}"
        )


def require_sequence(column: Any, kind: str) -> None:
    """Raise ValueError unless the categorical column of a dense column has sequences of ids."""
    if not isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {kind}: {column.name}. categorical_column must be of type "
            "SequenceCategoricalColumn to use SequenceFeatures. Suggested fix: Use one of "
            "sequence_categorical_column_with_*. "
            f"Given (type {type(column.categorical_column)}): {column.categorical_column}"
        )
