"""Readers: records of files, whose names come from a queue."""

from gpugraph.ops.readers import reader_classes as reader_classes, reader_ops as reader_ops
