"""Modules that every package may import: errors, dtypes, shapes, nested structures, messages."""
