"""tf.data: datasets, their transformations, iterators and options."""

from gpugraph.library.data import dataset_loops as dataset_loops  # registers loops over datasets
