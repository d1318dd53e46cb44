"""Elementwise functions: arithmetic, comparisons, logic, Python's operators."""
