"""Functions that check arguments and create columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype, float32, string
from gpugraph.library.feature_column.categorical_columns import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
    require_string_or_int,
)
from gpugraph.library.feature_column.column_classes import OldCategoricalColumn
from gpugraph.library.feature_column.combined_columns import (
    CrossedColumn,
    SequenceCategoricalColumn,
    WeightedCategoricalColumn,
)
from gpugraph.library.feature_column.default_values import (
    check_numbers,
    checked_default,
    checked_shape,
    require_name,
)
from gpugraph.library.feature_column.dense_columns import (
    BucketizedColumn,
    IndicatorColumn,
    NumericColumn,
)
from gpugraph.library.feature_column.embedding_columns import EmbeddingColumn
from gpugraph.library.feature_column.sequence_columns import SequenceNumericColumn
from gpugraph.ops.random.variable_initializers import TruncatedNormal
from gpugraph.platform import files, logging


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: DType = float32,
    normalizer_fn: Any = None,
) -> NumericColumn:
    """Return a column of the numbers of a feature, as float32.

    Raises ValueError or TypeError for invalid arguments.

    Args:
      shape: the shape of the feature in one example.
      default_value: the value of missing features in parsed examples: one number, or one for each
        element.
      dtype: the dtype of the parsed feature.
      normalizer_fn: a function that is applied to the tensor.
    """
    sizes = checked_shape(shape, key)
    check_numbers(dtype, None, key)
    default = checked_default(sizes, default_value, dtype, key)
    check_numbers(dtype, normalizer_fn, key)
    require_name(key)
    return NumericColumn(key, sizes, default, dtype, normalizer_fn)


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = 0.0,
    dtype: DType = float32,
    normalizer_fn: Any = None,
) -> SequenceNumericColumn:
    """Return a column of sequences of numbers, from a SparseTensor.

    Raises ValueError or TypeError for invalid arguments.

    Args:
      shape: the shape of one step.
      default_value: the number that fills the steps after the end of a sequence.
      normalizer_fn: a function that is applied to the SparseTensor.
    """
    sizes = checked_shape(shape, key)
    check_numbers(dtype, normalizer_fn, key)
    return SequenceNumericColumn(key, sizes, default_value, dtype, normalizer_fn)


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> BucketizedColumn:
    """Return a column of the buckets into which the numbers of a numeric column fall.

    Boundaries (0., 1.) make the buckets (-inf, 0.), [0., 1.), [1., inf). Raises ValueError if
    `source_column` is not a numeric column or has more than one axis, or if the boundaries are not
    ascending.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    ascending = isinstance(boundaries, (list, tuple)) and all(
        low < high for low, high in itertools.pairwise(boundaries)
    )
    if not ascending:
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DType = string
) -> HashedCategoricalColumn:
    """Return a column of strings or integers. Each value is hashed to one of the buckets.

    Raises ValueError if there is no bucket, or if the dtype is not string or an integer dtype.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    require_name(key)
    require_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


def _check_buckets(num_oov_buckets: Any, has_default: bool, key: str) -> None:
    if not num_oov_buckets:
        return
    if has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DType = string,
) -> VocabularyFileCategoricalColumn:
    """Return a column of words. The id of a word is its line number in a file.

    A word that is not in the file gets the id of one of `num_oov_buckets` buckets, or
    `default_value`. The default value -1 means that the word is ignored. Raises ValueError if an
    argument is invalid or the file does not exist.

    Args:
      vocabulary_size: the number of lines to use; by default all lines.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        vocabulary_size = _line_count(vocabulary_file, key)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_buckets(num_oov_buckets, default_value is not None, key)
    require_string_or_int(dtype, f"column_name: {key}")
    require_name(key)
    return VocabularyFileCategoricalColumn(
        key=key,
        vocabulary_file=vocabulary_file,
        vocabulary_size=vocabulary_size,
        num_oov_buckets=num_oov_buckets or 0,
        default_value=-1 if default_value is None else default_value,
        dtype=dtype,
    )


