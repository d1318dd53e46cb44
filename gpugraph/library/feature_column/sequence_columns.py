"""Sequences as inputs of a model: a column of sequences of numbers, and the input layer for
sequences.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.base.shapes import TensorShape
from gpugraph.building.checks import assert_rank, assert_type
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    OldSequenceDenseColumn,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
)
from gpugraph.library.feature_column.sequence_lengths import equal_lengths, sequence_lengths
from gpugraph.library.feature_column.transformed_features import (
    FeatureTransformationCache,
    sorted_columns,
    verify_batch_sizes,
)
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.parsing.feature_kinds import VarLenFeature
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_to_dense


class SequenceNumericColumn(
    SequenceDenseColumn,
    namedtuple(
        "SequenceNumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")
    ),
):
    """A column of sequences of numbers."""

    @property
    def name(self) -> str:
        """The name of the feature."""
        name: str = self.key
        return name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A dict from the feature's name to a VarLenFeature."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one step."""
        return TensorShape(self.shape)

    @property
    def _variable_shape(self) -> TensorShape:
        return self.variable_shape

    @property
    def parents(self) -> list[Any]:
        """A list that contains the name of the feature from which the column is computed."""
        return [self.key]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the normalized feature."""
        feature = transformation_cache.get(self.key, state_manager)
        return feature if self.normalizer_fn is None else self.normalizer_fn(feature)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the values of the feature, a tensor of shape [batch, time, *shape]. Each sequence
        is padded with the default value.
        """
        sparse = transformation_cache.get(self, state_manager)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        sizes = concat([shape(dense)[:1], [-1], self.variable_shape.as_list()], axis=0)
        count = self.variable_shape.num_elements() if sparse.shape.ndims == 2 else 1
        lengths = sequence_lengths(sparse, num_elements=int(count or 1))
        return TensorSequenceLengthPair(reshape(dense, sizes), lengths)


def concatenate_context_input(context_input: Tensor, sequence_input: Tensor) -> Tensor:
    """Append a context [batch, b] to each step of sequences [batch, time, a]: [batch, time, a+b].

    The context and the sequences must be float32. Raises ValueError or TypeError if a rank or dtype
    does not match.
    """
    dtypes = [
        f"{name} must have dtype float32; got {tensor.dtype}."
        for name, tensor in (("sequence_input", sequence_input), ("context_input", context_input))
    ]
    checks = [
        assert_rank(
            sequence_input,
            3,
            message="sequence_input must have rank 3",
            data=[shape(sequence_input)],
        ),
        assert_type(sequence_input, float32, message=dtypes[0]),
        assert_rank(
            context_input, 2, message="context_input must have rank 2", data=[shape(context_input)]
        ),
        assert_type(context_input, float32, message=dtypes[1]),
    ]
    with control_dependencies(checks):
        steps = shape(sequence_input)[1]
        repeated = tile(expand_dims(context_input, 1), concat([[1], [steps], [1]], 0))
    return concat([sequence_input, repeated], 2)


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return the tensors of sequence columns, concatenated to [batch, time, numbers], and the
    lengths [batch].

    Raises ValueError if a column is not a sequence column. If two columns have sequences of
    different lengths, a run raises InvalidArgumentError.
    """
    columns = sorted_columns(feature_columns)
    for column in columns:
        if not isinstance(column, OldSequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. Given "
                f"(type {type(column)}): {column}"
            )
    with variable_scope(None, default_name="sequence_input_layer", values=list(features.values())):
        cache, outputs, lengths = FeatureTransformationCache(features), [], []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    cache, weight_collections=weight_collections, trainable=trainable
                )
                sizes = shape(dense)
                target = [sizes[0], sizes[1], column._variable_shape.num_elements()]
                outputs.append(reshape(dense, target))
                lengths.append(length)
        verify_batch_sizes(outputs, columns)
        verify_batch_sizes(lengths, columns)
        return concat(outputs, -1), equal_lengths(lengths)
