"""Vocabularies as tables: tables from words to ids, and tables from ids to words."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.lookup.static_tables import (
    FastHashSpec,
    HasherSpec,
    IdTableWithHashBuckets,
    StaticHashTable,
)
from gpugraph.library.lookup.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileStringTableInitializer,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.tables.table_files import LINE_NUMBER, WHOLE_LINE


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if not isinstance(vocabulary_file, Tensor) and not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        path = vocabulary_file
        if isinstance(path, Tensor):
            path = constant_value(path) or "?"
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size} for vocabulary_file: {path}."
        )


def _with_buckets(table: Any, num_oov_buckets: int, hasher_spec: Any, key_dtype: Any) -> Any:
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(
        table, num_oov_buckets=num_oov_buckets, hasher_spec=hasher_spec, key_dtype=key_dtype
    )


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = dtypes.string,
    name: str | None = None,
    key_column_index: int = WHOLE_LINE,
    value_column_index: int = LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table that maps each line of a file to its line number, int64.

    A word that is not in the file gets the id of one of `num_oov_buckets` buckets, which the hash
    function `hasher_spec` chooses. The ids of the buckets follow the line numbers. If there are no
    buckets, the word gets `default_value`.

    Raises ValueError if no file is passed, if `vocab_size` is below 1, or if `num_oov_buckets` is
    negative. Raises TypeError if `key_dtype` is neither an integer dtype nor string. For the other
    arguments, see `TextFileInitializer`.

    Args:
      vocab_size: the number of lines to use.
      key_dtype: the dtype of the words: strings, or integers for a file of integers.
    """
    _check_file(vocabulary_file, vocab_size)
    _check_buckets(num_oov_buckets)
    key_dtype = as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype.base_dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            initializer = TextFileIdTableInitializer(
                vocabulary_file,
                key_column_index,
                value_column_index,
                vocab_size,
                delimiter,
                name="table_init",
                key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
            )
            table = StaticHashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """Return a table that maps each element of the vector `mapping` to its index, int64.

    A word that is not in the vector gets the id of one of `num_oov_buckets` buckets, which the hash
    function `hasher_spec` chooses. The ids of the buckets follow the indices. If there are no
    buckets, the word gets `default_value`.

    Raises ValueError if `mapping` is None, if `num_oov_buckets` is negative, or if the dtype of the
    vector does not match `dtype`. Raises TypeError if `dtype` is neither an integer dtype nor
    string.

    Args:
      dtype: the dtype of the words: strings, or integers for a vector of integers.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    _check_buckets(num_oov_buckets)
    dtype = as_dtype(dtype)
    if not dtype.is_integer and dtype.base_dtype != dtypes.string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        values = cast(range_of(size(keys)), dtypes.int64)
        with name_scope(None, "hash_table"):
            table_keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            initializer = KeyValueTensorInitializer(
                table_keys, values, table_keys.dtype.base_dtype, dtypes.int64, name="table_init"
            )
            table = StaticHashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = LINE_NUMBER,
    value_column_index: int = WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Return a table that maps each line number of a file, int64, to the line.

    Numbers without a line are mapped to `default_value`. For the other arguments, see
    `TextFileInitializer`. Raises ValueError if no file is passed, or if `vocab_size` is below 1.
    """
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
            name="table_init",
        )  # fmt: skip
        return StaticHashTable(initializer, default_value)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table that maps each index of the string vector `mapping`, int64, to the element at
    that index.

    Numbers that are not an index of the vector are mapped to `default_value`. Raises ValueError if
    `mapping` is None.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    with name_scope(name, "index_to_string"):
        values = convert_to_tensor(mapping, dtypes.string)
        keys = cast(range_of(size(values)), dtypes.int64)
        initializer = KeyValueTensorInitializer(
            keys, values, dtypes.int64, dtypes.string, name="table_init"
        )
        return StaticHashTable(initializer, default_value)


def string_to_index(
    tensor: Any, mapping: Any, default_value: Any = -1, name: str | None = None
) -> Any:
    """Return the index in the vector `mapping` of each string in `tensor`.

    Strings that are not in the vector get `default_value`.
    """
    table = index_table_from_tensor(mapping, default_value=default_value, name=name)
    return table.lookup(tensor)


def index_to_string(
    tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Return, for each index in `tensor`, the string of `mapping` at that index.

    Indices outside the vector get `default_value`.
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return the result of `index_table_from_file` for string keys. This is an older name of that
    function.
    """
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    name: str | None = None,
) -> Any:
    """Return the result of `index_table_from_tensor` for string keys. This is an older name of that
    function.

    Raises ValueError if the vector does not contain strings.
    """
    with name_scope(name, "string_to_index") as scope:
        mapping = convert_to_tensor(mapping)
    if mapping.dtype.base_dtype != dtypes.string:
        raise ValueError("string_to_index_table_from_tensor requires string.")
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=scope)
