"""tf.data: datasets, their transformations, iterators and options."""
