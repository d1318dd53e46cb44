"""Embedding columns that share one variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.library.feature_column.column_classes import OldCategoricalColumn, num_buckets_of
from gpugraph.library.feature_column.column_functions import embedding_initializer
from gpugraph.library.feature_column.combined_columns import WeightedCategoricalColumn
from gpugraph.library.feature_column.embedding_columns import (
    OldSharedEmbeddingColumn,
    SharedEmbeddingColumnCreator,
)


def _check_alike(categorical_columns: Sequence[Any]) -> str:
    """Return the default name of the shared variable.

    Raises ValueError if the columns have different classes or numbers of categories.
    """
    columns = sorted(categorical_columns, key=lambda column: str(column.name))
    first = columns[0]
    if not isinstance(first, OldCategoricalColumn):
        raise ValueError(
            "All categorical_columns must be subclasses of _CategoricalColumn. "
            f"Given: {first}, of type: {type(first)}"
        )
    count, first = num_buckets_of(first), _unweighted(first)
    for column in map(_unweighted, columns[1:]):
        if not isinstance(column, type(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                "or be weighted_categorical_column of the same type. Given column: "
                f"{first} of type: {type(first)} does not match given column: {column} of type: "
                f"{type(column)}"
            )
        if count != num_buckets_of(column):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number "
                f"of buckets. Given column: {first} with buckets: {count} does  not match column: "
                f"{column} with buckets: {num_buckets_of(column)}"
            )
    return "_".join(column.name for column in columns) + "_shared_embedding"


def _unweighted(column: Any) -> Any:
    is_weighted = isinstance(column, WeightedCategoricalColumn)
    return column.categorical_column if is_weighted else column


def shared_embedding_columns(
    categorical_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[OldSharedEmbeddingColumn]:
    """Return a dense column for each categorical column. All dense columns share one variable of
    embeddings.

    For the other arguments, see `embedding_column`. Raises ValueError if the categorical columns
    have different classes or numbers of categories.

    Args:
      shared_embedding_collection_name: the name of the graph collection to which the variable is
        added. By default, the collection name is made from the names of the columns.
    """
    initializer = embedding_initializer(
        dimension, initializer, (ckpt_to_load_from, tensor_name_in_ckpt)
    )
    name = _check_alike(categorical_columns)
    return [
        OldSharedEmbeddingColumn(
            *(column, dimension, combiner, initializer),
            *(shared_embedding_collection_name or name, ckpt_to_load_from, tensor_name_in_ckpt),
            *(max_norm, trainable),
        )
        for column in categorical_columns
    ]


def shared_embeddings(
    categorical_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[Any]:
    """Return dense columns of the newer generation that share one variable, for layers such as
    `DenseFeatures`.

    For the arguments, see `shared_embedding_columns`.
    """
    initializer = embedding_initializer(
        dimension, initializer, (ckpt_to_load_from, tensor_name_in_ckpt)
    )
    name = _check_alike(categorical_columns)
    creator = SharedEmbeddingColumnCreator(
        *(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt),
        *(num_buckets_of(categorical_columns[0]), trainable),
        shared_embedding_collection_name or name,
    )
    return [creator(column, combiner, max_norm) for column in categorical_columns]
