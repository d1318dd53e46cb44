"""`tf.lookup.experimental`: a table that runs change, by open addressing."""

from gpugraph.library.lookup.mutable_tables import DenseHashTable as DenseHashTable
