"""Optimizers: one file an algorithm."""

__all__: list[str] = []
