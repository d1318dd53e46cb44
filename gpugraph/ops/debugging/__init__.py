"""Assertions, and checks of values and shapes."""
