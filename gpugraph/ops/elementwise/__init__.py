"""Elementwise functions: arithmetic, comparisons, logic, and Python's operators on tensors."""
