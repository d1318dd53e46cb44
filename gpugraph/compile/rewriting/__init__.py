"""Rewrites of the graph, by Grappler's names."""

__all__: list[str] = []
