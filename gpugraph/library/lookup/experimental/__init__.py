"""`tf.lookup.experimental`: a mutable table with open addressing."""

from gpugraph.library.lookup.mutable_tables import DenseHashTable as DenseHashTable
