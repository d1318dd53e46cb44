"""The feature columns of `tf.contrib.layers`. They are implemented with the columns of
`tf.feature_column`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.variable_scope import variable_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library import feature_column as columns
from gpugraph.library.feature_column import column_functions

UNNAMED = "unnamed_features"
"""The key of the features of an input function that returns one tensor: their column has no name.
"""


def _key(name: str) -> str:
    return name or UNNAMED


def real_valued_column(
    column_name: str,
    dimension: int | None = 1,
    default_value: Any = None,
    dtype: Any = dtypes.float32,
    normalizer: Any = None,
) -> Any:
    """Return a column of numbers.

    Args:
      column_name: the key of the feature, or "" for a model whose features are a single tensor.
      dimension: the number of numbers in an example.
      default_value: a number, or a list of numbers, for examples that lack the feature.
      normalizer: a function that receives and returns a tensor.
    """
    if dimension is None:
        raise NotImplementedError("real_valued_column(dimension=None): name the number of values")
    if default_value is not None and isinstance(default_value, (list, tuple)):
        default_value = tuple(default_value)
    return column_functions.numeric_column(
        _key(column_name), (dimension,), default_value, dtype, normalizer
    )


def sparse_column_with_keys(
    column_name: str,
    keys: Iterable[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = dtypes.string,
) -> Any:
    """Return a categorical column whose ids are positions in `keys`."""
    del combiner
    return column_functions.categorical_column_with_vocabulary_list(
        column_name, keys, dtype, default_value
    )


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = dtypes.string,
) -> Any:
    """Return a categorical column whose ids are line numbers of a file."""
    del combiner
    return column_functions.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocab_size,
        num_oov_buckets,
        None if num_oov_buckets else default_value,
        dtype,
    )


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = dtypes.string,
    hash_keys: Any = None,
) -> Any:
    """Return a categorical column whose ids are hashes."""
    del combiner
    if hash_keys is not None:
        raise NotImplementedError("sparse_column_with_hash_bucket(hash_keys=...): hash once")
    return column_functions.categorical_column_with_hash_bucket(
        column_name, hash_bucket_size, dtype
    )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = dtypes.int64
) -> Any:
    """Return a categorical column whose values are already ids."""
    del combiner, dtype
    return column_functions.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = dtypes.float32
) -> Any:
    """Return a categorical column whose values have weights."""
    return column_functions.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column: Any) -> Any:
    """Return a dense column with the number of occurrences of each id."""
    return column_functions.indicator_column(sparse_id_column)


def bucketized_column(source_column: Any, boundaries: Iterable[float]) -> Any:
    """Return a categorical column whose ids are the indices of the ranges between `boundaries`."""
    return column_functions.bucketized_column(source_column, list(boundaries))


def crossed_column(
    columns: Iterable[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    hash_key: Any = None,
) -> Any:
    """Return a categorical column whose ids are combinations of the values of several columns."""
    del combiner
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise NotImplementedError("crossed_column(ckpt_to_load_from=...): use warm start")
    parts = [_crossable(column) for column in columns]
    return column_functions.crossed_column(parts, hash_bucket_size, hash_key)


def _crossable(column: Any) -> Any:
    """Return an argument that a crossed column accepts for this column. For a column of hashes, it
    is the key of the feature. For other columns, it is the column.
    """
    return column.key if type(column).__name__ == "HashedCategoricalColumn" else column


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Return a dense column with a trained vector for each id."""
    return column_functions.embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def create_feature_spec_for_parsing(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return a dict that describes the features that columns read from Examples."""
    spec: dict[str, Any] = columns.make_parse_example_spec(list(feature_columns))
    return spec


def input_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Iterable[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
    cols_to_outs: Any = None,
) -> Tensor:
    """Return the dense values of columns, concatenated in the order of the columns' names.

    Args:
      columns_to_tensors: a dict from keys to features.
      cols_to_outs: a dict that receives the values of each column.
    """
    with tf_scope(scope, "input_from_feature_columns"):
        result: Tensor = columns.input_layer(
            named_features(columns_to_tensors),
            list(feature_columns),
            weight_collections,
            trainable,
            cols_to_output_tensors=cols_to_outs,
        )
    return result


def weighted_sum_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
) -> tuple[Tensor, dict[Any, Any], Any]:
    """Return the outputs of a linear model, a dict from columns to variables, and the bias."""
    weights: dict[Any, Any] = {}
    with tf_scope(scope, "weighted_sum_from_feature_columns"):
        sums = columns.linear_model(
            named_features(columns_to_tensors),
            list(feature_columns),
            units=num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=weights,
        )
    bias = weights.pop("bias", [None])
    return sums, weights, bias[0]


joint_weighted_sum_from_feature_columns = weighted_sum_from_feature_columns


def tf_scope(scope: str | None, default: str) -> Any:
    """Return a variable scope with this name, or with the default name if `scope` is None."""
    return variable_scope(scope, default)


def named_features(features: Any) -> dict[Any, Any]:
    """Return features as a dict. If the features are a single tensor, its key is the key of the
    column without a name.
    """
    if not isinstance(features, dict):
        return {UNNAMED: features}
    return {_key(key) if isinstance(key, str) else key: value for key, value in features.items()}


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Return a column of numbers for each feature of an array, as `infer_real_valued_columns`."""
    return infer_real_valued_columns(x)


def infer_real_valued_columns(features: Any) -> list[Any]:
    """Return a column of numbers for each feature, with the size and dtype of the feature."""
    result = []
    for key, value in sorted(named_features(features).items()):
        tensor = tf.convert_to_tensor(value)
        size = 1 if tensor.shape.rank == 1 else int(tensor.shape[1])
        result.append(real_valued_column(key, size, dtype=tensor.dtype))
    return result
