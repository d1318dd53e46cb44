"""Batches of data for training: sequences, and enqueuers that compute them ahead in threads."""
