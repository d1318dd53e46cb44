"""Functions of `tensorflow.python.ops.lookup_ops` whose arguments `tf.contrib.lookup` renames."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.library.lookup import index_tables
from gpugraph.library.lookup.static_tables import FastHashSpec


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = dtypes.string,
    name: str | None = None,
) -> Any:
    """Call `tf.contrib.lookup.index_table_from_tensor`, whose arguments have different names."""
    return index_tables.index_table_from_tensor(
        vocabulary_list, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> Any:
    """Call `tf.contrib.lookup.index_to_string_table_from_tensor`, whose arguments have different
    names.
    """
    return index_tables.index_to_string_table_from_tensor(vocabulary_list, default_value, name)
