"""Readers, which return the records of files. The names of the files come from a queue."""
