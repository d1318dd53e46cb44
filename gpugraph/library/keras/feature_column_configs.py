"""Conversion of feature columns to plain values for configurations of layers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.library.feature_column.categorical_columns import (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn,
)
from gpugraph.library.feature_column.column_classes import OldFeatureColumn
from gpugraph.library.feature_column.combined_columns import (
    CrossedColumn,
    SequenceCategoricalColumn,
    WeightedCategoricalColumn,
)
from gpugraph.library.feature_column.dense_columns import (
    BucketizedColumn,
    IndicatorColumn,
    NumericColumn,
)
from gpugraph.library.feature_column.embedding_columns import EmbeddingColumn
from gpugraph.library.feature_column.sequence_columns import SequenceNumericColumn
from gpugraph.library.keras import keras_initializers
from gpugraph.library.keras.keras_objects import deserialize_keras_object, serialize_keras_object

_CLASSES: dict[str, Any] = {
    column_class.__name__: column_class
    for column_class in (
        *(BucketizedColumn, CrossedColumn, EmbeddingColumn, HashedCategoricalColumn),
        *(IdentityCategoricalColumn, IndicatorColumn, NumericColumn, SequenceCategoricalColumn),
        *(SequenceNumericColumn, VocabularyFileCategoricalColumn, WeightedCategoricalColumn),
        VocabularyListCategoricalColumn,
    )
}
_COLUMNS = ("categorical_column", "source_column")


def serialize_feature_column(column: Any) -> Any:
    """Return a column's class name and configuration. The name of a feature is returned unchanged.

    Raises ValueError for any other object, and for columns that share variables.
    """
    if isinstance(column, str):
        return column
    if type(column).__name__ not in _CLASSES:
        kind = "FeatureColumn" if isinstance(column, OldFeatureColumn) else "string"
        raise ValueError(f"Instance: {column} is not a {kind} that has a configuration")
    config = {name: _plain(name, getattr(column, name)) for name in column._fields}
    return {"class_name": type(column).__name__, "config": config}


def _plain(name: str, value: Any) -> Any:
    if name in _COLUMNS:
        return serialize_feature_column(value)
    if name == "keys":
        return tuple(serialize_feature_column(key) for key in value)
    if name == "dtype":
        return value.name
    if name in ("initializer", "normalizer_fn"):
        return serialize_keras_object(value)
    return value


def deserialize_feature_column(
    config: Any,
    custom_objects: Mapping[str, Any] | None = None,
    columns_by_name: dict[str, Any] | None = None,
) -> Any:
    """Return the column of a configuration. The name of a feature is returned unchanged.

    Raises ValueError for an unknown class, and for fields that the class does not have.

    Args:
      columns_by_name: columns that exist already. If one of these columns has the same name, this
        column is returned instead of a new column.
    """
    if isinstance(config, str):
        return config
    name = config["class_name"]
    column_class = {**_CLASSES, **(custom_objects or {})}.get(name)
    if column_class is None:
        raise ValueError(f"Unknown feature column: {name}; there are {sorted(_CLASSES)}")
    fields = config["config"]
    if set(fields) != set(column_class._fields):
        raise ValueError(f"Invalid config: {fields}, expected keys: {column_class._fields}")
    known = {} if columns_by_name is None else columns_by_name
    objects = custom_objects or {}
    column = column_class(
        **{name: _object(name, value, objects, known) for name, value in fields.items()}
    )
    return known.setdefault(f"{name}:{column.name}", column)


def _object(
    name: str, value: Any, custom_objects: Mapping[str, Any], columns_by_name: dict[str, Any]
) -> Any:
    if name in _COLUMNS:
        return deserialize_feature_column(value, custom_objects, columns_by_name)
    if name == "keys":
        return tuple(
            deserialize_feature_column(key, custom_objects, columns_by_name) for key in value
        )
    if name == "dtype":
        return as_dtype(value)
    if name == "initializer":
        return keras_initializers.deserialize(value, custom_objects=custom_objects)
    if name == "normalizer_fn":
        return deserialize_keras_object(value, custom_objects=custom_objects)
    return _tuples(value)


def _tuples(value: Any) -> Any:
    """Convert nested lists to tuples. Columns must be hashable, because they are keys of dicts."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


def serialize_feature_columns(feature_columns: Sequence[Any]) -> list[Any]:
    """Return the configurations of several columns."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(
    configs: Sequence[Any], custom_objects: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the columns of several configurations. A column that occurs several times becomes a
    single object.
    """
    known: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, known) for config in configs]
