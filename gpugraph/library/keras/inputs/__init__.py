"""Batches of data for training: data sets, and enqueuers, which prepare batches in advance."""
