"""Columns that compute dense tensors: numbers, buckets of numbers, indicators of categories."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gpugraph.base.dtypes import float32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    CategoricalColumn,
    DenseColumn,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    example_spec_of,
    is_new_column,
    num_buckets_of,
    sparse_tensors_of,
)
from gpugraph.library.feature_column.combined_columns import refuse_sequence, require_sequence
from gpugraph.library.feature_column.sequence_lengths import sequence_lengths
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.indexing.coordinate_gather_scatter import scatter_nd
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.parsing.feature_kinds import FixedLenFeature
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.sparse.sparse_functions import sparse_slice, sparse_tensor_to_dense
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_merge
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class NumericColumn(
    DenseColumn,
    namedtuple("NumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")),
):
    """A column of numbers as float32."""

    @property
    def name(self) -> str:
        """The name of the feature."""
        name: str = self.key
        return name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A dict from the feature's name to a FixedLenFeature."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the feature without the batch axis."""
        return TensorShape(self.shape)

    @property
    def parents(self) -> list[Any]:
        """A list that contains the name of the feature from which the column is computed."""
        return [self.key]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the normalized feature as float32. Raises ValueError for a SparseTensor."""
        feature = transformation_cache.get(self.key, state_manager)
        if isinstance(feature, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            feature = self.normalizer_fn(feature)
        return cast(feature, float32)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the normalized feature as float32."""
        return transformation_cache.get(self, state_manager)


class BucketizedColumn(
    DenseColumn, CategoricalColumn, namedtuple("BucketizedColumn", ("source_column", "boundaries"))
):
    """A column of the buckets into which the numbers of a numeric column fall."""

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return is_new_column(self.source_column)

    @property
    def name(self) -> str:
        """The name of the numeric column, with a suffix."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the numeric column."""
        return example_spec_of(self.source_column)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the feature, followed by the number of buckets."""
        return TensorShape((*self.source_column.shape, self._count()))

    @property
    def num_buckets(self) -> int:
        """The number of buckets, multiplied by the number of elements of the feature."""
        elements: int = self.source_column.shape[0]
        return self._count() * elements

    @property
    def parents(self) -> list[Any]:
        """A list that contains the numeric column from which the buckets are computed."""
        return [self.source_column]

    def _count(self) -> int:
        return len(self.boundaries) + 1

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the index of the bucket of each element, as int32."""
        numbers = transformation_cache.get(self.source_column, state_manager)
        return raw_ops.Bucketize(numbers, boundaries=list(self.boundaries))

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return a one-hot vector for each element."""
        buckets = cast(transformation_cache.get(self, state_manager), int64)
        return one_hot(buckets, depth=self._count(), on_value=1.0, off_value=0.0)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the buckets as ids. Each element of the feature has its own range of ids."""
        buckets: Tensor = transformation_cache.get(self, state_manager)
        batch_size, elements = shape(buckets)[0], self.source_column.shape[0]
        rows = tile(expand_dims(range_of(0, batch_size), 1), [1, elements])
        columns = tile(range_of(0, elements), stack([batch_size]))
        ids = reshape(buckets, (-1,)) + self._count() * columns
        indices = cast(transpose(stack((reshape(rows, (-1,)), columns))), int64)
        sizes = cast(stack([batch_size, elements]), int64)
        return IdWeightPair(SparseTensor(indices, ids, sizes), None)


class IndicatorColumn(
    DenseColumn, SequenceDenseColumn, namedtuple("IndicatorColumn", "categorical_column")
):
    """A column with the number of occurrences of each category in an example. If the categories
    have weights, the column has the sums of the weights instead.
    """

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return is_new_column(self.categorical_column)

    @property
    def name(self) -> str:
        """The name of the categorical column, with a suffix."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the categorical column."""
        return example_spec_of(self.categorical_column)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the tensor without the batch axis: [1, number of categories]."""
        return TensorShape([1, num_buckets_of(self.categorical_column)])

    @property
    def parents(self) -> list[Any]:
        """A list that contains the categorical column whose ids are counted."""
        return [self.categorical_column]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return, for each category, its number of occurrences or, if there are weights, the sum of
        the weights.
        """
        ids, weights = sparse_tensors_of(
            self.categorical_column, transformation_cache, state_manager
        )
        depth = num_buckets_of(self.categorical_column)
        if weights is not None:
            merged = sparse_merge(ids, weights, vocab_size=depth)
            merged = sparse_slice(merged, [0, 0], merged.dense_shape)
            return scatter_nd(merged.indices, merged.values, merged.dense_shape)
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        return reduce_sum(one_hot(dense, depth=depth, on_value=1.0, off_value=0.0), axis=[-2])

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the counts [batch, categories]. Raises ValueError if the ids are sequences."""
        refuse_sequence(self, "indicator_column")
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the counts [batch, time, categories]. Raises ValueError unless the ids are
        sequences.
        """
        require_sequence(self, "indicator_column")
        dense = transformation_cache.get(self, state_manager)
        ids, _ = sparse_tensors_of(self.categorical_column, transformation_cache, state_manager)
        return TensorSequenceLengthPair(dense, sequence_lengths(ids))
