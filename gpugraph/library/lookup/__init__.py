"""Tables for programs: `tf.lookup` and `tf.contrib.lookup`.

table_initializers  sources that fill a table: two tensors, or a text file
static_tables       tables that are filled once, and vocabularies with buckets for unknown words
mutable_tables      tables that runs change, and whose contents checkpoints include
index_tables        tables from words to ids and back
"""

from gpugraph.library.lookup import experimental as experimental
from gpugraph.library.lookup.static_tables import (
    StaticHashTable as StaticHashTable,
    StaticVocabularyTable as StaticVocabularyTable,
)
from gpugraph.library.lookup.table_initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
