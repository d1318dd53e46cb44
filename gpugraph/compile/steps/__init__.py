"""Nodes as steps: arrays, dynamic sizes, native stretches, captured graphs."""

__all__: list[str] = []
