"""Inputs by queues: producers of file names and rows, and batches."""
