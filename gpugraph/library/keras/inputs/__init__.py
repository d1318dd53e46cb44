"""Batches of data for training: data sets, and enqueuers, whose workers prepare batches in advance."""
