"""Readers: records of files whose names come from a queue."""
