"""Rewrites of the graph, by Grappler's names."""
