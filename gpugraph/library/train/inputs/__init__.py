"""Queue-based inputs: producers of file names and rows, and batches."""