def _line_count(path: Any, key: str) -> int:
    if not files.Exists(path):
        raise ValueError(f"vocabulary_file in {key} does not exist.")
    with files.GFile(path, "rb") as file:
        count = sum(1 for _ in file)
    logging.info(
        "vocabulary_size = %d in %s is inferred from the number of elements in the "
        "vocabulary_file %s.",
        *(count, key, path),
    )
    return count


def categorical_column_with_vocabulary_file_v2(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    dtype: DType = string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
) -> VocabularyFileCategoricalColumn:
    """Return a `categorical_column_with_vocabulary_file`. Only the order of the arguments
    differs.
    """
    return categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DType | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """Return a column of words. The id of a word is its position in a list.

    A word that is not in the list gets the id of one of `num_oov_buckets` buckets, or
    `default_value`. The default value -1 means that the word is ignored. Raises ValueError for an
    empty list, for duplicate words, and for invalid arguments.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    own_dtype = as_dtype(np.array(vocabulary_list).dtype)
    _check_buckets(num_oov_buckets, default_value != -1, key)
    require_string_or_int(own_dtype, f"column_name: {key} vocabulary")
    if dtype is None:
        dtype = own_dtype
    elif dtype.is_integer != own_dtype.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {own_dtype} do not match, column_name: {key}"
        )
    require_string_or_int(dtype, f"column_name: {key}")
    require_name(key)
    return VocabularyListCategoricalColumn(
        key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets
    )


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return a column of integers that are used as ids in [0, num_buckets).

    An integer out of range becomes `default_value`. If no default value is passed, the run raises
    InvalidArgumentError. Raises ValueError if `num_buckets` is less than 1, or if the default value
    is out of range.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    require_name(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """Return a dense column that contains, for each category, its number of occurrences in an
    example. If the categories have weights, the column contains the sums of the weights instead.
    """
    return IndicatorColumn(categorical_column)


def weighted_categorical_column(
    categorical_column: Any, weight_feature_key: str, dtype: DType = float32
) -> WeightedCategoricalColumn:
    """Return a categorical column whose ids have weights. The weights are another feature.

    Raises ValueError if the dtype is not numeric.
    """
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


def crossed_column(
    keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Return a column of all combinations of the values of several features, hashed to buckets.

    Raises ValueError for fewer than two keys, and for invalid keys.

    Args:
      keys: names of string features, and categorical columns. Hashed columns are not allowed.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, OldCategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def embedding_initializer(
    dimension: Any, initializer: Any, checkpoint: tuple[Any, Any], of_column: str = ""
) -> Any:
    """Return the initializer of an embedding. Raises ValueError for invalid arguments."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint[0] is None) != (checkpoint[1] is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is None:
        return TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))
    if not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{of_column}")
    return initializer


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """Return a dense column of embeddings of the ids. The embeddings of an example are combined.

    Raises ValueError for invalid arguments.

    Args:
      combiner: "mean", "sum" or "sqrtn".
      initializer: by default a truncated normal distribution with standard deviation
        1/sqrt(dimension).
      ckpt_to_load_from, tensor_name_in_ckpt: the checkpoint and the tensor that initialize the
        variable.
      max_norm: the maximum norm of an embedding.
    """
    initializer = embedding_initializer(
        dimension,
        initializer,
        (ckpt_to_load_from, tensor_name_in_ckpt),
        f" Embedding of column_name: {categorical_column.name}",
    )
    return EmbeddingColumn(
        *(categorical_column, dimension, combiner, initializer, ckpt_to_load_from),
        *(tensor_name_in_ckpt, max_norm, trainable),
    )


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Return a `categorical_column_with_identity` for sequences."""
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DType = string
) -> SequenceCategoricalColumn:
    """Return a `categorical_column_with_hash_bucket` for sequences."""
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DType = string,
) -> SequenceCategoricalColumn:
    """Return a `categorical_column_with_vocabulary_file` for sequences."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DType | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Return a `categorical_column_with_vocabulary_list` for sequences."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )
