"""Nodes as steps: arrays, dynamic sizes, native stretches, captured graphs."""
