"""Categorical columns of one feature: integer ids, hashes, or words of a vocabulary."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gpugraph.base.dtypes import DType, int64, string
from gpugraph.building.checks import assert_greater_equal, assert_less
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import CategoricalColumn, IdWeightPair
from gpugraph.library.feature_column.transformed_features import to_sparse_input
from gpugraph.library.lookup.index_tables import index_table_from_file, index_table_from_tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import fill
from gpugraph.ops.elementwise.comparison_and_select import logical_or, where_v2
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.parsing.feature_kinds import VarLenFeature
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.strings.hash_buckets import string_to_hash_bucket_fast
from gpugraph.ops.strings.string_to_number import as_string


def require_string_or_int(dtype: DType, prefix: str) -> None:
    """Raise ValueError unless the dtype is string or an integer dtype."""
    if dtype != string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


class _KeyedColumn(CategoricalColumn):
    """A categorical column of one feature, whose name is the field `key`."""

    key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A dict from the feature's name to a VarLenFeature."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        """A list that contains the name of the feature from which the column is computed."""
        return [self.key]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return a SparseTensor of ids."""
        feature = to_sparse_input(transformation_cache.get(self.key, state_manager))
        return self._ids(feature, state_manager)

    def _ids(self, feature: SparseTensor, state_manager: Any) -> SparseTensor:
        raise NotImplementedError(f"{type(self).__name__} does not define `_ids`")

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids, without weights, as an IdWeightPair."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)

    def _check_dtype(self, feature: SparseTensor) -> None:
        if self.dtype.is_integer != feature.dtype.is_integer:
            raise ValueError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column "
                f"dtype: {self.dtype}, tensor dtype: {feature.dtype}"
            )
        require_string_or_int(feature.dtype, f"column_name: {self.key} input_tensor")


class HashedCategoricalColumn(
    _KeyedColumn, namedtuple("HashedCategoricalColumn", ("key", "hash_bucket_size", "dtype"))
):
    """A column of strings or integers. Each value is hashed to one of the buckets."""

    def _ids(self, feature: SparseTensor, state_manager: Any) -> SparseTensor:
        require_string_or_int(feature.dtype, f"column_name: {self.key} input_tensor")
        self._check_dtype(feature)
        texts = feature.values if self.dtype == string else as_string(feature.values)
        ids = string_to_hash_bucket_fast(texts, self.hash_bucket_size, name="lookup")
        return SparseTensor(feature.indices, ids, feature.dense_shape)

    @property
    def num_buckets(self) -> int:
        """The number of buckets, which is the number of ids."""
        count: int = self.hash_bucket_size
        return count


class _VocabularyColumn(_KeyedColumn):
    """A column that looks up words in a table to get their ids."""

    def _table(self, key_dtype: DType, name: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define `_table`")

    def _ids(self, feature: SparseTensor, state_manager: Any) -> SparseTensor:
        self._check_dtype(feature)
        key_dtype = self.dtype
        if feature.dtype.is_integer:
            key_dtype = int64
            feature = cast(feature, int64)  # type: ignore[assignment]
        name = f"{self.key}_lookup"
        table = self._table(key_dtype, name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        ids: SparseTensor = table.lookup(feature)
        return ids


class VocabularyFileCategoricalColumn(
    _VocabularyColumn,
    namedtuple(
        "VocabularyFileCategoricalColumn",
        ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"),
    ),
):
    """A column of words. The id of a word is its line number in a file."""

    def _table(self, key_dtype: DType, name: str) -> Any:
        return index_table_from_file(
            vocabulary_file=self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=name,
        )

    @property
    def num_buckets(self) -> int:
        """The number of words, plus the number of buckets for unknown words."""
        count: int = self.vocabulary_size + self.num_oov_buckets
        return count


class VocabularyListCategoricalColumn(
    _VocabularyColumn,
    namedtuple(
        "VocabularyListCategoricalColumn",
        ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    ),
):
    """A column of words. The id of a word is its position in a list."""

    def _table(self, key_dtype: DType, name: str) -> Any:
        return index_table_from_tensor(
            tuple(self.vocabulary_list),
            default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets,
            dtype=key_dtype,
            name=name,
        )

    @property
    def num_buckets(self) -> int:
        """The number of words, plus the number of buckets for unknown words."""
        count: int = len(self.vocabulary_list) + self.num_oov_buckets
        return count


class IdentityCategoricalColumn(
    _KeyedColumn,
    namedtuple("IdentityCategoricalColumn", ("key", "number_buckets", "default_value")),
):
    """A column of integers that are used as ids."""

    dtype = int64

    def _ids(self, feature: SparseTensor, state_manager: Any) -> SparseTensor:
        if not feature.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {feature.dtype}")
        values = cast(feature.values, int64, name="values")
        count = cast(self.num_buckets, int64, name="num_buckets")
        zero = cast(0, int64, name="zero")
        if self.default_value is None:
            values = self._checked(values, count, zero)
        else:
            outside = logical_or(values < zero, values >= count, name="out_of_range")
            default = cast(self.default_value, int64)
            values = where_v2(outside, fill(shape(values), default, name="default_values"), values)
        return SparseTensor(feature.indices, values, feature.dense_shape)

    def _checked(self, values: Tensor, count: Tensor, zero: Tensor) -> Tensor:
        checks = [
            assert_less(
                values,
                count,
                data=(values, count),
                message=f'Bucket index for categorical column "{self.name}" exceeds number of '
                "buckets",
                name="assert_less_than_num_buckets",
            ),
            assert_greater_equal(
                values,
                zero,
                data=(values,),
                message=f'Negative bucket index for categorical column "{self.name}"',
                name="assert_greater_or_equal_0",
            ),
        ]
        with control_dependencies(checks):
            return identity(values)

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        count: int = self.number_buckets
        return count
