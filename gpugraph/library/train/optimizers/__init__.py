"""Optimizers. Each algorithm has its own file."""
