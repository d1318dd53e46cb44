"""Asserts, and checks of numbers and shapes."""
