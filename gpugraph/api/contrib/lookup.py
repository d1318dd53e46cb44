"""`tf.contrib.lookup`: static and mutable lookup tables, and vocabularies as tables."""

from gpugraph.library.lookup import mutable_tables as _mutable_tables
from gpugraph.library.lookup.index_tables import (
    index_table_from_file as index_table_from_file,
    index_table_from_tensor as index_table_from_tensor, index_to_string as index_to_string,
    index_to_string_table_from_file as index_to_string_table_from_file,
    index_to_string_table_from_tensor as index_to_string_table_from_tensor,
    string_to_index as string_to_index,
    string_to_index_table_from_file as string_to_index_table_from_file,
    string_to_index_table_from_tensor as string_to_index_table_from_tensor,
)
from gpugraph.library.lookup.lookup_interface import LookupInterface as LookupInterface
from gpugraph.library.lookup.mutable_tables import MutableHashTable as MutableHashTable
from gpugraph.library.lookup.static_tables import (
    FastHashSpec as FastHashSpec, HasherSpec as HasherSpec, HashTable as HashTable,
    IdTableWithHashBuckets as IdTableWithHashBuckets,
    InitializableLookupTableBase as InitializableLookupTableBase, StrongHashSpec as StrongHashSpec,
)
from gpugraph.library.lookup.table_initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TableInitializerBase as TableInitializerBase,
    TextFileIdTableInitializer as TextFileIdTableInitializer,
    TextFileIndex as TextFileIndex, TextFileInitializer as TextFileInitializer,
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)

MutableDenseHashTable = _mutable_tables.DenseHashTable
