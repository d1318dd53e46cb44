"""Inputs that are based on queues: producers of file names and rows, and batches."""
