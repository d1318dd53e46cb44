"""Batches of data for a training: sequences, and what fetches them ahead in threads."""
